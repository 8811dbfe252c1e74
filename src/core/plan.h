// plan.h: defines the plan of an indexed move, the one operation of this library.
//
//   dense  (c) = Σ_d c_d · dense_stride_d
//   indexed(c) = Σ_d c_d · indexed_stride_d  +  Σ_a resolve(index_a(c)) · step_a
//   gather : dense[c] ← indexed[c]          scatter : indexed[c] ← dense[c]
//
// A plan holds geometry only: no pointers, no direction, no dtype. Planners have checked the geometry before a kernel
// gets the plan, so a bad index is the only failure that a kernel reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/array_view.h"
#include "core/block_spans.h"
#include "core/index_type.h"
#include "core/rule.h"
#include "core/small_vector.h"

namespace gs {

// Rows of the stride table of a Space. Index array a is row kIndex + a. The fill value is an operand like the others:
// one value has stride 0, padding that differs from point to point has strides of its own.
enum StrideRow : int { kDense = 0, kIndexed = 1, kMask = 2, kFill = 3, kIndex = 4 };

// An iteration space in C order: an extent for every axis, and a stride in bytes for every operand and axis.
class Space {
 public:
  Space() = default;
  Space(const Dims& extent, int operands)
      : extent_(extent), operands_(operands), stride_(extent.size() * operands, 0) {}

  int rank() const { return extent_.size(); }
  int operands() const { return operands_; }
  const Dims& extents() const { return extent_; }
  int64_t extent(int axis) const { return extent_[axis]; }
  int64_t stride(int operand, int axis) const { return stride_[axis * operands_ + operand]; }
  int64_t& stride(int operand, int axis) { return stride_[axis * operands_ + operand]; }
  void set_extent(int axis, int64_t extent) { extent_[axis] = extent; }
  void remove(int axis) {
    extent_.erase(axis, 1);
    stride_.erase(axis * operands_, operands_);
  }
  const int64_t* strides() const { return stride_.data(); }  // axis-major: [axis * operands() + operand]
  int64_t count() const {                                    // planners have checked that it does not overflow
    int64_t count = 1;
    for (const int64_t n : extent_) count *= n;
    return count;
  }

  // Drops axes of extent 1 and merges neighbouring axes that every operand walks as one. Flat positions of points do
  // not change.
  void coalesce();

  friend bool operator==(const Space&, const Space&) = default;

 private:
  Dims extent_;
  int operands_ = 0;
  SmallVector<int64_t, 40> stride_;
};

// One index array and the axis of the indexed side that it indexes.
struct IndexArray {
  IndexType type = IndexType::i64;
  int axis = 0;        // number of the axis, for error texts
  int64_t extent = 0;  // size of the axis
  int64_t step = 0;    // distance in bytes of two neighbouring positions on the indexed side
  friend bool operator==(const IndexArray&, const IndexArray&) = default;
};

// One axis of a flattened source that is not contiguous: position p of the flat axis lies at
// Σ_f ((p / Π extents after f) mod extent_f) · stride_f.
struct FoldAxis {
  int64_t extent = 1;
  int64_t stride = 0;
  friend bool operator==(const FoldAxis&, const FoldAxis&) = default;
};

// The form of the innermost axis of a canonical plan. A backend may have a fast kernel for a kind.
enum class PlanKind : uint8_t {
  copy,      // no index array
  elements,  // units of 1, 2, 4, 8 or 16 bytes; index and dense side contiguous, indexed side of stride 0
  axis,      // as `elements`, but the stride of the indexed side is one unit
  rows,      // units of any other size; dense side contiguous
  strided,   // all other plans
};

const char* kind_name(PlanKind kind);

// Whether units of so many bytes are moved by one load and one store.
bool is_element(int64_t unit);

struct Plan {
  Space space;       // canonical iteration space
  int64_t item = 1;  // bytes of one element; the fill value has this size
  int64_t unit = 1;  // bytes that move at one point: a whole number of items, contiguous on both sides
  Rule rule;
  bool masked = false;
  PlanKind kind = PlanKind::strided;
  SmallVector<IndexArray, 2> index;
  SmallVector<FoldAxis, 2> fold;  // axes that positions of the only index array unfold to; its step is unused then

