// small_array.h: describes an array of few axes, without the cost of the vectors of a general view.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/index_type.h"

namespace gs {

struct SmallArray {
  static constexpr int kMaxRank = 4;
  std::byte* data = nullptr;
  int64_t item = 0;  // bytes of one element
  int rank = 0;
  IndexType type = IndexType::i64;  // of an index only
  int64_t extent[kMaxRank];         // uninitialised, as what follows the rank stays unread
  int64_t stride[kMaxRank];         // in bytes

  bool is_contiguous() const {
    int64_t span = item;
    for (int axis = rank - 1; axis >= 0; --axis) {
      if (extent[axis] != 1 && stride[axis] != span) return false;
      span *= extent[axis];
    }
    return true;
  }
};

// Lowest byte of an array that is not empty, and the one past its highest.
struct ByteRange {
  const std::byte* begin;
  const std::byte* end;
  bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};

inline ByteRange range_of(const SmallArray& array) {
  ByteRange range{array.data, array.data + array.item};
  for (int axis = 0; axis < array.rank; ++axis) {
    const int64_t span = (array.extent[axis] - 1) * array.stride[axis];
    (span < 0 ? range.begin : range.end) += span;
  }
  return range;
}

}  // namespace gs
