// kernel_repeats.h: reductions of points that repeat their targets, as sorted keys do: the value of a target stays in a
// register until another one follows. Included by kernel_combine.cpp only, once for every instruction set level.
#pragma once

#include "backends/cpu/kernels/kernel_totals.h"

namespace gs::cpu::GS_ISA {
namespace {

// Whether points repeat their targets, as those of sorted keys do: nearly all of some pairs of neighbours are equal.
// In runs of fewer than eight points the branch at the end of a run costs as much as the store that a later point of it
// waits for.
GS_INLINE bool repeats_targets(const uint32_t* position, int n) {
  constexpr int kPairs = 8;
  if (n < 2 * kPairs) return false;
  int equal = 0;
  for (int k = 0; k < kPairs; ++k) equal += position[n / kPairs * k] == position[n / kPairs * k + 1];
  return equal >= kPairs - 1;
}

// The value of a target while points repeat it: as combined_in_target, value by value. A NaN becomes the canonical one
// once, at the end, so that each value waits for one operation alone.
template <class T, Reduce kReduce>
class RunningValue {
 public:
  GS_INLINE explicit RunningValue(T first) : value_(first), is_nan_(first != first) {}
  GS_INLINE void combine(T own) {
    if constexpr (kReduce == Reduce::add) {
      value_ += own;
    } else if constexpr (kReduce == Reduce::mul) {
      value_ *= own;
    } else {
      is_nan_ |= own != own;
      value_ = (kReduce == Reduce::min ? own < value_ : own > value_) ? own : value_;
    }
  }
  GS_INLINE T result() const {
    if constexpr (picks_operand(kReduce)) return is_nan_ ? quiet_nan(value_) : value_;
    return canonical(value_);
  }

 private:
  T value_;
  bool is_nan_;
};
template <class T, Reduce kReduce>
  requires(!std::is_floating_point_v<T>)
class RunningValue<T, kReduce> {
 public:
  GS_INLINE explicit RunningValue(T first) : value_(first) {}
  GS_INLINE void combine(T own) { value_ = combined_in_target<kReduce>(value_, own); }
  GS_INLINE T result() const { return value_; }

 private:
  T value_;
};

// Combines the values of n points (`point(j)` is the number of the value) with their targets.
template <class T, Reduce kReduce, class Point>
inline void combine_repeats(const Elements& elements, const uint32_t* position, int n, Point point) {
  const std::byte* const values = elements.values;
  for (int j = 0; j < n;) {
    const uint32_t place = position[j];
    std::byte* const target = pointer_to(elements.target(place, 0));
    RunningValue<T, kReduce> running(load_number<T>(target));
    do {
      running.combine(load_number<T>(values + point(j) * sizeof(T)));
    } while (++j < n && position[j] == place);
    store_number(target, running.result());
  }
}

}  // namespace
}  // namespace gs::cpu::GS_ISA
