// values.h: single values of any type, as bytes that are equal exactly where the values are.
#pragma once

#include <string>

#include "table/array.h"

namespace gs::table {

// Appends row `row` (counted from the array's offset). ExchangeError for offsets and keys that lead outside.
void append_value(const Type& type, const Array& array, int64_t row, std::string& out);

// The key of a dictionary in an item at `row`, counted from where the buffer begins.
int64_t integer_at(const Type& type, const std::byte* data, int64_t row);
void set_integer(const Type& type, std::byte* data, int64_t row, int64_t value);
// The largest number that such an item can hold.
int64_t most_integer(const Type& type);

}  // namespace gs::table
