// tile_points.h: finds the positions of the few points of a small tile call, and moves their items.
#pragma once

#include <cstddef>
#include <cstdint>

#include "calls/small_array.h"

namespace gs {

// The points of a tile call, in C order of the shape that its indices broadcast to. Such a call needs no plan: first
// its shape is found, then its positions, then its items are moved. Every index and mask value is read once, so that
// another thread that changes one cannot move a position out of bounds.
class TilePoints {
 public:
  // More points are left to the general path, whose kernels make up for its cost; 4 KiB of the stack.
  static constexpr int64_t kMost = 512;

  TilePoints() {}  // the positions stay uninitialised
  TilePoints(const TilePoints&) = delete;
  TilePoints& operator=(const TilePoints&) = delete;

  // Enlarges the shape so that an index broadcasts to it. Returns false if none fits.
  bool enlarge(const SmallArray& index);
  // Ends the shape. Returns false for no axes, no points or many.
  bool end_shape();
  int rank() const { return rank_; }
  const int64_t* extent() const { return extent_ + SmallArray::kMaxRank - rank_; }

  // Whether an array broadcasts to the shape without enlarging it.
  bool takes(const SmallArray& array) const;
  // Starts at the first byte of the array, with the points that the mask wants, an array of bool; null: all.
  void start(const SmallArray* mask);
  // Adds the positions on one axis. Returns whether each point that has a position so far has one on this axis.
  bool add(const SmallArray& index, int64_t extent, int64_t stride);

  // Writes the item of each point to `result`, which is contiguous and not in the array: that of `padding`, which the
  // shape takes, for a point that is masked or out of bounds.
  void gather(const SmallArray& array, const SmallArray& padding, std::byte* result) const;
  // Writes the values of the points that have a position, in order, so that the last of equal positions stays. The
  // shape takes `value`, and the array holds neither it nor any item twice.
  void scatter(const SmallArray& array, const SmallArray& value) const;

 private:
  // Calls body(first, address, length, stride) for runs of points whose items in an array, which the shape takes, have
  // one distance.
  template <class Body>
  void visit_runs(const SmallArray& array, const Body& body) const;
  // Calls body(offset, address) for each point: its offset in bytes or kNowhere, and its item in an array that the
  // shape takes.
  template <class Body>
  void visit(const SmallArray& array, const Body& body) const;
  // Whether an array that the shape takes has all points side by side.
  bool is_whole(const SmallArray& array) const;

  int rank_ = 0;
  int64_t count_ = 1;
  int64_t extent_[SmallArray::kMaxRank] = {1, 1, 1, 1};  // the last `rank_` of them
  int64_t offset_[kMost];
};

}  // namespace gs