  Dims result_shape;               // shape of the dense side
  Dims index_shape;                // broadcast shape of the index arrays; errors give positions in it
  SmallVector<int, 8> index_axes;  // axis of result_shape for each axis of index_shape
  Space index_space;  // index_shape coalesced, with the strides of mask and index arrays (the other rows are unused)

  int64_t bytes_moved() const { return space.count() * unit; }
  int64_t unit_items() const { return item > 0 ? unit / item : 1; }
  bool can_fail() const {  // whether there are index values that the rule forbids
    for (const IndexArray& array : index) {
      if (rule.forbids(array.extent) && may_miss(array.type, array.extent, rule.negative)) return true;
    }
    return false;
  }

  // Whether no two points can have the same place on the indexed side.
  bool is_one_to_one() const;

  // Merges axes, widens the unit and sets the kind. Planners call it last.
  void finish();

  friend bool operator==(const Plan&, const Plan&) = default;
};

enum class Direction : uint8_t { gather, scatter };

// The memory that a plan is run on. Operands that the plan does not have are null; a null `fill` means zero bytes.
struct Buffers {
  std::byte* dense = nullptr;
  std::byte* indexed = nullptr;
  const std::byte* mask = nullptr;
  const std::byte* fill = nullptr;
  SmallVector<const std::byte*, 4> index;
  bool owns_index = false;            // the index arrays are private memory of the call
  const BlockSpans* spans = nullptr;  // what a check found of the index array; null if it found none
  // For scatters that copy: if `base` is not null, `indexed` is the start of fresh memory of `base_bytes` bytes, and
  // the run copies every byte that the scatter does not write from `base`.
  const std::byte* base = nullptr;
  int64_t base_bytes = 0;
};

// The lowest point that has a bad index, and the number of such points.
struct BadIndex {
  int64_t flat = 0;   // position in index_shape, in C order
  int64_t count = 0;  // points with at least one bad index
  int64_t size = 0;   // extent of the axis
  int axis = 0;       // the lowest bad axis at that point
  IndexType type = IndexType::i64;
  uint64_t bits = 0;  // the index value, sign-extended for signed types
};

// Scans the indices of all points, or of the points [begin, end) of index_space, in flat order for bad indices. Empty
// if there are none. A backend that can be interrupted scans range by range.
std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers);
std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers, int64_t begin, int64_t end);

// Whether first_outside would find a bad index. Runs at the speed of the memory.
bool any_outside(const Plan& plan, const Buffers& buffers, int64_t begin, int64_t end);

// The lowest point of a scatter that has the target of an earlier point. Positions are flat positions in result_shape,
// in C order. `stop` (may be null) is polled every few milliseconds; once it returns true, the search ends with an
// empty result.
struct Duplicate {
  int64_t first = 0;   // the first point with that target
  int64_t second = 0;  // the lowest point that repeats a target
};
std::optional<Duplicate> first_duplicate(const Plan& plan, const Buffers& buffers, bool (*stop)() = nullptr);

// The bytes that the plan may touch on the indexed side, relative to its start: [low, high).
struct Span {
  int64_t low = 0;
  int64_t high = 0;
};
Span indexed_span(const Plan& plan);

// The greatest common divisor of the distances of units on the indexed side, in bytes: from the lowest one on, they
// begin at multiples of it. 0 if there is one place only.
int64_t indexed_pitch(const Plan& plan);

// The plan of the points [begin, end) along one axis of the space. Adjusts the addresses in `buffers` to it.
Plan sliced(const Plan& plan, Buffers& buffers, int axis, int64_t begin, int64_t end);

// The plan whose indexed side has one item in place of every `granule` bytes, and whose units are one item long. Units
// begin with a granule. Strides of the dense side are kept.
Plan with_items_for(const Plan& plan, int64_t granule, int64_t item);

// The plan with all its points in the opposite order, for addresses of the last point. The second function adjusts the
// addresses in `buffers` to it.
Plan reversed(const Plan& plan);
Plan reversed(const Plan& plan, Buffers& buffers);

// Coordinates of a flat position in C order.
Dims unravel(int64_t flat, const Dims& shape);

// The flat position in index_shape of the index that selects the element at flat position `flat` of result_shape.
int64_t index_position(const Plan& plan, int64_t flat);

}  // namespace gs
