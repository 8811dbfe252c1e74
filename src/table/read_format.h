// read_format.h: reads a format string of Arrow's C data interface.
#pragma once

#include "table/array.h"
#include "table/fault.h"

namespace gs::table {

// Sets format, layout and whatever belongs to it (width, list_size, integer, child_of_id). Throws ExchangeError.
void read_format(const char* format, Type& type, const Path& path);

}  // namespace gs::table
