// number.h: defines the dtypes of reductions and their conversions; moves need only the size of an item.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "core/hd.h"

#if defined(__F16C__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

namespace gs {

enum class Number : uint8_t {
  none,  // items without arithmetic
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f32,
  f64,
  c64,
  c128,
  f16,
  bf16,
  f8_e4m3fn,
  f8_e4m3fnuz,
  f8_e4m3b11fnuz,
  f8_e4m3,
  f8_e3m4,
  f8_e5m2,
  f8_e5m2fnuz,
};

// How a narrow float encodes infinity and NaN.
enum class Special : uint8_t {
  ieee,  // the highest exponent encodes infinities and NaNs
  fn,    // no infinities; NaN has all bits set except the sign, which may be either
  fnuz,  // no infinities and no minus zero: its bit pattern is the NaN
};

template <class Bits, int kExponent, int kMantissa, int kBias, Special kSpecial>
struct NarrowFloat {
  Bits bits;
};

using F16 = NarrowFloat<uint16_t, 5, 10, 15, Special::ieee>;
using BF16 = NarrowFloat<uint16_t, 8, 7, 127, Special::ieee>;
using F8E4M3FN = NarrowFloat<uint8_t, 4, 3, 7, Special::fn>;
using F8E4M3FNUZ = NarrowFloat<uint8_t, 4, 3, 8, Special::fnuz>;
using F8E4M3B11FNUZ = NarrowFloat<uint8_t, 4, 3, 11, Special::fnuz>;
using F8E4M3 = NarrowFloat<uint8_t, 4, 3, 7, Special::ieee>;
using F8E3M4 = NarrowFloat<uint8_t, 3, 4, 3, Special::ieee>;
using F8E5M2 = NarrowFloat<uint8_t, 5, 2, 15, Special::ieee>;
using F8E5M2FNUZ = NarrowFloat<uint8_t, 5, 2, 16, Special::fnuz>;

template <class T>
struct Complex {
  T re;
  T im;
};

template <class T>
inline constexpr bool is_narrow = false;
template <class Bits, int kE, int kM, int kBias, Special kSpecial>
inline constexpr bool is_narrow<NarrowFloat<Bits, kE, kM, kBias, kSpecial>> = true;
template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Complex<T>> = true;

// Calls visitor.operator()<T>(), where T is the C++ type of `number`; void for Number::none.
template <class Visitor>
GS_INLINE decltype(auto) visit_number(Number number, Visitor&& visitor) {
  switch (number) {
    case Number::boolean: return visitor.template operator()<bool>();
    case Number::i8: return visitor.template operator()<int8_t>();
    case Number::i16: return visitor.template operator()<int16_t>();
    case Number::i32: return visitor.template operator()<int32_t>();
    case Number::i64: return visitor.template operator()<int64_t>();
    case Number::u8: return visitor.template operator()<uint8_t>();
    case Number::u16: return visitor.template operator()<uint16_t>();
    case Number::u32: return visitor.template operator()<uint32_t>();
    case Number::u64: return visitor.template operator()<uint64_t>();
    case Number::f32: return visitor.template operator()<float>();
    case Number::f64: return visitor.template operator()<double>();
    case Number::c64: return visitor.template operator()<Complex<float>>();
    case Number::c128: return visitor.template operator()<Complex<double>>();
    case Number::f16: return visitor.template operator()<F16>();
    case Number::bf16: return visitor.template operator()<BF16>();
    case Number::f8_e4m3fn: return visitor.template operator()<F8E4M3FN>();
    case Number::f8_e4m3fnuz: return visitor.template operator()<F8E4M3FNUZ>();
    case Number::f8_e4m3b11fnuz: return visitor.template operator()<F8E4M3B11FNUZ>();
    case Number::f8_e4m3: return visitor.template operator()<F8E4M3>();
    case Number::f8_e3m4: return visitor.template operator()<F8E3M4>();
    case Number::f8_e5m2: return visitor.template operator()<F8E5M2>();
    case Number::f8_e5m2fnuz: return visitor.template operator()<F8E5M2FNUZ>();
    case Number::none: break;
  }
  return visitor.template operator()<void>();
}

template <class To, class From>
GS_INLINE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

// The canonical NaN, the only one that computed results contain, so that their bytes are equal on all processors.
GS_INLINE float quiet_nan(float) {
  return bits_as<float>(0x7FC00000u);
}
GS_INLINE double quiet_nan(double) {
  return bits_as<double>(uint64_t{0x7FF8000000000000u});
}
template <class T>
GS_INLINE T canonical(T value) {
  return value == value ? value : quiet_nan(value);
}

// Converts exactly: every value of a narrow float is a float.
template <class Bits, int kExponent, int kMantissa, int kBias, Special kSpecial>
GS_INLINE float decoded(NarrowFloat<Bits, kExponent, kMantissa, kBias, kSpecial> value) {
  constexpr uint32_t kWidth = 1 + kExponent + kMantissa;
  constexpr uint32_t kTop = (1u << kExponent) - 1;
  constexpr uint32_t kLow = (1u << kMantissa) - 1;
  const uint32_t bits = value.bits;
  const uint32_t sign = bits >> (kWidth - 1) << 31;
  const uint32_t magnitude = bits & ((1u << (kWidth - 1)) - 1);
  const uint32_t exponent = magnitude >> kMantissa;
  if constexpr (kSpecial == Special::ieee) {
    if (exponent == kTop) return (magnitude & kLow) != 0 ? quiet_nan(0.0f) : bits_as<float>(sign | 0x7F800000u);
  } else if constexpr (kSpecial == Special::fn) {
    if (magnitude == (kTop << kMantissa | kLow)) return quiet_nan(0.0f);
  } else {
    if (bits == 1u << (kWidth - 1)) return quiet_nan(0.0f);
  }
  if constexpr (kExponent == 8) {  // bfloat16 is the upper half of a float, subnormals included
    return bits_as<float>(bits << (32 - kWidth));
  } else {
    constexpr uint32_t kTiniest = static_cast<uint32_t>(127 + 1 - kBias - kMantissa) << 23;  // lowest subnormal
    if (exponent == 0)
      return bits_as<float>(sign | bits_as<uint32_t>(static_cast<float>(magnitude) * bits_as<float>(kTiniest)));
    return bits_as<float>(sign | ((exponent + 127 - kBias) << 23) | (magnitude & kLow) << (23 - kMantissa));
  }
}

// Rounds to nearest, ties to even. A value beyond the range becomes infinity, or NaN in a type without infinities.
template <class Narrow>
struct Encode;
template <class Bits, int kExponent, int kMantissa, int kBias, Special kSpecial>
struct Encode<NarrowFloat<Bits, kExponent, kMantissa, kBias, kSpecial>> {
  static GS_INLINE NarrowFloat<Bits, kExponent, kMantissa, kBias, kSpecial> from(float value) {
    constexpr uint32_t kWidth = 1 + kExponent + kMantissa;
    constexpr uint32_t kTop = (1u << kExponent) - 1;
    constexpr uint32_t kInfinity = kTop << kMantissa;
    constexpr uint32_t kMinusZero = 1u << (kWidth - 1);
    constexpr uint32_t kNaN = kSpecial == Special::ieee ? kInfinity | 1u << (kMantissa - 1)
                              : kSpecial == Special::fn ? kMinusZero - 1
                                                        : kMinusZero;
    // The lowest magnitude bits that do not encode a finite value.
    constexpr uint32_t kBeyond = kSpecial == Special::ieee ? kInfinity
                                 : kSpecial == Special::fn ? kMinusZero - 1
                                                           : kMinusZero;
    const uint32_t bits = bits_as<uint32_t>(value);
    const uint32_t sign = bits >> 31 << (kWidth - 1);
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return {static_cast<Bits>(kNaN)};
    uint32_t rounded = 0;
    if (magnitude >= 0x7F800000u) {
      rounded = kBeyond;
    } else if constexpr (kExponent == 8) {
      rounded = (magnitude + 0x7FFFu + (magnitude >> 16 & 1)) >> 16;
    } else {
      const int exponent = static_cast<int>(magnitude >> 23) - 127;
      const int lowest = 1 - kBias;
      const int dropped = 23 - kMantissa + (exponent < lowest ? lowest - exponent : 0);
      if (dropped <= 24) {  // with more, the value is less than half of the lowest bit
        const uint32_t significand = 1u << 23 | (magnitude & 0x7FFFFFu);
        const uint32_t kept = significand >> dropped;
        const uint32_t rest = significand & ((1u << dropped) - 1);
        const uint32_t half = 1u << (dropped - 1);
        rounded = kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
        // A carry out of the mantissa correctly increments the exponent.
        if (exponent >= lowest) rounded += static_cast<uint32_t>(exponent - lowest) << kMantissa;
      }
    }
    if (rounded >= kBeyond) rounded = kSpecial == Special::ieee ? kInfinity : kNaN;
    if (kSpecial == Special::fnuz && (rounded == 0 || rounded == kNaN)) return {static_cast<Bits>(rounded)};
    if (kSpecial == Special::fn && rounded == kNaN) return {static_cast<Bits>(rounded)};
    return {static_cast<Bits>(sign | rounded)};
  }
};

// Floats of 8 bits are rare. On a CPU they are converted by functions, of which each object has its own; inline they
// were a quarter of the code of reductions.
#if defined(__CUDACC__)
#define GS_APART GS_INLINE
#else
#define GS_APART [[gnu::noinline]] static
#endif
template <class Narrow>
GS_APART float decoded_apart(Narrow value) {
  return decoded(value);
}
template <class Narrow>
GS_APART Narrow encoded_apart(float value) {
  return Encode<Narrow>::from(value);
}
#undef GS_APART

template <class Narrow>
GS_INLINE float to_float(Narrow value) {
  if constexpr (sizeof(Narrow) == 1) {
    return decoded_apart(value);
  } else {
    return decoded(value);
  }
}
template <class Narrow>
struct Round {
  static GS_INLINE Narrow from(float value) {
    if constexpr (sizeof(Narrow) == 1) {
      return encoded_apart<Narrow>(value);
    } else {
      return Encode<Narrow>::from(value);
    }
  }
};

#if !defined(__CUDACC__)
// As the template, without its branches.
GS_INLINE float to_float(BF16 value) {
  return canonical(bits_as<float>(uint32_t{value.bits} << 16));
}
#endif

#if defined(__F16C__) && !defined(__CUDACC__)
// F16C instructions do the conversions of the templates above three times as fast.
GS_INLINE float to_float(F16 value) {
  return canonical(_cvtsh_ss(value.bits));
}
template <>
GS_INLINE F16 Round<F16>::from(float value) {
  return {_cvtss_sh(canonical(value), _MM_FROUND_TO_NEAREST_INT)};
}
#endif

}  // namespace gs
