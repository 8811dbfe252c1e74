// forms.h: declares how the forms of an operator's calls are read from its decorator.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "bindings/operators/lane.h"

namespace gs {

// Reads forms from dicts: planner, match, positional, keywords, rules (tuples of a keyword, its value, bounds and
// negative), and axis (its default) unless the axis must be given.
// ValueError for a form that no call can have.
std::vector<LaneForm> forms_in(const pybind11::list& records);

// The form of the calls of all plans: an input, an index, out=.
const std::vector<LaneForm>& plan_forms();

}  // namespace gs
