// read_format.h: parses a format string of Arrow's C data interface.
#pragma once

#include "arrow/array.h"
#include "arrow/fault.h"

namespace gs::arrow {

// Sets the format, the layout and the properties of the layout (width, list_size, integer, child_of_id) of `type`.
// Throws ExchangeError for an unknown format.
void read_format(const char* format, Type& type, const Path& path);

}  // namespace gs::arrow
