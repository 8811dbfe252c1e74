// small_call.h: caches plans by geometry, because making a plan takes longer than a small move. A small call compares
// its geometry with the cached one, allocates the result and runs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "backends/backend.h"
#include "bindings/arguments/plain_array.h"
#include "calls/request.h"

namespace gs {

// Everything that the plan of a plain input, index and mask depends on, apart from the operator, as 64-bit words.
class Geometry {
 public:
  Geometry() = default;
  Geometry(const PlainArray& input, const PlainArray& index, const PlainArray* mask = nullptr);
  // Whether it was made of arrays like these.
  bool fits(const PlainArray& input, const PlainArray& index, const PlainArray* mask = nullptr) const {
    if (types_ != types_of(input, index, mask) || words_[0] != input.item) return false;
    if (!fits(input, words_ + 1) || !fits(index, words_ + 1 + 2 * input.rank)) return false;
    return mask == nullptr || fits(*mask, words_ + 1 + 2 * (input.rank + index.rank));
  }

 private:
  static int64_t types_of(const PlainArray& input, const PlainArray& index, const PlainArray* mask) {
    const int64_t words = static_cast<int64_t>(index.type) | int64_t{input.rank} << 8 | int64_t{index.rank} << 16;
    return mask == nullptr ? words : words | int64_t{mask->rank + 1} << 24;
  }
  static bool fits(const PlainArray& array, const int64_t* words) {
    for (int axis = 0; axis < array.rank; ++axis) {
      if (words[2 * axis] != array.extent[axis] || words[2 * axis + 1] != array.stride[axis]) return false;
    }
    return true;
  }
  int64_t types_ = -1;
  int64_t words_[1 + 6 * PlainArray::kMaxRank];  // the item, then an extent and a stride for each axis
};

// What a lane made of a call: a new reference to the result, or null with a Python error; or the lane has declined the
// call, nothing is written, and the definition of the operator has to run it.
class LaneResult {
 public:
  static LaneResult of(PyObject* result) { return {result, false}; }
  static LaneResult declined() { return {nullptr, true}; }
  bool is_declined() const { return is_declined_; }
  PyObject* object() const { return object_; }

 private:
  LaneResult(PyObject* object, bool is_declined) : object_(object), is_declined_(is_declined) {}
  PyObject* object_;
  bool is_declined_;
};

// The operands of a small call besides the input and the result: the mask may be null, as may the fill value, an item.
struct SmallOperands {
  const PlainArray& index;
  const PlainArray* mask = nullptr;
  const std::byte* fill = nullptr;
  bool overlap(const ByteRange& range) const {
    return range.overlaps(range_of(index)) || (mask != nullptr && range.overlaps(range_of(*mask)));
  }
  bool may_share_file_with(const PlainArray& target) const;
  SmallBuffers buffers(std::byte* dense, std::byte* indexed) const {
    return {dense, indexed, index.data, mask == nullptr ? nullptr : mask->data, fill};
  }
};

// The prepared move of one geometry.
class SmallCall {
 public:
  SmallCall() = default;
  // Empty if the move is not a small one. `is_shared`: several threads use the object, or copies of it.
  SmallCall(const Plan& plan, const SmallRequest& request, bool is_shared);
  bool has_shape(const PlainArray& array) const;
  explicit operator bool() const { return move_ != nullptr; }

  // The result is `out` if that is not null. The arguments must have the geometry of the plan. Declined if an index is
  // bad, or `out` does not fit or overlaps an argument.
  LaneResult gather(const PlainArray& input, const SmallOperands& operands, const PlainArray* out) const;
  // Like `gather`. Writes into `out`, which may be the input itself, or into a fresh copy of the input; declined if the
  // copy would be a large one. Input and source are contiguous, and the source has the shape of the plan.
  LaneResult scatter(const PlainArray& input, const SmallOperands& operands, const PlainArray& source,
                     const PlainArray* out) const;

 private:
  LaneResult scatter_into(const PlainArray& input, const SmallOperands& operands, const PlainArray& source,
                          const PlainArray& target) const;
  LaneResult gather_into(const PlainArray& input, const SmallOperands& operands, const PlainArray& target) const;
  bool run(const SmallBuffers& buffers) const { return is_shared_ ? move_->run(buffers) : move_->run_alone(buffers); }
  std::shared_ptr<SmallMove> move_;  // shared by copies of a plan object
  bool is_shared_ = false;
  bool reduces_ = false;
  Dims shape_;
};

// How an operator with small calls reads its arrays: everything that its plan depends on, apart from the geometry.
struct CallKey {
  static constexpr int64_t kNoAxis = INT64_MIN;
  Direction direction = Direction::gather;
  Planner planner = Planner::take_axis;  // at_points: the index holds coordinates
  Match match = Match::prefix;
  Rule rule;
  int64_t axis = kNoAxis;
  Combine combine;  // of a scatter, as `duplicates`
  Duplicates duplicates = Duplicates::last;
  bool has_fill = false;  // a value to fill with is given
  Request request() const;
  friend bool operator==(const CallKey&, const CallKey&) = default;
};

// The distance of the index arrays of a move: coordinates are one array, whose last axis has an index for each axis of
// the input.
int64_t index_distance(Planner planner, const PlainArray& index);

// A call whose plan is made.
struct PlannedCall {
  SmallCall small;                   // empty if the call is not a small one; it has the shape of the points anyway
  std::shared_ptr<const Plan> plan;  // null for a small call and for a scatter
};

// The recent calls of one thread, planned. Every thread has its own, so no lock is needed.
class PlannedCalls {
 public:
  // The call from the cache, or a new one; valid until the next call. In a scatter, `source` is not null, and the input
  // and the source must be contiguous. A call from the cache may be for a source of another shape; no call is made, and
  // the result is null, for a source of another shape than the points. Throws as make_plan.
  const PlannedCall* find_or_make(const CallKey& key, const PlainArray& input, const PlainArray& index,
                                  const PlainArray* mask, const PlainArray* source);
  static PlannedCalls& of_thread();

 private:
  struct Entry {
    CallKey key;
    Geometry geometry;
    PlannedCall call;
  };
  [[gnu::noinline]] const PlannedCall* make(Entry& entry, const CallKey& key, const PlainArray& input,
                                            const PlainArray& index, const PlainArray* mask, const PlainArray* source);
  std::array<Entry, 16> entries_;
  Entry* last_ = entries_.data();
};

}  // namespace gs
