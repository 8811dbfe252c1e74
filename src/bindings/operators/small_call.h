// small_call.h: caches the plans of small calls by geometry, because making the plan takes longer than the move. A call
// compares its geometry with the cached one, allocates the result and runs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "backends/backend.h"
#include "bindings/arguments/plain_array.h"
#include "calls/request.h"

namespace gs {

// Everything that the plan of a plain input and a plain index depends on, apart from the operator, as 64-bit words.
class Geometry {
 public:
  Geometry() = default;
  Geometry(const PlainArray& input, const PlainArray& index);
  std::size_t hash() const { return static_cast<std::size_t>(hash_); }
  friend bool operator==(const Geometry& a, const Geometry& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i) {
      if (a.words_[i] != b.words_[i]) return false;
    }
    return true;
  }

 private:
  void add(int64_t word) {
    words_[size_++] = word;
    hash_ = (hash_ ^ static_cast<uint64_t>(word)) * 0x9E3779B97F4A7C15u;
    hash_ ^= hash_ >> 32;
  }
  void add(const PlainArray& array);

  uint64_t hash_ = 0;
  int size_ = 0;
  int64_t words_[2 + 4 * PlainArray::kMaxRank];
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

// The prepared move of one geometry.
class SmallCall {
 public:
  SmallCall() = default;
  // Empty if the move is not a small one.
  // `is_shared`: several threads use the object, or copies of it.
  SmallCall(const Plan& plan, Direction direction, bool is_shared);
  bool has_shape(const PlainArray& array) const;
  explicit operator bool() const { return move_ != nullptr; }

  // The result is `out` if that is not null. The arguments must have the geometry of the plan. Declined if an index is
  // bad, or `out` does not fit or overlaps an argument.
  LaneResult gather(const PlainArray& input, const PlainArray& index, const PlainArray* out) const;
  // Like `gather`. Writes into the input if `in_place`, else into a copy of it. The source is contiguous and has the
  // shape of the plan.
  LaneResult scatter(const PlainArray& input, const PlainArray& index, const PlainArray& source, bool in_place) const;

 private:
  bool scatter_into(const PlainArray& input, const PlainArray& index, const PlainArray& source) const;
  LaneResult gather_into(const PlainArray& input, const PlainArray& index, const PlainArray& target) const;
  bool run(std::byte* dense, std::byte* indexed, const std::byte* index) const {
    return is_shared_ ? move_->run(dense, indexed, index) : move_->run_alone(dense, indexed, index);
  }
  std::shared_ptr<SmallMove> move_;  // shared by copies of a plan object
  bool is_shared_ = false;
  Dims shape_;
};

// How an operator with small calls reads its two arrays. The rule is always `raise` and `from_end`.
struct CallForm {
  Direction direction = Direction::gather;
  Planner planner = Planner::take_axis;
  Match match = Match::prefix;
  bool has_axis = false;
  int64_t axis = 0;
  Request request() const;
  friend bool operator==(const CallForm&, const CallForm&) = default;
};

// A call whose plan is made.
struct PlannedCall {
  SmallCall small;                   // empty if the call is not a small one
  std::shared_ptr<const Plan> plan;  // null for a small call
};

// The recent calls of one thread, planned. Every thread has its own, so no lock is needed.
class PlannedCalls {
 public:
  // The result is valid until the next call of `find`. In a scatter, `source` is not null, and the input and the source
  // must be contiguous; the result may be for a source of another shape, and is empty if this source has another shape
  // than the points. Throws as make_plan.
  const PlannedCall& find(const CallForm& form, const PlainArray& input, const PlainArray& index,
                          const PlainArray* source);
  static PlannedCalls& of_thread();

 private:
  struct Entry {
    CallForm form;
    Geometry geometry;
    PlannedCall call;
  };
  [[gnu::noinline]] const PlannedCall& plan(Entry& entry, const Geometry& geometry, const CallForm& form,
                                            const PlainArray& input, const PlainArray& index, const PlainArray* source);
  std::array<Entry, 16> entries_;
};

}  // namespace gs
