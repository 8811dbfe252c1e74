// tile_points.h: finds the positions of the few points of a small tile call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bindings/arguments/plain_array.h"
#include "core/rule.h"

namespace gs {

// The points of a tile call, in C order of the shape that its indices broadcast to. Every index and mask value is read
// once, so that another thread that changes one cannot move a position out of bounds.
class TilePoints {
 public:
  // More points are left to the general path, whose kernels make up for its cost; 4 KiB of the stack.
  static constexpr int64_t kMost = 512;

  TilePoints() {}  // the positions stay uninitialised
  TilePoints(const TilePoints&) = delete;
  TilePoints& operator=(const TilePoints&) = delete;

  // Sets the shape. Returns false if the indices do not broadcast together, and for no axes, no points or many.
  bool set_shape(const PlainArray* indices, int count);
  int rank() const { return rank_; }
  const int64_t* extent() const { return extent_; }

  // Whether an array broadcasts to the shape without enlarging it.
  bool takes(const PlainArray& array) const;
  // Starts at the first byte of the array, with the points that the mask wants; null: all.
  void start(const PlainArray* mask);
  // Adds the positions on one axis. Returns whether each point that has a position so far has one on this axis.
  bool add(const PlainArray& index, int64_t extent, int64_t stride);

  // Calls body(offset, address) for each point, in order. The offset is in bytes, or kNowhere for a point that is
  // masked or out of bounds; `address` is that of its item in an array that the shape takes.
  template <class Body>
  void visit(const PlainArray& array, const Body& body) const {
    visit_runs(array, [&](int64_t first, const std::byte* run, int64_t length, int64_t stride) {
      for (int64_t i = 0; i < length; ++i) body(offset_[first + i], run + i * stride);
    });
  }

 private:
  // Calls body(first, address, length, stride) for runs of points whose items have one distance.
  template <class Body>
  void visit_runs(const PlainArray& array, const Body& body) const {
    if (array.rank == 0) return body(0, array.data, count_, int64_t{0});
    if (is_whole(array)) return body(0, array.data, count_, array.item);
    int64_t stride[PlainArray::kMaxRank] = {};
    const int lead = rank_ - array.rank;
    for (int axis = 0; axis < array.rank; ++axis) {
      if (array.extent[axis] != 1) stride[lead + axis] = array.stride[axis];
    }
    int64_t at[PlainArray::kMaxRank] = {};
    int64_t offset = 0;
    const int64_t length = extent_[rank_ - 1];
    for (int64_t first = 0; first < count_; first += length) {
      body(first, array.data + offset, length, stride[rank_ - 1]);
      for (int axis = rank_ - 2; axis >= 0; --axis) {
        offset += stride[axis];
        if (++at[axis] < extent_[axis]) break;
        offset -= at[axis] * stride[axis];
        at[axis] = 0;
      }
    }
  }
  // Whether an array that the shape takes has all points side by side.
  bool is_whole(const PlainArray& array) const;

  int rank_ = 0;
  int64_t count_ = 1;
  int64_t extent_[PlainArray::kMaxRank];
  int64_t offset_[kMost];
};

}  // namespace gs
