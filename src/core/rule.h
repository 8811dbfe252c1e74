// rule.h: turns one index value into a position, the only place that knows negatives and bounds.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/hd.h"
#include "core/index_type.h"

namespace gs {

// What happens to an index outside its axis. `fill` is called `drop` when scattering; `deferred` is `raise` on the CPU.
enum class Bounds : uint8_t { raise, deferred, fill, clip, wrap, unchecked };

// Whether -1 means the last position or a position before the first one.
enum class Negative : uint8_t { from_end, out_of_bounds };

struct Rule {
  Bounds bounds = Bounds::raise;
  Negative negative = Negative::from_end;

  // True where a position outside is an answer (padding, or nothing to write) and not an error.
  GS_HD constexpr bool fills() const { return bounds == Bounds::fill; }
  // Whether an index outside of an axis of this extent is an error. An empty axis has nothing to clip or wrap to.
  GS_HD constexpr bool forbids(int64_t extent) const {
    if (bounds == Bounds::raise || bounds == Bounds::deferred) return true;
    return extent == 0 && (bounds == Bounds::clip || bounds == Bounds::wrap);
  }
  friend bool operator==(const Rule&, const Rule&) = default;
};

// Whether a value of this type can lie outside of an axis of this extent: bytes cannot miss a table of 256.
constexpr bool may_miss(IndexType type, int64_t extent, Negative negative) {
  const bool is_signed = index_is_signed(type);
  if (index_size(type) == 8 || (is_signed && negative == Negative::out_of_bounds)) return true;
  return extent < int64_t{1} << (8 * index_size(type) - (is_signed ? 1 : 0));
}

// No position. A byte offset may be -1 where a stride is negative, so the mark is a value that no offset can take.
inline constexpr int64_t kNowhere = INT64_MIN;

// The value at full width. A uint64 beyond int64 becomes INT64_MAX, which lies outside of every axis.
template <class Index>
GS_HD constexpr int64_t widen(Index value) {
  if constexpr (std::is_same_v<Index, uint64_t>) {
    return value > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(value);
  } else {
    return static_cast<int64_t>(value);
  }
}

// Adds `extent` once to a negative value, without a branch. `extent` is never negative, so nothing overflows.
GS_HD constexpr int64_t from_end(int64_t value, int64_t extent) {
  return value + ((value >> 63) & extent);
}

GS_HD constexpr bool is_inside(int64_t position, int64_t extent) {
  return static_cast<uint64_t>(position) < static_cast<uint64_t>(extent);
}

// Negative exactly where a position is outside: the form of `is_inside` that every instruction set has for whole
// blocks. Unsigned, because the difference may wrap where the position is negative.
GS_HD constexpr int64_t outside_mark(int64_t position, int64_t extent) {
  const auto last = static_cast<uint64_t>(extent) - 1;
  return static_cast<int64_t>(static_cast<uint64_t>(position) | (last - static_cast<uint64_t>(position)));
}

GS_HD constexpr int64_t clip(int64_t position, int64_t extent) {
  return position < 0 ? 0 : (position < extent ? position : extent - 1);
}

// A modulo, never a loop: the work does not depend on how far out the value is.
template <class Index>
GS_HD constexpr int64_t wrap(Index value, int64_t extent) {
  if constexpr (std::is_same_v<Index, uint64_t>) {
    return static_cast<int64_t>(value % static_cast<uint64_t>(extent));
  } else {
    const int64_t remainder = static_cast<int64_t>(value) % extent;
    return remainder < 0 ? remainder + extent : remainder;
  }
}

// Position in [0, extent), or kNowhere. With Bounds::unchecked the caller vouches for the value, which comes back as it
// is (after from_end). An empty axis has no position, whatever the rule.
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
