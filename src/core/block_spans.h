// block_spans.h: the lowest and the highest position of each block of a contiguous index array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gs {

// The lowest and the highest of some indices or positions; of none at first. A negative lowest position says that the
// positions may lie anywhere.
struct IndexSpan {
  int64_t lowest = INT64_MAX;
  int64_t highest = INT64_MIN;

  void add(IndexSpan other) {
    lowest = std::min(lowest, other.lowest);
    highest = std::max(highest, other.highest);
  }
};

struct BlockSpans {
  const std::byte* index = nullptr;  // the array
  int64_t count = 0;                 // of its indices
  int64_t points = 0;                // of a block; the last one may have fewer
  std::vector<IndexSpan> of_block;
};

inline constexpr IndexSpan kAnywhere{INT64_MIN, INT64_MAX};

}  // namespace gs
