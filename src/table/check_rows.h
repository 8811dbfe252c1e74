// check_rows.h: looks at every row of an array that another library handed over.
#pragma once

#include "table/array.h"
#include "table/fault.h"

namespace gs::table {

// Rows whose bit is 0 among `length` ones from `offset`.
int64_t count_nulls(const std::byte* validity, int64_t offset, int64_t length);

// Whether what the rows of `array` say (offsets, sizes, keys, type ids, run ends) stays inside of its buffers, children
// and dictionary. Those it does not look into. The structure was checked. Throws ExchangeError.
void check_rows(const Array& array, const Type& type, const Path& path);

}  // namespace gs::table
