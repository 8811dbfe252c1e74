// box_copy.h: copies boxes of small items between two layouts of memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/small_vector.h"

namespace gs::cpu {

// One axis of a box: its extent, and the distance in bytes of neighbours where items are read and where they are
// written.
struct BoxAxis {
  int64_t extent = 1;
  int64_t from = 0;
  int64_t to = 0;
};
using Box = SmallVector<BoxAxis, 8>;

// Copies the items of a box in C order; they have 1, 2, 4, 8 or 16 bytes. The strides of the last axis should be those
// of neighbours within a cache line of one layout, so that the line is used up before it leaves the caches.
void copy_box(const Box& box, const std::byte* from, std::byte* to, int64_t bytes);

}  // namespace gs::cpu
