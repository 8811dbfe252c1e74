// value_numbers.h: numbers the values of dictionaries by their bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/array.h"

namespace gs::table {

using arrow::Array;
using arrow::Type;

// Reads values of one type as bytes, which are equal exactly if the values are. The bytes of numbers and texts stay
// where they are; those of other values are put together in `text`.
class ValueReader {
 public:
  explicit ValueReader(const Type& type);
  // The bytes of a row, counted from the offset of the array; null: the value is a null. They are valid until the next
  // call if they are not `stable()`, else as long as the array. Throws ExchangeError for a value outside of its
  // buffers.
  struct ValueBytes {
    const char* data;
    std::size_t size;
    bool is_null() const { return data == nullptr; }
    std::string_view view() const { return {data, size}; }
  };
  ValueBytes read(const Array& array, int64_t row);
  bool stable() const { return stable_; }

 private:
  const Type& type_;
  const bool stable_;
  std::string text_;
};

// A hash table of values, with linear probing. The values of other threads' memory may change meanwhile: a value is
// then found, or not, and nothing else happens.
class ValueNumbers {
 public:
  // For about `expected` values; the bytes of values are copied unless they are stable.
  ValueNumbers(int64_t expected, bool stable);

  // Returns the number of the value; -1 if it has none.
  int64_t find(ValueReader::ValueBytes value) const;
  // Returns the number of the value; `next` if it is new.
  int64_t find_or_add(ValueReader::ValueBytes value, int64_t next);

 private:
  struct Slot {
    uint64_t hash = 0;
    int64_t at = -1;  // in values_; -1: the slot is empty
  };
  struct Numbered {
    std::string_view bytes;
    int64_t number;
  };

  // The slot of the value, or the empty slot where it belongs.
  std::size_t place_of(uint64_t hash, std::string_view bytes) const;
  void grow();

  std::vector<Slot> slots_;
  std::vector<Numbered> values_;
  std::deque<std::string> copies_;
  const bool stable_;
  const uint64_t seed_;  // of the hashes; the numbers do not depend on it
  int64_t null_ = -1;    // the number of the null
};

}  // namespace gs::table
