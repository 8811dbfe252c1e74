// small_call.h: caches the plans of small calls by geometry, because making the plan takes longer than the move. A call
// compares its geometry with the cached one, allocates the result and runs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "backends/backend.h"
#include "bindings/plain_array.h"
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

// The prepared move of one geometry.
class SmallCall {
 public:
  SmallCall() = default;
  // Empty if the move is not a small one.
  SmallCall(const Plan& plan, Direction direction);
  bool has_shape(const PlainArray& array) const;
  explicit operator bool() const { return move_ != nullptr; }

  // Returns a new reference to the result, which is `out` if that is not null. Returns null without a Python error if
  // the general path has to run the call. The arguments must have the geometry of the plan.
  PyObject* gather(const PlainArray& input, const PlainArray& index, const PlainArray* out) const;
  // Like `gather`. Writes into the input if `in_place`, else into a copy of it.
  PyObject* scatter(const PlainArray& input, const PlainArray& index, const PlainArray& source, bool in_place) const;

 private:
  bool scatter_into(const PlainArray& input, const PlainArray& index, const PlainArray& source) const;
  PyObject* gather_into(const PlainArray& input, const PlainArray& index, const PlainArray& target) const;
  std::shared_ptr<const SmallMove> move_;  // shared by copies of a plan object
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

// The recent small calls of one thread. Every thread has its own, so no lock is needed.
class SmallCalls {
 public:
  // The result is valid until the next call of `find`, and empty if the call is not a small one. In a scatter, the
  // input and the source must be contiguous, and the source must have the shape of the index.
  const SmallCall& find(const CallForm& form, const PlainArray& input, const PlainArray& index);
  static SmallCalls& of_thread();

 private:
  struct Entry {
    CallForm form;
    Geometry geometry;
    SmallCall call;
  };
  std::array<Entry, 16> entries_;
};

}  // namespace gs
