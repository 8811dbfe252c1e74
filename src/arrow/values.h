// values.h: serialises single values of any type into bytes that are equal exactly if the values are equal.
#pragma once

#include <string>
#include <string_view>

#include "arrow/array.h"

namespace gs::arrow {

// Appends the bytes of row `row` (counted from the array's offset) to `out`. Throws ExchangeError for offsets and keys
// that are out of bounds.
void append_value(const Type& type, const Array& array, int64_t row, std::string& out);

// Whether the bytes of a value of this type lie side by side, and its bytes at `row`, counted from the array's offset;
// the value is not null. plain_bytes throws as append_value does; its result is never null, and valid as long as the
// array.
bool has_plain_bytes(const Type& type);
std::string_view plain_bytes(const Type& type, const Array& array, int64_t row);

// Read and write the integer at `row`, counted from the beginning of the buffer: a dictionary key or a row number.
int64_t integer_at(const Type& type, const std::byte* data, int64_t row);
void set_integer(const Type& type, std::byte* data, int64_t row, int64_t value);
// The largest value of the integer type.
int64_t most_integer(const Type& type);

}  // namespace gs::arrow
