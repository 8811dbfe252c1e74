// request.h: holds what an operator asks of a planner and of a run, apart from the arrays.
#pragma once

#include <optional>

#include "core/combine.h"
#include "core/plan.h"
#include "plans/plans.h"

namespace gs {

enum class Planner : uint8_t { take_axis, along_axis, at_points, elementwise };

// Which one of several duplicates a scatter keeps; `error` makes duplicates an error.
enum class Duplicates : uint8_t { last, first, error };

struct Request {
  Planner planner = Planner::take_axis;
  std::optional<int64_t> axis;
  int64_t batch_dims = 0;
  Match match = Match::prefix;
  Rule rule;
  bool coordinates = false;  // at_points: one index array, whose last axis holds coordinates
  Dims tile;                 // along_axis: shape of the tiles that run one by one; empty: no tiles

  Direction direction = Direction::gather;
  Fit fit = Fit::broadcast;  // how the source of a scatter fits the points
  Combine combine;           // for scatters only, as `duplicates`
  Duplicates duplicates = Duplicates::last;

  // Makes it the request of a scatter operator. Planner and match are set before.
  void set_scatter() {
    direction = Direction::scatter;
    fit = planner == Planner::along_axis && match == Match::prefix ? Fit::leading : Fit::broadcast;
  }

  friend bool operator==(const Request&, const Request&) = default;
};

}  // namespace gs
