// slots.h: numbers the places on the indexed side where units may begin, so that targets can be marked and sorted.
#pragma once

#include <cstdint>

#include "backends/device/bodies/divider.h"
#include "core/hd.h"

namespace gs::device {

// Units that begin at different offsets have different slots.
struct Slots {
  int64_t low = 0;   // offset of slot 0
  int64_t cell = 1;  // bytes from one slot to the next one
  int64_t count = 0;
  Divider by_cell;

  // The slot of an offset, or -1 if the offset has none, which can happen under Bounds::unchecked only.
  GS_HD int64_t at(int64_t offset) const {
    const auto distance = static_cast<uint64_t>(offset) - static_cast<uint64_t>(low);
    if (distance > static_cast<uint64_t>((count - 1) * cell)) return -1;
    return by_cell.divide(static_cast<int64_t>(distance));
  }
  GS_HD int64_t offset(int64_t slot) const { return low + slot * cell; }
};

}  // namespace gs::device
