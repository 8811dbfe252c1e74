// small_call.h: gathers of so few items that making a plan of them takes longer than the move. Everything is decided
// once for a geometry; a call compares the geometry, allocates the result and runs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "backends/backend.h"
#include "bindings/plain_array.h"
#include "bindings/run.h"

namespace gs {

// All that a plan of a plain input and a plain index depends on besides the operator, as words.
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

// A move of one geometry, decided.
class SmallCall {
 public:
  SmallCall() = default;
  // Empty where the move is not a small one.
  SmallCall(const Plan& plan, Direction direction);
  bool has_shape(const PlainArray& array) const;
  explicit operator bool() const { return move_ != nullptr; }

  // A new reference to the result, which is `out` where that is not null. Null without a Python error: the general way
  // has the answer. Arguments must have the geometry of the plan.
  PyObject* gather(const PlainArray& input, const PlainArray& index, const PlainArray* out) const;
  // Likewise; into the input itself, or into a copy.
  PyObject* scatter(const PlainArray& input, const PlainArray& index, const PlainArray& source, bool in_place) const;

 private:
  bool scatter_into(const PlainArray& input, const PlainArray& index, const PlainArray& source) const;
  PyObject* gather_into(const PlainArray& input, const PlainArray& index, const PlainArray& target) const;
  std::shared_ptr<const SmallMove> move_;  // shared by copies of a plan object
  Dims shape_;
};

// The operators that have one: how they read their two arrays, under the rule raise and from_end.
struct CallForm {
  Direction direction = Direction::gather;
  Planner planner = Planner::take_axis;
  Match match = Match::prefix;
  bool has_axis = false;
  int64_t axis = 0;
  Request request() const;
  friend bool operator==(const CallForm&, const CallForm&) = default;
};

// Recent geometries of one thread, guarded by nothing else.
class SmallCalls {
 public:
  // Good until the next call of `find`. Empty where the call is not a small one. In a scatter the input must be
  // contiguous, and the source too and of the shape of the index.
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
