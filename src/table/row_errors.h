// row_errors.h: defines the exceptions of the table operators and names the Python exception each is translated into.
#pragma once

#include <algorithm>
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
// The merged dictionary of a column exceeds its type. The text says what of the column; it does not name it.
struct KeyOverflow : DataTypeError {
  using DataTypeError::DataTypeError;
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

// The nulls and bad indices found in a part of a map: their counts and the first of each. Entries are read in ascending
// order.
struct MapFault {
  int64_t nulls = 0;
  int64_t first_null = INT64_MAX;
  int64_t bad = 0;
  int64_t first_bad = INT64_MAX;
  uint64_t value = 0;
  bool is_signed = true;
  bool from_end = true;

  // Adds the nulls and bad indices of another part of the map.
  void add(const MapFault& other) {
    nulls += other.nulls;
    first_null = std::min(first_null, other.first_null);
    bad += other.bad;
    if (other.first_bad >= first_bad) return;
    first_bad = other.first_bad;
    value = other.value;
    is_signed = other.is_signed;
  }
  void report(int64_t size, int64_t total) const {
    if (nulls > 0) throw NullRow{first_null, nulls};
    if (bad > 0) throw BadRow{first_bad, value, is_signed, size, bad, total, -1, from_end};
  }
};

// The result needs larger offsets than its type has, so the caller must split it into several chunks.
struct OffsetOverflow {};

}  // namespace gs::table
