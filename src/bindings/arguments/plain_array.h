// plain_array.h: reads the header of an exact ndarray or torch tensor, without the cost of making a view of it.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/arguments/from_python.h"

namespace gs {

struct PlainArray {
  static constexpr int kMaxRank = 4;
  std::byte* data = nullptr;
  int64_t item = 0;
  int rank = 0;
  int64_t extent[kMaxRank];
  int64_t stride[kMaxRank];  // in bytes
  Library library = Library::numpy;
  bool writable = false;
  IndexType type = IndexType::i64;  // of an index only
  dlpack::DataType dtype{};         // of a tensor only
  PyObject* object = nullptr;

  // Whether two arrays have one dtype. False also if that would need a call into their library.
  bool same_type(const PlainArray& other) const;
  bool has_type(const ElementType& other) const;  // likewise
  bool is_contiguous() const;
};

// Whether the values of an array are those in its memory: it is no tensor with a gradient or a lazy bit, and no mode of
// torch sees the operations. The check may run Python code, which may change any array, so a call checks all its arrays
// except the index before it reads one.
bool has_plain_values(PyObject* object);

// Reads a header. Returns false, without a Python error, for objects that only the general path handles: scalars,
// arrays of more than kMaxRank axes, and arrays that it copies, converts or rejects.
bool read_plain(PyObject* object, Role role, PlainArray& array);

// Lowest byte of an array that is not empty, and the one past its highest.
struct ByteRange {
  const std::byte* begin;
  const std::byte* end;
  bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};
ByteRange range_of(const PlainArray& array);

}  // namespace gs
