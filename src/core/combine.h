// combine.h: what a scatter does to the value that it finds: the only place that knows arithmetic.
#pragma once

#include <cstdint>

#include "core/hd.h"
#include "core/number.h"

namespace gs {

enum class Reduce : uint8_t { set, add, mul, min, max, mean };

// How the values of a scatter meet their targets, in ascending flat position.
struct Combine {
  Reduce reduce = Reduce::set;
  Number number = Number::none;  // only reductions ask
  bool include_self = true;      // whether what the target held is one of the values
  friend bool operator==(const Combine&, const Combine&) = default;
};

// Narrow floats are summed up in float and rounded once, integers in 64 bits, so that a mean does not wrap.
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

// Back to the dtype: rounded once, wrapped, every NaN the same one.
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

// Whether this reduction can be computed in the dtype itself, value by value, if the target is one of the values.
template <class T, Reduce kReduce>
inline constexpr bool kDirect = !is_narrow<T> && kReduce != Reduce::mean;

template <class T>
GS_HD constexpr bool has_reduction(Reduce reduce) {
  if (std::is_void_v<T>) return reduce == Reduce::set;
  if (is_complex<T>) return reduce != Reduce::min && reduce != Reduce::max;
  if (std::is_same_v<T, bool>) return reduce != Reduce::mean;
  return true;
}

// The value as it is, out of the compiler's sight: GCC 12 makes one fused instruction of the product and the sum in a
// complex multiplication, in spite of -ffp-contract=off.
template <class T>
GS_INLINE T rounded(T value) {
#if defined(__x86_64__) && !defined(__CUDA_ARCH__)
  asm("" : "+x"(value));
#endif
  return value;
}

// a ⊕ b, `a` being what came before. Integers wrap; the extremum of equal values is the earlier one, and NaN stays.
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
    const bool takes_b = kReduce == Reduce::min ? b < a : b > a;
    return canonical(takes_b || b != b ? (a != a ? a : b) : a);
  } else {
    using Unsigned = std::make_unsigned_t<T>;
    if constexpr (adds) return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    if constexpr (kReduce == Reduce::mul)
      return static_cast<T>(uint64_t{static_cast<Unsigned>(a)} * static_cast<Unsigned>(b));
    return (kReduce == Reduce::min ? b < a : b > a) ? b : a;
  }
}

// The quotient of a sum and the number of its values; integers round towards minus infinity.
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

// Items may lie at any address, and a bool may be any byte.
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

// One value meets its target directly.
template <class T, Reduce kReduce>
GS_INLINE void combine_direct(void* target, const void* value) {
  store_number(target, combined<kReduce>(load_number<T>(target), load_number<T>(value)));
}

// One value meets the running total of its target. `begun`: the total holds what the target held, even if no value has
// come; else the first value takes its place. `hits` begins as 0 and counts the values, if there is to be a mean of
// them.
template <class T, Reduce kReduce, class Hits>
GS_INLINE void combine_total(const void* value, Wide<T>* total, Hits* hits, bool begun) {
  const Wide<T> own = widen_number(load_number<T>(value));
  const Wide<T> sum = combined<kReduce>(*total, own);
  *total = begun || *hits != 0 ? sum : own;
  *hits = kReduce == Reduce::mean ? *hits + 1 : 1;
}

// The same where a total begins when its first value comes.
template <class T, Reduce kReduce, class Hits>
GS_INLINE void combine_wide(const void* target, const void* value, Wide<T>* total, Hits* hits, bool include_self) {
  if (include_self && *hits == 0) *total = widen_number(load_number<T>(target));
  combine_total<T, kReduce>(value, total, hits, include_self);
}

// Writes a total to its target, once: `hits` is 0 afterwards.
template <class T, bool kMean, class Hits>
GS_INLINE void finish_wide(void* target, Wide<T> total, Hits* hits, bool include_self) {
  if (*hits == 0) return;
  if constexpr (kMean) total = mean_of(total, static_cast<int64_t>(*hits) + (include_self ? 1 : 0));
  store_number(target, narrow_number<T>(total));
  *hits = 0;
}

}  // namespace gs
