// choose_kernel.h: chooses the kernel bodies that run a plan.
#pragma once

#include "core/plan.h"

namespace gs::device {

// The largest power of two, at most 16, that divides the unit and every address of both sides.
int common_word(const Plan& plan, const Buffers& buffers);

enum class LaunchForm : uint8_t { plain, elements, units, winners, sorted };
LaunchForm launch_form(const Plan& plan, Direction direction);

}  // namespace gs::device
