// row_errors.h: defines the exceptions of the table operators and names the Python exception each is translated into.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace gs::table {

// Counts or lengths do not match: errors.InvalidArgument.
struct InvalidArgument : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// Types do not match: errors.DataTypeError.
struct DataTypeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// A map does not consist of integers: errors.IndexTypeError.
struct IndexTypeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// A row number is out of bounds, the first of `count` such row numbers: errors.OutOfBoundsError.
struct BadRow {
  int64_t position;
  uint64_t bits;  // the value, sign-extended if is_signed
  bool is_signed;
  int64_t size;
  int64_t count;
  int64_t total;
  int64_t row = -1;      // of a column of lists: the list that contains the row number
  bool from_end = true;  // whether negative values count from the end
};
// A map has a null, the first of `count` nulls: errors.NullIndexError.
struct NullRow {
  int64_t position;
  int64_t count;
  int64_t row = -1;  // of a column of lists: the list that contains the null
};

// The result needs larger offsets than its type has, so the caller must split it into several chunks.
struct OffsetOverflow {};

}  // namespace gs::table
