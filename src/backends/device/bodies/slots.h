// slots.h: numbers for the places of the indexed side where units may begin, so that targets can be marked and sorted.
#pragma once

#include <cstdint>

#include "backends/device/bodies/divider.h"
#include "core/hd.h"

namespace gs::device {

// Units that begin at different offsets have different slots.
struct Slots {
  int64_t low = 0;   // offset of slot 0
  int64_t cell = 1;  // bytes from one slot to the next
  int64_t count = 0;
  Divider by_cell;

  // -1: no slot, which only an index that somebody vouched for can lead to.
  GS_HD int64_t at(int64_t offset) const {
    const auto distance = static_cast<uint64_t>(offset) - static_cast<uint64_t>(low);
    if (distance > static_cast<uint64_t>((count - 1) * cell)) return -1;
    return by_cell.divide(static_cast<int64_t>(distance));
  }
  GS_HD int64_t offset(int64_t slot) const { return low + slot * cell; }
};

}  // namespace gs::device
