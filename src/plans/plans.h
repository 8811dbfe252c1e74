// plans.h: the four planners. Each checks all geometry and gives the plan that every backend runs, in either direction.
#pragma once

#include <optional>
#include <span>

#include "core/plan.h"

namespace gs {

// How the dense side must agree with the result's shape.
enum class Fit : uint8_t {
  exact,      // what a gather writes to
  broadcast,  // what a scatter reads: right-aligned, extent 1 stretches
  leading,    // the same, or of the same rank and nowhere shorter: then its leading part is used
};

// Operands that any planner may be given; null where there is none.
struct Extras {
  const ArrayView* mask = nullptr;   // one byte per item; broadcasts one way to the index shape
  const ArrayView* fill = nullptr;   // the input's item size; broadcasts one way to the index shape
  const ArrayView* dense = nullptr;  // the dense side; a fresh C-contiguous array where null
  Fit fit = Fit::exact;              // of the dense side
};

// How the shapes of input and index must agree away from the axis.
enum class Match : uint8_t {
  prefix,     // index no longer than input; the leading part of the input is used
  broadcast,  // equal, or 1 on either side
};

// Elementwise along one axis, result[.., i, ..] = input[.., index[.., i, ..], ..]; without an axis, of the flattened
// input.
Plan along_axis(const ArrayView& input, const IndexView& index, std::optional<int64_t> axis, Match match, Rule rule,
                const Extras& extras);

// Slices along one axis, result[B, M, I, T] = input[B, M, indices[B, I], T]; without an axis, of the flattened input.
Plan take_axis(const ArrayView& input, const IndexView& indices, std::optional<int64_t> axis, int64_t batch_dims,
               Rule rule, const Extras& extras);

// Points given by one index array for each axis after the batch axes; axes that are left over are taken whole:
// result[B, I, T] = array[B, indices[0][B, I], .., indices[k-1][B, I], T]. `index_shape` broadcasts with the indices'
// shapes: it is the shape of the points where there is no index at all.
Plan at_points(const ArrayView& array, std::span<const IndexView> indices, const Dims& index_shape, int64_t batch_dims,
               Rule rule, const Extras& extras);

// No index at all: dense[c] = input[c], the input broadcast one way to `shape`.
Plan elementwise(const ArrayView& input, const Dims& shape, const Extras& extras);

}  // namespace gs
