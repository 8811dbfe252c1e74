// rule.h: resolves an index to a position; only here bounds policies and negative indices are defined.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/hd.h"
#include "core/index_type.h"

namespace gs {

// What happens to an index outside of its axis. Scatters call `fill` `drop`; on the CPU `deferred` acts as `raise`.
enum class Bounds : uint8_t { raise, deferred, fill, clip, wrap, unchecked };

// Whether -1 means the last position or a position before the first one.
enum class Negative : uint8_t { from_end, out_of_bounds };

struct Rule {
  Bounds bounds = Bounds::raise;
  Negative negative = Negative::from_end;

  // Whether an index outside gives padding in a gather and no write in a scatter, instead of an error.
  GS_HD constexpr bool fills() const { return bounds == Bounds::fill; }
  // Whether an index outside of an axis of this extent is an error. An empty axis has no position to clip or wrap
  // to.
  GS_HD constexpr bool forbids(int64_t extent) const {
    if (bounds == Bounds::raise || bounds == Bounds::deferred) return true;
    return extent == 0 && (bounds == Bounds::clip || bounds == Bounds::wrap);
  }
  friend bool operator==(const Rule&, const Rule&) = default;
};

// Whether a value of this type can be outside of an axis of this extent. For example, no uint8 is outside
// of an axis of 256.
constexpr bool may_miss(IndexType type, int64_t extent, Negative negative) {
  const bool is_signed = index_is_signed(type);
  if (index_size(type) == 8 || (is_signed && negative == Negative::out_of_bounds)) return true;
  return extent < int64_t{1} << (8 * index_size(type) - (is_signed ? 1 : 0));
}

// The result of resolving an index that has no position. It is not -1, because that is a valid byte offset if a stride
// is negative; no byte offset has this value.
inline constexpr int64_t kNowhere = INT64_MIN;

// Widens an index to int64. A uint64 beyond int64 becomes INT64_MAX, which is outside of every axis.
template <class Index>
GS_HD constexpr int64_t widen(Index value) {
  if constexpr (std::is_same_v<Index, uint64_t>) {
    return value > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(value);
  } else {
    return static_cast<int64_t>(value);
  }
}

// What is added to a negative value: the extent where it counts from the end, else 0. Unsigned types have none.
GS_HD constexpr int64_t added_to_negative(int64_t extent, Negative negative, bool is_signed = true) {
  return is_signed && negative == Negative::from_end ? extent : 0;
}

// Adds `added` once to a negative value, without a branch. `added` is never negative, so nothing overflows.
GS_HD constexpr int64_t from_end(int64_t value, int64_t added) {
  return value + ((value >> 63) & added);
}

GS_HD constexpr bool is_inside(int64_t position, int64_t extent) {
  return static_cast<uint64_t>(position) < static_cast<uint64_t>(extent);
}

// Negative exactly if the position is outside: a form of `is_inside` from operations that every instruction set has for
// vectors. Computed unsigned, because the difference may wrap if the position is negative.
GS_HD constexpr int64_t outside_mark(int64_t position, int64_t extent) {
  const auto last = static_cast<uint64_t>(extent) - 1;
  return static_cast<int64_t>(static_cast<uint64_t>(position) | (last - static_cast<uint64_t>(position)));
}

GS_HD constexpr int64_t clip(int64_t position, int64_t extent) {
  return position < 0 ? 0 : (position < extent ? position : extent - 1);
}

// A modulo instead of a loop, so that the cost does not depend on how far outside the value is.
template <class Index>
GS_HD constexpr int64_t wrap(Index value, int64_t extent) {
  if constexpr (std::is_same_v<Index, uint64_t>) {
    return static_cast<int64_t>(value % static_cast<uint64_t>(extent));
  } else {
    const int64_t remainder = static_cast<int64_t>(value) % extent;
    return remainder < 0 ? remainder + extent : remainder;
  }
}

// One of many values that a loop resolves without branches, as vectors do.
struct Lane {
  int64_t position;  // arbitrary where it is outside
  int64_t outside;   // negative exactly if the position is outside
};

// The form of `resolve` for such loops: under clip no position is outside, and under every other rule `outside` says
// what the loop has to do. Wrapping is no form of its own: most values are inside, and the others take `resolve`.
template <Bounds kBounds>
GS_INLINE constexpr Lane resolve_lane(int64_t value, int64_t extent, int64_t added) {
  static_assert(kBounds != Bounds::wrap);
  const int64_t position = from_end(value, added);
  if constexpr (kBounds == Bounds::clip) return {clip(position, extent), 0};
  return {position, outside_mark(position, extent)};
}

// Resolves an index to a position in [0, extent), or kNowhere. Bounds::unchecked returns the value without a check
// (after from_end): the caller guarantees that it is inside. Under any other rule, an index into an empty axis has no
// position.
template <class Index>
GS_HD constexpr int64_t resolve(Index value, int64_t extent, Rule rule) {
  int64_t position = widen(value);
  if (rule.negative == Negative::from_end) position = from_end(position, extent);
  if (is_inside(position, extent) || rule.bounds == Bounds::unchecked) return position;
  if (extent == 0) return kNowhere;
  if (rule.bounds == Bounds::clip) return clip(position, extent);
  if (rule.bounds == Bounds::wrap) return wrap(value, extent);
  return kNowhere;
}

}  // namespace gs
