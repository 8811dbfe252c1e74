// lane_call.h: holds the arguments of a call that was read without a Python frame.
#pragma once

#include <Python.h>

#include "bindings/operators/small_call.h"

namespace gs {

// Borrowed references.
struct LaneCall {
  CallKey key;
  PyObject* input = nullptr;
  PyObject* index = nullptr;
  PyObject* source = nullptr;  // null: a gather
  PyObject* out = nullptr;     // null: a fresh array
  PyObject* mask = nullptr;    // null: every point moves
  PyObject* fill = nullptr;    // null: the value to fill with is the default
};

}  // namespace gs
