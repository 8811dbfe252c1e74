// values.h: serialises single values of any type into bytes that are equal exactly if the values are equal.
#pragma once

#include <string>

#include "arrow/array.h"

namespace gs::arrow {

// Appends the bytes of row `row` (counted from the array's offset) to `out`. Throws ExchangeError for offsets and keys
// that are out of bounds.
void append_value(const Type& type, const Array& array, int64_t row, std::string& out);

// Read and write the integer at `row`, counted from the beginning of the buffer: a dictionary key or a row number.
int64_t integer_at(const Type& type, const std::byte* data, int64_t row);
void set_integer(const Type& type, std::byte* data, int64_t row, int64_t value);
// The largest value of the integer type.
int64_t most_integer(const Type& type);

}  // namespace gs::arrow
