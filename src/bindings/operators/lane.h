// lane.h: reads the most frequent forms of a call of ndarrays or tensors and runs the call, without a Python frame.
#pragma once

#include <Python.h>

#include <array>
#include <vector>

#include "bindings/operators/lane_call.h"
#include "bindings/operators/small_call.h"

namespace gs {

// A call as vectorcall passes it: positional arguments, then the values of keywords.
struct RawCall {
  PyObject* const* arguments;
  Py_ssize_t positional;
  PyObject* keywords;  // tuple of names, or null
  Py_ssize_t keyword_count() const { return keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords); }
};

// A keyword with a value that sets the rule, such as mode="clip". Both strings are interned and live for ever.
struct RuleWord {
  PyObject* keyword;
  PyObject* value;
  Rule rule;
};

// One form in which an operator is called: what each positional argument is, and which keywords may follow. All other
// arguments have their defaults.
struct LaneForm {
  enum Part : uint8_t { input, index, source, axis, out, kParts };
  CallKey key;                                        // with the default of the axis and the rule
  std::array<int8_t, kParts> at{-1, -1, -1, -1, -1};  // the position of each part among the arguments; -1: none
  int count = 0;                                      // of positional arguments
  int required = 0;                                   // of these, the number that must be given
  bool needs_axis = true;                             // without a default
  bool takes_no_axis = false;                         // axis=None is valid
  bool takes_axis_keyword = false;
  bool takes_out_keyword = false;
  bool is_in_place = false;  // `out` is the input
  bool is_tile = false;      // run_in_tile_lane reads and runs the call
  std::vector<RuleWord> rule_words;
};

// Returns false if the call does not have this form.
bool read_call(const LaneForm& form, const RawCall& raw, LaneCall& call);

// Runs a call, by the plan in the cache of this thread where its arrays are plain; a new plan is made for a new
// geometry. Declined if an array is neither an exact ndarray nor a tensor, or if a scatter or a call with `out` would
// have to convert an argument: arrays of two libraries or dtypes, or the repeated values of a put. Throws ShapeError,
// DTypeError or AxisError if the arguments do not fit together, before anything is read or written.
LaneResult run_in_lane(const LaneCall& call, PyObject* op);

}  // namespace gs
