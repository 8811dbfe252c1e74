// load.h: reads or writes one value in a buffer that need not be aligned, because other libraries allocate it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gs::arrow {

template <class Value>
Value load(const std::byte* values, int64_t row) {
  Value value;
  std::memcpy(&value, values + row * static_cast<int64_t>(sizeof(Value)), sizeof(Value));
  return value;
}

template <class Value>
void store(std::byte* values, int64_t row, Value value) {
  std::memcpy(values + row * static_cast<int64_t>(sizeof(Value)), &value, sizeof(Value));
}

// Reads an offset of 4 or 8 bytes (`width`).
inline int64_t load_offset(const std::byte* offsets, int64_t width, int64_t row) {
  return width == 4 ? load<int32_t>(offsets, row) : load<int64_t>(offsets, row);
}

}  // namespace gs::arrow
