// pick_positions.cpp: implements pick_positions.h.
#include "core/pick_positions.h"

#include <cstring>

namespace gs {

int64_t true_positions(const std::byte* bools, int64_t n, int64_t stride, int64_t most, int32_t* target) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    const bool is_true = bools[i * stride] != std::byte{0};
    if (count == most) {
      if (is_true) return -1;
      continue;
    }
    target[count] = static_cast<int32_t>(i);
    count += is_true;  // without a branch, which would be unpredictable
  }
  return count;
}

void roll_positions(int64_t shift, int64_t extent, int32_t* target) {
  if (extent == 0) return;
  const int64_t offset = (shift % extent + extent) % extent;
  for (int64_t i = extent - offset; i < extent; ++i) *target++ = static_cast<int32_t>(i);
  for (int64_t i = 0; i < extent - offset; ++i) *target++ = static_cast<int32_t>(i);
}

void repeat_values(const std::byte* values, int64_t given, int64_t item, const std::byte* mask, int64_t n,
                   std::byte* target) {
  int64_t next = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (mask != nullptr && mask[i] == std::byte{0}) continue;
    std::memcpy(target + i * item, values + next * item, static_cast<std::size_t>(item));
    if (++next == given) next = 0;
  }
}

}  // namespace gs
