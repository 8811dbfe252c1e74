// own_memory.h: gives a result memory of its own where it refers to that of its source: dictionaries and long views.
#pragma once

#include "table/frame.h"
#include "table/sharing.h"

namespace gs::table {

// Returns a result of a take, in host memory, none of whose buffers belongs to the source: dictionaries are copied, and
// of the data buffers of views the bytes that a row refers to. So the result does not change with a file that the
// source maps. Throws ExchangeError for a view that lies outside of its data buffers.
Frame with_own_memory(const Sharing& sharing, const Frame& result);

}  // namespace gs::table
