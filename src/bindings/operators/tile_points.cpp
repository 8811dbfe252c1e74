// tile_points.cpp: implements tile_points.h.
#include "bindings/operators/tile_points.h"

#include <algorithm>
#include <cstring>

namespace gs {

bool TilePoints::set_shape(const PlainArray* indices, int count) {
  for (int k = 0; k < count; ++k) rank_ = std::max(rank_, indices[k].rank);
  std::fill_n(extent_, rank_, 1);
  for (int k = 0; k < count; ++k) {
    const int lead = rank_ - indices[k].rank;
    for (int axis = 0; axis < indices[k].rank; ++axis) {
      int64_t& common = extent_[lead + axis];
      const int64_t own = indices[k].extent[axis];
      if (common == 1) {
        common = own;
      } else if (own != 1 && own != common) {
        return false;
      }
    }
  }
  for (int axis = 0; axis < rank_; ++axis) {
    if (__builtin_mul_overflow(count_, extent_[axis], &count_)) return false;
  }
  return rank_ != 0 && count_ > 0 && count_ <= kMost;
}

bool TilePoints::takes(const PlainArray& array) const {
  const int lead = rank_ - array.rank;
  if (lead < 0) return false;
  for (int axis = 0; axis < array.rank; ++axis) {
    if (array.extent[axis] != 1 && array.extent[axis] != extent_[lead + axis]) return false;
  }
  return true;
}

bool TilePoints::is_whole(const PlainArray& array) const {
  return array.rank == rank_ && std::equal(extent_, extent_ + rank_, array.extent) && array.is_contiguous();
}

[[gnu::hot]] void TilePoints::start(const PlainArray* mask) {
  if (mask == nullptr) {
    std::fill_n(offset_, count_, 0);
    return;
  }
  visit_runs(*mask, [&](int64_t first, const std::byte* run, int64_t length, int64_t stride) {
    for (int64_t i = 0; i < length; ++i) offset_[first + i] = run[i * stride] != std::byte{0} ? 0 : kNowhere;
  });
}

[[gnu::hot]] bool TilePoints::add(const PlainArray& index, int64_t extent, int64_t stride) {
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

}  // namespace gs
