// row_errors.h: what the table operators throw; the bindings turn each into the Python exception named beside it.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace gs::table {

// Counts and lengths that do not fit together: errors.InvalidArgument.
struct InvalidArgument : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// Types that differ: errors.DataTypeError.
struct DataTypeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// A map that does not consist of integers: errors.IndexTypeError.
struct IndexTypeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// A row number outside of its table, the first of `count`.
struct BadRow {
  int64_t position;
  uint64_t bits;  // the value; signed where its type is
  bool is_signed;
  int64_t size;
  int64_t count;
  int64_t total;
  int64_t row = -1;      // of lists of row numbers: which list
  bool from_end = true;  // whether negative values count from the end
};
// A null where a row number belongs, the first one.
struct NullRow {
  int64_t position;
  int64_t count;
  int64_t row = -1;  // of lists of row numbers: which list
};

// The result needs a larger offset than its type has: it must be made in several chunks.
struct OffsetOverflow {};

}  // namespace gs::table
