// plain_array.h: reads the header of an exact ndarray or torch tensor, without the cost of making a view of it.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/arguments/from_python.h"
#include "calls/small_array.h"

namespace gs {

struct PlainArray : SmallArray {
  Library library = Library::numpy;
  bool writable = false;
  dlpack::DataType dtype{};  // of a tensor only
  PyObject* object = nullptr;

  // Whether two arrays have one dtype. False also if that would need a call into their library.
  bool same_type(const PlainArray& other) const;
  bool has_type(const ElementType& other) const;  // likewise
  bool is_bool() const;
  // Whether an item of zero bytes is what a gather fills with by default: not for dates and durations.
  bool has_zero() const;
  Number number() const;  // Number::none also for dtypes that other packages add to NumPy
};

// Whether the values of an array are those in its memory: it is no tensor with a gradient or a lazy bit, and no mode of
// torch sees the operations. The check may run Python code, which may change any array, so a call checks all its arrays
// except the index before it reads one.
bool has_plain_values(PyObject* object);

// Reads a header. Returns false, without a Python error, for objects that only the general path handles: scalars,
// arrays of more than kMaxRank axes, and arrays that it copies, converts or rejects.
bool read_plain(PyObject* object, Role role, PlainArray& array);

}  // namespace gs
