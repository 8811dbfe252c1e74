// describe.h: what explain says of a schedule.
#pragma once

#include <string>
#include <vector>

#include "backends/cpu/schedule.h"

namespace gs::cpu {

// The level that the kernels were compiled for, and the form in which they move the points.
std::string kernel_of(const Schedule& schedule);

// The decisions of a schedule, and the comparisons by which they were made; `available` threads were there for the
// call. What the data decides says so. Addresses are not known, and are taken to be aligned.
std::vector<Decision> decisions_of(const Schedule& schedule, int available);

}  // namespace gs::cpu
