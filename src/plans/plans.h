// plans.h: declares the four planners, which check all geometry and make plans.
// Every backend runs these plans, in either direction.
#pragma once

#include <optional>
#include <span>

#include "core/plan.h"

namespace gs {

// How the shape of the dense side must agree with the shape of the result.
enum class Fit : uint8_t {
  exact,      // equal shapes, for the output of a gather
  broadcast,  // for the values of a scatter: axes are right-aligned, an extent of 1 stretches
  leading,    // as `broadcast`, or equal rank and no axis shorter: then the leading part is used
};

// Optional operands of every planner; null if there is none.
struct Extras {
  const ArrayView* mask = nullptr;   // one byte per item; broadcasts one way to the index shape
  const ArrayView* fill = nullptr;   // items of the input's size; broadcasts one way to the index shape
  const ArrayView* dense = nullptr;  // the dense side; null: a fresh C-contiguous array
  Fit fit = Fit::exact;              // how the dense side must fit
  const char* source = "src";        // what an error calls the dense side of a scatter
};

// How the shapes of input and index must agree on the axes other than the indexed one.
enum class Match : uint8_t {
  prefix,     // no axis of the index longer than that of the input, whose leading part is used
  broadcast,  // equal extents, or 1 on either side
};

// Elementwise along one axis: result[.., i, ..] = input[.., index[.., i, ..], ..]. Without an axis, the index selects
// from the flattened input.
Plan along_axis(const ArrayView& input, const IndexView& index, std::optional<int64_t> axis, Match match, Rule rule,
                const Extras& extras);

// Slices along one axis: result[B, M, I, T] = input[B, M, indices[B, I], T]. Without an axis, the indices select from
// the flattened input.
Plan take_axis(const ArrayView& input, const IndexView& indices, std::optional<int64_t> axis, int64_t batch_dims,
               Rule rule, const Extras& extras);

// Points given by one index array for each axis after the batch axes; the remaining axes are taken whole:
// result[B, I, T] = array[B, indices[0][B, I], .., indices[k-1][B, I], T]. `index_shape` broadcasts with the shapes of
// the indices; without index arrays it is the shape of the points.
Plan at_points(const ArrayView& array, std::span<const IndexView> indices, const Dims& index_shape, int64_t batch_dims,
               Rule rule, const Extras& extras);

// Without index arrays: dense[c] = input[c], where the input broadcasts one way to `shape`.
Plan elementwise(const ArrayView& input, const Dims& shape, const Extras& extras);

}  // namespace gs
