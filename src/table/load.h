// load.h: reads one value from a buffer that need not be aligned, because other libraries allocate it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gs::table {

template <class Value>
Value load(const std::byte* values, int64_t row) {
  Value value;
  std::memcpy(&value, values + row * static_cast<int64_t>(sizeof(Value)), sizeof(Value));
  return value;
}

// Reads an offset of 4 or 8 bytes (`width`).
inline int64_t load_offset(const std::byte* offsets, int64_t width, int64_t row) {
  return width == 4 ? load<int32_t>(offsets, row) : load<int64_t>(offsets, row);
}

}  // namespace gs::table
