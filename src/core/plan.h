// plan.h: the one operation of this library, an indexed move over an iteration space.
//
//   dense  (c) = Σ_d c_d · dense_stride_d
//   indexed(c) = Σ_d c_d · indexed_stride_d  +  Σ_a resolve(index_a(c)) · step_a
//   gather : dense[c] ← indexed[c]          scatter : indexed[c] ← dense[c]
//
// A plan knows geometry only: no pointers, no direction, no dtype. Kernels take an accepted plan and cannot fail; they
// report that an index was outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/array_view.h"
#include "core/index_type.h"
#include "core/rule.h"
#include "core/small_vector.h"

namespace gs {

// Rows of a Space's stride table. Index array a is row kIndex + a. The fill value is walked like an array: stride 0 for
// one value, its own strides for padding that differs from point to point.
enum StrideRow : int { kDense = 0, kIndexed = 1, kMask = 2, kFill = 3, kIndex = 4 };

// An iteration space in C order: extents, and for every operand a stride (bytes) along every axis.
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
  int64_t count() const {                                    // planners have checked that it fits
    int64_t count = 1;
    for (const int64_t n : extent_) count *= n;
    return count;
  }

  // Drops axes of extent 1 and merges neighbours that every operand walks as one. Flat positions stay what they were.
  void coalesce();

  friend bool operator==(const Space&, const Space&) = default;

 private:
  Dims extent_;
  int operands_ = 0;
  SmallVector<int64_t, 40> stride_;
};

// One index array and the axis of the indexed side that it walks.
struct IndexArray {
  IndexType type = IndexType::i64;
  int axis = 0;        // number of that axis, for messages
  int64_t extent = 0;  // its size
  int64_t step = 0;    // bytes on the indexed side for one position
  friend bool operator==(const IndexArray&, const IndexArray&) = default;
};

// One axis of a flattened source that is not contiguous: position p of the flat axis lies at
// Σ_f ((p / Π extents after f) mod extent_f) · stride_f.
struct FoldAxis {
  int64_t extent = 1;
  int64_t stride = 0;
  friend bool operator==(const FoldAxis&, const FoldAxis&) = default;
};

// What the innermost axis looks like once the plan is canonical; a backend may have a fast kernel for a class.
enum class PlanKind : uint8_t {
  copy,      // no index array
  elements,  // units of 1, 2, 4, 8 or 16 bytes; index and dense side contiguous, indexed side fixed along the axis
  axis,      // the same, but the indexed side advances by one unit as well
  rows,      // any other unit; dense side contiguous
  strided,   // everything else
};

const char* kind_name(PlanKind kind);

struct Plan {
  Space space;       // canonical iteration space
  int64_t item = 1;  // bytes of one element; the fill value has this size
  int64_t unit = 1;  // bytes moved at one point: a whole number of items that lie together on both sides
  Rule rule;
  bool masked = false;
  PlanKind kind = PlanKind::strided;
  SmallVector<IndexArray, 2> index;
  SmallVector<FoldAxis, 2> fold;  // empty, or how positions of the only index array unfold (its step is unused then)

  Dims result_shape;               // shape of the dense side
  Dims index_shape;                // broadcast shape of the index arrays, in which bad positions are named
  SmallVector<int, 8> index_axes;  // where the axes of index_shape lie in result_shape
  Space index_space;  // the same, coalesced, with the strides of mask and index arrays (dense, indexed, fill unused)

  int64_t bytes_moved() const { return space.count() * unit; }
  int64_t unit_items() const { return item > 0 ? unit / item : 1; }
  bool can_fail() const {  // whether any index value can be an error
    for (const IndexArray& array : index) {
      if (rule.forbids(array.extent) && may_miss(array.type, array.extent, rule.negative)) return true;
    }
    return false;
  }

  // Whether no two points can meet on the indexed side.
  bool is_one_to_one() const;

  // Merges axes, widens the unit and classifies. Planners call it last.
  void finish();

  friend bool operator==(const Plan&, const Plan&) = default;
};

enum class Direction : uint8_t { gather, scatter };

// The memory that a plan is run on. Null where a plan has no such operand; a null `fill` means zero bytes.
struct Buffers {
  std::byte* dense = nullptr;
  std::byte* indexed = nullptr;
  const std::byte* mask = nullptr;
  const std::byte* fill = nullptr;
  SmallVector<const std::byte*, 4> index;
  // Moves that scatter only: with a base, `indexed` is the start of fresh memory of so many bytes, which holds a copy
  // of them where nothing is written to.
  const std::byte* base = nullptr;
  int64_t base_bytes = 0;
};

// The lowest point whose index lies outside, and how many there are.
struct BadIndex {
  int64_t flat = 0;   // position in index_shape, in C order
  int64_t count = 0;  // points with at least one index outside
  int64_t size = 0;   // of the axis
  int axis = 0;       // the lowest bad axis at that point
  IndexType type = IndexType::i64;
  uint64_t bits = 0;  // the value as read; sign-extended for signed types
};

// Scans every index in flat order under the plan's rule, or those of the points [begin, end) of index_space. Nothing if
// the rule cannot fail. `stop`, if any, is asked every few milliseconds; once it says true the search ends without an
// answer.
std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers, bool (*stop)() = nullptr);
std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers, int64_t begin, int64_t end,
                                      bool (*stop)() = nullptr);

// The same question without the answer's details, at the speed of the memory.
bool any_outside(const Plan& plan, const Buffers& buffers, int64_t begin, int64_t end, bool (*stop)() = nullptr);

// The lowest point that a scatter would write to a target which an earlier point has written to.
struct Duplicate {
  int64_t first = 0;  // positions in result_shape, in C order
  int64_t second = 0;
};
std::optional<Duplicate> first_duplicate(const Plan& plan, const Buffers& buffers, bool (*stop)() = nullptr);

// Bytes from the start of the indexed side to the lowest byte that the plan may touch there, and past the highest.
struct Span {
  int64_t low = 0;
  int64_t high = 0;
};
Span indexed_span(const Plan& plan);

// The points [begin, end) of one axis of the space. `buffers` are moved along.
Plan sliced(const Plan& plan, Buffers& buffers, int axis, int64_t begin, int64_t end);

// The same move with all its points in the opposite order. `buffers` are moved along.
Plan reversed(const Plan& plan, Buffers& buffers);

// Coordinates of a flat position in C order.
Dims unravel(int64_t flat, const Dims& shape);

// Which index decides about an element of the result: flat positions in result_shape and in index_shape.
int64_t index_position(const Plan& plan, int64_t flat);

}  // namespace gs
