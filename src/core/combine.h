// combine.h: defines, for all backends, the arithmetic by which a scatter combines a value with its target.
#pragma once

#include <cstdint>

#include "core/hd.h"
#include "core/number.h"

namespace gs {

enum class Reduce : uint8_t { set, add, mul, min, max, mean };

// How a scatter combines values with their targets. The values of a target are taken in ascending flat position.
struct Combine {
  Reduce reduce = Reduce::set;
  Number number = Number::none;  // dtype of the items; set for reductions only
  bool include_self = true;      // whether the old value of a target takes part
  friend bool operator==(const Combine&, const Combine&) = default;
};

// The type of running totals: float for narrow floats, so that a total is rounded once; 64 bits for integers, so that
// a mean does not wrap.
template <class T>
struct WideOf {
  using type = T;
};
template <class T>
  requires is_narrow<T>
struct WideOf<T> {
  using type = float;
};
template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
struct WideOf<T> {
  using type = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
};
template <class T>
using Wide = typename WideOf<T>::type;

template <class T>
GS_INLINE Wide<T> widen_number(T value) {
  if constexpr (is_narrow<T>) {
    return to_float(value);
  } else {
    return static_cast<Wide<T>>(value);
  }
}

// Converts a total back to the dtype: floats are rounded and every NaN becomes the canonical one, integers wrap.
template <class T>
GS_INLINE T narrow_number(Wide<T> value) {
  if constexpr (is_narrow<T>) {
    return Round<T>::from(value);
  } else if constexpr (is_complex<T>) {
    return {canonical(value.re), canonical(value.im)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return canonical(value);
  } else {
    return static_cast<T>(value);
  }
}

// Whether the result is one of the operands, so that nothing is rounded.
inline constexpr bool picks_operand(Reduce reduce) {
  return reduce == Reduce::min || reduce == Reduce::max;
}

// Whether this reduction can be computed in the target itself, value by value, if include_self is true.
template <class T, Reduce kReduce>
inline constexpr bool kDirect = kReduce != Reduce::mean && (!is_narrow<T> || picks_operand(kReduce));

// Whether the running total can be kept in the target: nothing is rounded on the way that is not rounded in the total.
template <class T, Reduce kReduce>
inline constexpr bool kTotalInTarget = kDirect<T, kReduce> || (kReduce == Reduce::mean && std::is_same_v<Wide<T>, T>);

template <class T>
GS_HD constexpr bool has_reduction(Reduce reduce) {
  if (std::is_void_v<T>) return reduce == Reduce::set;
  if (is_complex<T>) return reduce != Reduce::min && reduce != Reduce::max;
  if (std::is_same_v<T, bool>) return reduce != Reduce::mean;
  return true;
}

// Returns `value` unchanged, through an empty asm statement that the optimiser cannot look into: in a complex
// multiplication GCC 12 fuses the product and the sum into one instruction, in spite of -ffp-contract=off.
template <class T>
GS_INLINE T rounded(T value) {
#if defined(__x86_64__) && !defined(__CUDA_ARCH__)
  asm("" : "+x"(value));
#endif
  return value;
}

// a ⊕ b, where `a` is the earlier value. Integers wrap; the minimum or maximum of two equal values is the earlier one;
// the result with a NaN is NaN.
template <Reduce kReduce, class T>
GS_INLINE T combined(T a, T b) {
  constexpr bool adds = kReduce == Reduce::add || kReduce == Reduce::mean;
  if constexpr (is_complex<T>) {
    if constexpr (adds) return {canonical(a.re + b.re), canonical(a.im + b.im)};
    return {canonical(rounded(a.re * b.re) - rounded(a.im * b.im)),
            canonical(rounded(a.re * b.im) + rounded(a.im * b.re))};
  } else if constexpr (std::is_same_v<T, bool>) {
    return adds || kReduce == Reduce::max ? a || b : a && b;
  } else if constexpr (std::is_floating_point_v<T>) {
    if constexpr (adds) return canonical(a + b);
    if constexpr (kReduce == Reduce::mul) return canonical(a * b);
    // One instruction for the minimum or maximum and one for NaNs: which one wins cannot be predicted.
    const T picked = kReduce == Reduce::min ? (b < a ? b : a) : (b > a ? b : a);
    return a == a && b == b ? picked : quiet_nan(a);
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    if constexpr (adds) return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    if constexpr (kReduce == Reduce::mul)
      return static_cast<T>(uint64_t{static_cast<Unsigned>(a)} * static_cast<Unsigned>(b));
    return (kReduce == Reduce::min ? b < a : b > a) ? b : a;
  }
}

// Divides a sum by the number of its values. Integer quotients are rounded towards minus infinity.
template <class T>
GS_INLINE T mean_of(T sum, int64_t count) {
  if constexpr (is_complex<T>) {
    return {mean_of(sum.re, count), mean_of(sum.im, count)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return sum / static_cast<T>(count);
  } else if constexpr (std::is_signed_v<T>) {
    const T quotient = sum / count;
    return quotient - (sum % count < 0 ? 1 : 0);
  } else {
    return sum / static_cast<T>(count);
  }
}

// Reads an item at any address, aligned or not. A bool is true if its byte is not 0.
template <class T>
GS_INLINE T load_number(const void* source) {
  if constexpr (std::is_same_v<T, bool>) {
    unsigned char byte;
    __builtin_memcpy(&byte, source, 1);
    return byte != 0;
  } else {
    T value;
    __builtin_memcpy(&value, source, sizeof(T));
    return value;
  }
}
template <class T>
GS_INLINE void store_number(void* target, T value) {
  __builtin_memcpy(target, &value, sizeof(T));
}

// As combined, for any dtype whose total can be kept in the target.
template <Reduce kReduce, class T>
GS_INLINE T combined_in_target(T a, T b) {
  if constexpr (is_narrow<T>) {
    const float x = to_float(a);
    const float y = to_float(b);
    const auto picked = (kReduce == Reduce::min ? y < x : y > x) ? b.bits : a.bits;
    return x == x && y == y ? T{picked} : Round<T>::from(quiet_nan(x));
  } else {
    return combined<kReduce>(a, b);
  }
}

// Combines one value with its target in place.
template <class T, Reduce kReduce>
GS_INLINE void combine_direct(void* target, const void* value) {
  store_number(target, combined_in_target<kReduce>(load_number<T>(target), load_number<T>(value)));
}

// Combines one value with the running total of its target. `begun`: the total already holds the old value of the
// target; otherwise the first value initialises the total. `hits` starts at 0; a mean counts the values in it, other
// reductions set it to 1.
template <class T, Reduce kReduce, class Hits>
GS_INLINE void combine_total(const void* value, Wide<T>* total, Hits* hits, bool begun) {
  const Wide<T> own = widen_number(load_number<T>(value));
  const Wide<T> sum = combined<kReduce>(*total, own);
  *total = begun || *hits != 0 ? sum : own;
  *hits = kReduce == Reduce::mean ? *hits + 1 : 1;
}

// As combine_total, for a total that is not initialised before its first value: with `include_self` it is then loaded
// from the target.
template <class T, Reduce kReduce, class Hits>
GS_INLINE void combine_wide(const void* target, const void* value, Wide<T>* total, Hits* hits, bool include_self) {
  if (include_self && *hits == 0) *total = widen_number(load_number<T>(target));
  combine_total<T, kReduce>(value, total, hits, include_self);
}

// Writes a total to its target if it has a value. Sets `hits` to 0, so that a further call for the target does nothing.
template <class T, bool kMean, class Hits>
GS_INLINE void finish_wide(void* target, Wide<T> total, Hits* hits, bool include_self) {
  if (*hits == 0) return;
  if constexpr (kMean) total = mean_of(total, static_cast<int64_t>(*hits) + (include_self ? 1 : 0));
  store_number(target, narrow_number<T>(total));
  *hits = 0;
}

}  // namespace gs
