// arrow_names.h: makes the names of Arrow arrays usable in namespace table, whose functions take and return them.
#pragma once

#include "arrow/array.h"

namespace gs::table {

using namespace arrow;

}  // namespace gs::table
