// point_blocks.h: divides the points of a plan into blocks.
#pragma once

#include <algorithm>

#include "core/plan.h"

namespace gs {

// Cuts the points of a plan into blocks that follow each other in C order.
class PointBlocks {
 public:
  PointBlocks(const Plan& plan, int64_t most_points) : axis_(plan.space.rank() - 1) {
    const Space& space = plan.space;
    if (axis_ < 0) return;
    while (axis_ > 0 && inner_ * space.extent(axis_) <= most_points) inner_ *= space.extent(axis_--);
    length_ = std::clamp<int64_t>(most_points / inner_, 1, space.extent(axis_));
    pieces_ = (space.extent(axis_) + length_ - 1) / length_;
    count_ = pieces_;
    for (int axis = 0; axis < axis_; ++axis) count_ *= space.extent(axis);
  }

  int64_t count() const { return count_; }
  int64_t most_points() const { return inner_ * length_; }
  // The plan of a block. Adjusts the addresses to it.
  Plan at(int64_t number, const Plan& plan, Buffers& buffers) const {
    if (axis_ < 0) return plan;
    const int64_t begin = number % pieces_ * length_;
    Plan part = sliced(plan, buffers, axis_, begin, std::min(begin + length_, plan.space.extent(axis_)));
    int64_t outer = number / pieces_;
    for (int axis = axis_ - 1; axis >= 0; --axis) {
      const int64_t extent = plan.space.extent(axis);
      part = sliced(part, buffers, axis, outer % extent, outer % extent + 1);
      outer /= extent;
    }
    return part;
  }

 private:
  int axis_;           // the one that is cut
  int64_t inner_ = 1;  // points at one position on it
  int64_t length_ = 1;
  int64_t pieces_ = 1;
  int64_t count_ = 1;
};

}  // namespace gs
