// plain_array.h: the header of an exact ndarray or torch tensor as it stands, without a view being made of it.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/from_python.h"

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

  // The same type of items, known without asking either library.
  bool same_type(const PlainArray& other) const;
  bool has_type(const ElementType& other) const;
  bool is_contiguous() const;
};

// Whether a tensor is what its memory says: no gradient, no lazy bit. The answer may come from Python code, which may
// do anything to any array, so all arrays of a call but its index are asked about before the first of them is read.
bool ask_plain(PyObject* object);

// False, without a Python error, for everything that needs more than a look: scalars, many axes, and what the general
// way copies, converts or refuses.
bool read_plain(PyObject* object, Role role, PlainArray& array);

// Lowest byte of an array that is not empty, and the one past its highest.
struct ByteRange {
  const std::byte* begin;
  const std::byte* end;
  bool meets(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};
ByteRange range_of(const PlainArray& array);

}  // namespace gs
