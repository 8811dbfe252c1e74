// check_rows.h: checks every row of an array that another library exported.
#pragma once

#include "arrow/array.h"
#include "arrow/fault.h"

namespace gs::arrow {

// The number of rows in [offset, offset + length) whose bit is 0.
int64_t count_nulls(const std::byte* validity, int64_t offset, int64_t length);

// Checks that the offsets, sizes, keys, type ids and run ends of all rows of `array` stay within its buffers, children
// and dictionary. It does not check the rows of the children and of the dictionary. The structure of `array` must have
// been checked before. Throws ExchangeError.
void check_rows(const Array& array, const Type& type, const Path& path);

}  // namespace gs::arrow
