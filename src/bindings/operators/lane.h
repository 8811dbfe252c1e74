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

// A word of NumPy that sets the whole rule, such as mode="clip". Both strings are interned and live for ever.
struct RuleWord {
  PyObject* keyword;
  PyObject* value;
  Rule rule;
};

// The operators of NumPy whose calls run_in_pick_lane runs.
enum class Pick : uint8_t { none, compress, repeat, roll, putmask, place };

// The keywords that forms read.
enum class Keyword : uint8_t { axis, out, bounds, negative, fill_value, mask, reduce, include_self, duplicates };
inline constexpr std::array kKeywordNames{"axis", "out",    "bounds",       "negative",  "fill_value",
                                          "mask", "reduce", "include_self", "duplicates"};

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
  uint32_t keywords = 0;                              // a bit for each Keyword that it reads
  bool is_in_place = false;                           // `out` is the input
  bool is_tile = false;                               // run_in_tile_lane reads and runs the call
  Pick pick = Pick::none;                             // the index is a condition, counts, a shift or a mask
  std::vector<RuleWord> rule_words;
  bool takes(Keyword keyword) const { return (keywords >> static_cast<int>(keyword) & 1) != 0; }
};

// Returns false if the call does not have this form.
bool read_call(const LaneForm& form, const RawCall& raw, LaneCall& call);

// Runs a call, by the plan in the cache of this thread where its arrays are plain; a new plan is made for a new
// geometry. Declined if an array is neither an exact ndarray nor a tensor, if a scatter or a call with `out` would have
// to convert an argument (arrays of two libraries or dtypes, or the repeated values of a put), or if a call with a
// mask, a fill value or a reduction is not a small one. Throws ShapeError, DTypeError or AxisError if the arguments do
// not fit together, before anything is read or written.
LaneResult run_in_lane(const LaneCall& call, PyObject* op);

}  // namespace gs
