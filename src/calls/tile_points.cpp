// tile_points.cpp: implements tile_points.h.
#include "calls/tile_points.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/rule.h"

namespace gs {
namespace {

constexpr int kMaxRank = SmallArray::kMaxRank;

// Calls body with the size of an item: a constant for the frequent sizes, of which the compiler makes single moves.
template <class Body>
void with_size(int64_t item, const Body& body) {
  switch (item) {
    case 1: return body(std::integral_constant<std::size_t, 1>{});
    case 2: return body(std::integral_constant<std::size_t, 2>{});
    case 4: return body(std::integral_constant<std::size_t, 4>{});
    case 8: return body(std::integral_constant<std::size_t, 8>{});
    default: return body(static_cast<std::size_t>(item));
  }
}

}  // namespace

template <class Body>
void TilePoints::visit_runs(const SmallArray& array, const Body& body) const {
  if (array.rank == 0) return body(0, array.data, count_, int64_t{0});
  if (is_whole(array)) return body(0, array.data, count_, array.item);
  int64_t stride[kMaxRank] = {};
  const int lead = kMaxRank - array.rank;
  for (int axis = 0; axis < array.rank; ++axis) {
    if (array.extent[axis] != 1) stride[lead + axis] = array.stride[axis];
  }
  int64_t at[kMaxRank] = {};
  int64_t offset = 0;
  const int64_t length = extent_[kMaxRank - 1];
  for (int64_t first = 0; first < count_; first += length) {
    body(first, array.data + offset, length, stride[kMaxRank - 1]);
    for (int axis = kMaxRank - 2; axis >= 0; --axis) {
      offset += stride[axis];
      if (++at[axis] < extent_[axis]) break;
      offset -= at[axis] * stride[axis];
      at[axis] = 0;
    }
  }
}

template <class Body>
void TilePoints::visit(const SmallArray& array, const Body& body) const {
  visit_runs(array, [&](int64_t first, const std::byte* run, int64_t length, int64_t stride) {
    for (int64_t i = 0; i < length; ++i) body(offset_[first + i], run + i * stride);
  });
}

bool TilePoints::enlarge(const SmallArray& index) {
  rank_ = std::max(rank_, index.rank);
  const int lead = kMaxRank - index.rank;
  for (int axis = 0; axis < index.rank; ++axis) {
    int64_t& common = extent_[lead + axis];
    const int64_t own = index.extent[axis];
    if (common == 1) {
      common = own;
    } else if (own != 1 && own != common) {
      return false;
    }
  }
  return true;
}

bool TilePoints::end_shape() {
  for (int64_t extent : extent_) {
    if (__builtin_mul_overflow(count_, extent, &count_)) return false;
  }
  return rank_ != 0 && count_ > 0 && count_ <= kMost;
}

bool TilePoints::takes(const SmallArray& array) const {
  if (array.rank > rank_) return false;
  const int lead = kMaxRank - array.rank;
  for (int axis = 0; axis < array.rank; ++axis) {
    if (array.extent[axis] != 1 && array.extent[axis] != extent_[lead + axis]) return false;
  }
  return true;
}

bool TilePoints::is_whole(const SmallArray& array) const {
  return array.rank == rank_ && std::equal(extent(), extent() + rank_, array.extent) && array.is_contiguous();
}

[[gnu::hot]] void TilePoints::start(const SmallArray* mask) {
  if (mask == nullptr) {
    std::fill_n(offset_, count_, 0);
    return;
  }
  visit_runs(*mask, [&](int64_t first, const std::byte* run, int64_t length, int64_t stride) {
    for (int64_t i = 0; i < length; ++i) offset_[first + i] = run[i * stride] != std::byte{0} ? 0 : kNowhere;
  });
}

[[gnu::hot]] bool TilePoints::add(const SmallArray& index, int64_t extent, int64_t stride) {
  bool has_all = true;
  visit_index(index.type, [&]<class Index>() {
    visit_runs(index, [&](int64_t first, const std::byte* run, int64_t length, int64_t distance) {
      for (int64_t i = 0; i < length; ++i) {
        Index value;
        std::memcpy(&value, run + i * distance, sizeof value);
        int64_t& offset = offset_[first + i];
        const int64_t position = resolve(value, extent, Rule{Bounds::fill, Negative::out_of_bounds});
        const bool is_wanted = offset != kNowhere;
        const bool has_position = position != kNowhere;
        has_all = has_all && (has_position || !is_wanted);
        offset = is_wanted && has_position ? offset + position * stride : kNowhere;
      }
    });
  });
  return has_all;
}

[[gnu::hot]] void TilePoints::gather(const SmallArray& array, const SmallArray& padding, std::byte* result) const {
  with_size(array.item, [&](auto size) {
    std::byte* to = result;
    visit(padding, [&](int64_t offset, const std::byte* pad) {
      std::memcpy(to, offset == kNowhere ? pad : array.data + offset, size);
      to += size;
    });
  });
}

[[gnu::hot]] void TilePoints::scatter(const SmallArray& array, const SmallArray& value) const {
  with_size(array.item, [&](auto size) {
    visit(value, [&](int64_t offset, const std::byte* item) {
      if (offset != kNowhere) std::memcpy(array.data + offset, item, size);
    });
  });
}

}  // namespace gs
