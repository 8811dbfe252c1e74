// literals.h: reads lists of integers and numbers, in small calls, as the arrays that they stand for.
#pragma once

#include "bindings/arguments/plain_array.h"

namespace gs {

inline constexpr int64_t kMostNumber = 32;  // bytes of an item that is a number

// A list of Python integers as an index array of int64.
class IndexList {
 public:
  IndexList() {}  // the values stay uninitialised
  IndexList(const IndexList&) = delete;
  IndexList& operator=(const IndexList&) = delete;

  // Returns false for any other object, and for lists that are empty, long, or have an item beyond int64. The index
  // refers to this object.
  bool read(PyObject* object, PlainArray& index);

 private:
  static constexpr Py_ssize_t kMost = 64;
  int64_t values_[kMost];
};

// A number as the source of a scatter: an array of the dtype of the target, in which all items are the number.
class RepeatedNumber {
 public:
  RepeatedNumber() {}  // the items stay uninitialised
  RepeatedNumber(const RepeatedNumber&) = delete;
  RepeatedNumber& operator=(const RepeatedNumber&) = delete;

  // Gives `source`, whose rank and extents are set, the number as its items. Returns false for any other object, for
  // many items, and for a number that the dtype of the target does not hold in the same way under every rule for casts.
  // The source refers to this object.
  bool read(PyObject* object, const PlainArray& target, PlainArray& source);

 private:
  static constexpr int64_t kMost = 1024;
  alignas(64) std::byte items_[kMost];
};

// Writes a number as an item of the dtype of an array. Returns false for a number that the dtype does not hold in the
// same way under every rule for casts, and for a scalar of NumPy of another dtype.
bool write_number_as(const PlainArray& array, PyObject* number, std::byte* item);

// A new array of NumPy of rank 0 that holds a number as an item of the dtype of `like`. Null without an error if `like`
// is no array of NumPy, or if write_number_as returns false, for a scalar of NumPy also for its Python number.
PyObject* item_array(PyObject* like, PyObject* number);

// Whether an object is the integer 0, and not a bool.
bool is_zero(PyObject* object);

// Whether an object is a Python number, a bool, an int or a float and no object of a class derived from these, or any
// scalar of NumPy: write_number_as refuses those that are no numbers or of a class of their own.
bool is_number(PyObject* object);

}  // namespace gs
