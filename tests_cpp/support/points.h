// points.h: moves and reductions by a loop over the points of a plan, the oracle for all kernels.
#pragma once

#include <cstring>
#include <vector>

#include "backends/device/bodies/thread.h"
#include "core/point.h"
#include "core/reductions.h"

namespace gs::test {

// Moves one point; false if it has a bad index. Each index is loaded once.
inline bool move_point(const PlanView& plan, Direction direction, int64_t flat) {
  const PointOffsets at = locate(plan, flat);
  if (at.bad) return false;
  std::byte* dense = plan.dense + at.dense;
  if (at.indexed != kNowhere) {
    std::byte* indexed = plan.indexed + at.indexed;
    if (direction == Direction::gather) {
      memcpy(dense, indexed, static_cast<std::size_t>(plan.unit));
    } else {
      memcpy(indexed, dense, static_cast<std::size_t>(plan.unit));
    }
  } else if (direction == Direction::gather) {
    if (plan.fill == nullptr) {
      memset(dense, 0, static_cast<std::size_t>(plan.unit));
    } else {
      for (int64_t done = 0; done < plan.unit; done += plan.item) {
        memcpy(dense + done, plan.fill + at.fill, static_cast<std::size_t>(plan.item));
      }
    }
  }
  return true;
}

inline constexpr int64_t kWidestNumber = 16;  // bytes of a running total

// Running totals of the items between the lowest and the highest address of the indexed side, all zero at the start.
// Null if values are combined with their targets directly.
struct Totals {
  void* sum = nullptr;
  int64_t* hits = nullptr;
  int64_t low = 0;  // offset of slot 0
};

// Combines one value with its target, or with the total of its target; false if the point has a bad index.
inline bool combine_point(const PlanView& plan, const Combine& combine, const Totals& totals, int64_t flat) {
  const PointOffsets at = locate(plan, flat);
  if (at.bad || at.indexed == kNowhere) return !at.bad;
  with_reduction(combine, [&]<class T, Reduce kReduce>() {
    for (int64_t done = 0; done < plan.unit; done += plan.item) {
      std::byte* target = plan.indexed + at.indexed + done;
      const std::byte* value = plan.dense + at.dense + done;
      if constexpr (kDirect<T, kReduce>) {
        if (totals.hits == nullptr) {
          combine_direct<T, kReduce>(target, value);
          continue;
        }
      }
      const int64_t slot = (at.indexed + done - totals.low) / plan.item;
      combine_wide<T, kReduce>(target, value, static_cast<Wide<T>*>(totals.sum) + slot, totals.hits + slot,
                               combine.include_self);
    }
  });
  return true;
}

// Writes the totals to which the point contributes, unless they were written before.
inline bool finish_point(const PlanView& plan, const Combine& combine, const Totals& totals, int64_t flat) {
  const PointOffsets at = locate(plan, flat);
  if (at.bad || at.indexed == kNowhere) return !at.bad;
  with_reduction(combine, [&]<class T, Reduce kReduce>() {
    for (int64_t done = 0; done < plan.unit; done += plan.item) {
      const int64_t slot = (at.indexed + done - totals.low) / plan.item;
      finish_wide<T, kReduce == Reduce::mean>(plan.indexed + at.indexed + done, static_cast<Wide<T>*>(totals.sum)[slot],
                                              totals.hits + slot, combine.include_self);
    }
  });
  return true;
}

struct Loop {
  device::Status status;  // reports bad points, which are skipped
};

inline Loop move_by_points(const Plan& plan, const Buffers& buffers, Direction direction) {
  if (buffers.base_bytes > 0) std::memcpy(buffers.indexed, buffers.base, static_cast<size_t>(buffers.base_bytes));
  const PlanView view = view_of(plan, buffers);
  Loop loop;
  for (int64_t flat = 0; flat < view.count; ++flat) {
    if (!move_point(view, direction, flat)) loop.status.report(flat);
  }
  return loop;
}

inline Loop reduce_by_points(const Plan& plan, const Buffers& buffers, const Combine& combine) {
  const PlanView view = view_of(plan, buffers);
  const Span span = indexed_span(plan);
  Totals totals;
  std::vector<std::byte> sums;
  std::vector<int64_t> hits;
  if (view.count > 0 && !combines_directly(combine)) {
    const auto slots = static_cast<size_t>((span.high - span.low) / plan.item) + 1;
    sums.resize(slots * kWidestNumber);
    hits.resize(slots);
    totals = {sums.data(), hits.data(), span.low};
  }
  Loop loop;
  for (int64_t flat = 0; flat < view.count; ++flat) {
    if (!combine_point(view, combine, totals, flat)) loop.status.report(flat);
  }
  for (int64_t flat = 0; flat < view.count && totals.hits != nullptr; ++flat) finish_point(view, combine, totals, flat);
  return loop;
}

}  // namespace gs::test
