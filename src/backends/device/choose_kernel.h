// choose_kernel.h: what decides how a plan is run.
#pragma once

#include "core/plan.h"

namespace gs::device {

// Every address of both sides is a multiple of so many bytes, 16 at most.
int common_word(const Plan& plan, const Buffers& buffers);

enum class LaunchForm : uint8_t { plain, elements, units, winners, sorted };
LaunchForm launch_form(const Plan& plan, Direction direction);

}  // namespace gs::device
