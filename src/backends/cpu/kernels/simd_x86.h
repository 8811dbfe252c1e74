// simd_x86.h: the levels of x86-64 processors, each above the one before: SSE2, AVX2 with BMI2 and F16C, AVX-512.
// Included by simd.h only.
#pragma once

#include <immintrin.h>

// GCC 12 warns about undefined operands inside of its own intrinsics as if they were ours (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace gs::cpu::GS_ISA {
namespace {

struct Sse2 : Portable {
  static void stream_line(std::byte* target, const std::byte* source) {
    for (int i = 0; i < 64; i += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i)));
    }
  }
  static void finish_streaming() { _mm_sfence(); }
};

#if defined(__AVX2__) && defined(__BMI2__) && defined(__F16C__)
struct Avx2 : Sse2 {
  static constexpr int kFloats = 8;  // of a vector
  template <class T>
  static constexpr bool kHasFloats = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;

  static void stream_line(std::byte* target, const std::byte* source) {
    for (int i = 0; i < 64; i += 32) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(target + i),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + i)));
    }
  }

  static uint64_t deposit(uint64_t bits, uint64_t places) { return _pdep_u64(bits, places); }

  using Portable::addend;
  static GS_INLINE float addend(F16 value) { return _cvtsh_ss(value.bits); }

  template <class T>
  static void addends(const std::byte* values, int n, float* found) {
    int k = 0;
    for (; k + kFloats <= n; k += kFloats) _mm256_storeu_ps(found + k, eight_floats(T{}, load_eight(values + k * 2)));
    for (; k < n; ++k) found[k] = addend(load_number<T>(values + k * 2));
  }

  template <class T, uint32_t kUntouched>
  static int64_t begin_totals(float* total, const std::byte* target, std::byte* before, int64_t n, bool include_self) {
    int64_t k = 0;
    if constexpr (kHasFloats<T>) {
      const __m256 untouched = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kUntouched)));
      const __m256 self = _mm256_castsi256_ps(_mm256_set1_epi32(include_self ? -1 : 0));
      for (; k + kFloats <= n; k += kFloats) {
        const __m128i items = load_eight(target + k * 2);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(before + k * 2), items);
        const __m256 value = eight_floats(T{}, items);
        const __m256 begun = _mm256_and_ps(self, _mm256_cmp_ps(value, value, _CMP_ORD_Q));
        _mm256_storeu_ps(total + k, _mm256_blendv_ps(untouched, value, begun));
      }
    }
    return k;
  }

 protected:
  static GS_INLINE __m256 eight_floats(F16, __m128i bits) { return _mm256_cvtph_ps(bits); }
  static GS_INLINE __m256 eight_floats(BF16, __m128i bits) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static GS_INLINE __m128i load_eight(const std::byte* values) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(values));
  }
};
#endif

#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define GS_WIDE_FORMS  // kernel_vector.h and kernel_bytes_table.h
struct Avx512 : Avx2 {
  static constexpr bool kHasVectors = true;

  static void stream_line(std::byte* target, const std::byte* source) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(target), _mm512_loadu_si512(source));
  }

  // ---- selections

  static int select(const uint32_t* from, int n, uint32_t low, uint32_t span, int first, uint32_t* position,
                    uint32_t* place) {
    const __m512i lowest = _mm512_set1_epi32(static_cast<int>(low));
    const __m512i width = _mm512_set1_epi32(static_cast<int>(span));
    __m512i point = _mm512_add_epi32(lanes_32(), _mm512_set1_epi32(first));
    int m = 0;
    for (int k = 0; k < n; k += kVectorStep) {
      const __m512i number = _mm512_loadu_si512(from + k);
      const __mmask16 own = _mm512_mask_cmplt_epu32_mask(live_lanes(n - k), _mm512_sub_epi32(number, lowest), width);
      _mm512_storeu_si512(position + m, _mm512_maskz_compress_epi32(own, number));
      _mm512_storeu_si512(place + m, _mm512_maskz_compress_epi32(own, point));
      point = _mm512_add_epi32(point, _mm512_set1_epi32(kVectorStep));
      m += __builtin_popcount(own);
    }
    return m;
  }

  // Lanes after the last target hold address 0, which lies in no thread's range.
  static int select(Address* from, int n, Address low, uint64_t span, const ValueAddresses& value_at, Address* target,
                    Address* value) {
    constexpr int kLanes = 8;
    const __m512i lowest = _mm512_set1_epi64(static_cast<long long>(low));
    const __m512i width = _mm512_set1_epi64(static_cast<long long>(span));
    const __m512i step = _mm512_set1_epi64(static_cast<long long>(value_at.step) * kLanes);
    const __m512i lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i base = _mm512_set1_epi64(static_cast<long long>(value_at.base));
    __m512i packed =
        _mm512_add_epi64(base, _mm512_mullo_epi64(lane, _mm512_set1_epi64(static_cast<long long>(value_at.step))));
    for (int k = n; k % kLanes != 0; ++k) from[k] = 0;
    int m = 0;
    for (int k = 0; k < n; k += kLanes) {
      const __m512i found = _mm512_load_si512(from + k);
      const __mmask8 own = _mm512_cmplt_epu64_mask(_mm512_sub_epi64(found, lowest), width);
      __m512i source = packed;
      if (value_at.offset != nullptr) source = _mm512_add_epi64(base, _mm512_load_si512(value_at.offset + k));
      packed = _mm512_add_epi64(packed, step);
      _mm512_storeu_si512(target + m, _mm512_maskz_compress_epi64(own, found));
      _mm512_storeu_si512(value + m, _mm512_maskz_compress_epi64(own, source));
      m += __builtin_popcount(own);
    }
    return m;
  }

  template <int kUnit>
  static GS_INLINE uint32_t select_values(const uint32_t* from, const std::byte* values, int n, uint32_t low,
                                          uint32_t span, uint32_t* slot, std::byte* value) {
    const __m512i lowest = _mm512_set1_epi32(static_cast<int>(low));
    const __m512i width = _mm512_set1_epi32(static_cast<int>(span));
    uint32_t m = 0;
    for (int k = 0; k < n; k += kVectorStep) {
      const __mmask16 live = live_lanes(n - k);
      const __m512i number = _mm512_loadu_si512(from + k);
      const __mmask16 own = _mm512_mask_cmplt_epu32_mask(live, _mm512_sub_epi32(number, lowest), width);
      _mm512_storeu_si512(slot + m, _mm512_maskz_compress_epi32(own, number));
      append_values<kUnit>(value + uint64_t{m} * kUnit, values + k * kUnit, own, live);
      m += static_cast<uint32_t>(__builtin_popcount(own));
    }
    return m;
  }

  // ---- positions

  template <class Index, bool kFill, class Count>
  static GS_INLINE bool positions(const PositionLimits& limits, const std::byte* source, const int8_t* keep, Count n,
                                  uint32_t* position) {
    const __m512i nowhere = _mm512_set1_epi32(-1);
    __mmask16 bad = 0;
    for (int k = 0; k < n; k += kVectorStep) {
      __mmask16 wanted = n - k >= kVectorStep ? 0xFFFF : first_lanes(n - k);
      __mmask16 outside = 0;
      const std::byte* const from = source + k * static_cast<int64_t>(sizeof(Index));
      __m512i value = positions_16<Index>(limits, from, wanted, outside);
      if (keep != nullptr) {
        wanted &= _mm_movepi8_mask(_mm_load_si128(reinterpret_cast<const __m128i*>(keep + k)));
        value = _mm512_mask_mov_epi32(nowhere, wanted, value);
      }
      if constexpr (kFill) {
        value = _mm512_mask_mov_epi32(value, outside, nowhere);
      } else {
        bad |= static_cast<__mmask16>(wanted & outside);
      }
      _mm512_storeu_si512(position + k, value);
    }
    return bad == 0;
  }

  template <class Position, bool kSpans>
  static int64_t write_positions(const std::byte* source, int64_t count, int64_t added, std::byte* target, bool stream,
                                 uint64_t& least, uint64_t& most) {
    constexpr int kGroup = 64;
    const __m512i add = _mm512_set1_epi64(added);
    WideSpan span;
    stream = stream && address_of(target) % kLine == 0;
    int64_t k = 0;
    for (; k + kGroup <= count; k += kGroup) {
      prefetch_checked(source + k * 8, kGroup * 8);
      write_group<Position, kSpans>(source + k * 8, add, target + k * static_cast<int64_t>(sizeof(Position)), stream,
                                    span);
    }
    if (stream) _mm_sfence();
    most = _mm512_reduce_max_epu64(span.most);
    if (kSpans && k > 0) least = _mm512_reduce_min_epu64(span.least);
    return k;
  }

  // ---- bits

  // Reads sixteen bits at a time, each out of four bytes that contain it, and never a byte after the last one.
  static uint64_t read_bits(const BitSource& bits, const uint32_t* row) {
    // The unmasked intrinsics begin from a register that GCC 12 reports as uninitialised.
    constexpr __mmask16 kAll = 0xFFFF;
    const Address data = bits.first >> 3;
    const __m512i offset = _mm512_set1_epi32(static_cast<int>(bits.first & 7));
    const __m512i last = _mm512_set1_epi32(static_cast<int>(bits.end - data - 4));
    const __m512i one = _mm512_set1_epi32(1);
    uint64_t word = 0;
    for (int k = 0; k < 64; k += 16) {
      const __m512i bit = _mm512_add_epi32(_mm512_loadu_si512(row + k), offset);
      const __m512i byte = _mm512_maskz_min_epu32(kAll, _mm512_maskz_srli_epi32(kAll, bit, 3), last);
      const __m512i found = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), kAll, byte, pointer_to(data), 1);
      const __m512i place = _mm512_sub_epi32(bit, _mm512_maskz_slli_epi32(kAll, byte, 3));
      word |= uint64_t{_mm512_test_epi32_mask(found, _mm512_maskz_sllv_epi32(kAll, one, place))} << k;
    }
    return word;
  }

  // ---- totals

  template <class T, uint32_t kUntouched>
  static int64_t finish_totals(const float* total, std::byte* target, const std::byte* before, int64_t n) {
    int64_t k = 0;
    if constexpr (kHasFloats<T>) {
      const __m256i untouched = _mm256_set1_epi32(static_cast<int>(kUntouched));
      const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
      const __m256i infinity = _mm256_set1_epi32(0x7F800000);
      const __m256 nan = _mm256_set1_ps(quiet_nan(0.0f));
      for (; k + kFloats <= n; k += kFloats) {
        const __m256 sum = _mm256_loadu_ps(total + k);
        const __m256i bits = _mm256_castps_si256(sum);
        const __mmask8 touched = _mm256_cmpneq_epi32_mask(bits, untouched);
        // Compared as integers: a comparison with a signalling NaN would set the flag of an invalid operation.
        const __mmask8 is_nan = _mm256_cmpgt_epi32_mask(_mm256_and_si256(bits, magnitude), infinity);
        const __m128i value = rounded(T{}, _mm256_mask_mov_ps(sum, is_nan, nan));
        const __mmask8 changed = _mm_mask_cmpneq_epi16_mask(touched, value, load_eight(before + k * 2));
        _mm_mask_storeu_epi16(target + k * 2, changed, value);
      }
    }
    return k;
  }

  // ---- lanes

  static __m512i lanes_32() { return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0); }
  static __mmask16 first_lanes(int64_t n) { return static_cast<__mmask16>((1U << n) - 1); }
  static __mmask16 live_lanes(int left) {
    return static_cast<__mmask16>(left < kVectorStep ? (1u << left) - 1 : 0xFFFFu);
  }

  // Sixteen positions. The lanes in `outside` hold arbitrary numbers.
  template <class Index>
  static __m512i positions_16(const PositionLimits& limits, const std::byte* source, __mmask16 live,
                              __mmask16& outside) {
    __m512i value;
    if constexpr (sizeof(Index) == 8) {
      const __m256i low = positions_8<Index>(limits, source, static_cast<__mmask8>(live));
      const __m256i high = positions_8<Index>(limits, source + 64, static_cast<__mmask8>(live >> 8));
      value = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    } else {
      value = load_narrow<Index>(source, live);
      pin_register(value);
      if constexpr (std::is_signed_v<Index>) {
        value = _mm512_min_epu32(value, _mm512_add_epi32(value, _mm512_set1_epi32(static_cast<int>(limits.from_end))));
        value = _mm512_max_epi32(value, _mm512_set1_epi32(static_cast<int>(limits.lowest >> 32)));
      }
      value = _mm512_min_epu32(value, _mm512_set1_epi32(static_cast<int>(limits.highest)));
    }
    outside = _mm512_cmpge_epu32_mask(value, _mm512_set1_epi32(static_cast<int>(limits.extent)));
    return value;
  }

 private:
  // Forces the compiler to use the indices in this register from here on instead of reading the array again, which
  // another thread may write to meanwhile.
  static void pin_register(__m512i& value) { asm volatile("" : "+v"(value)); }

  template <class Index>
  static __m512i load_narrow(const std::byte* source, __mmask16 live) {
    if constexpr (sizeof(Index) == 4) {
      return _mm512_maskz_loadu_epi32(live, source);
    } else if constexpr (sizeof(Index) == 2) {
      const __m256i raw = _mm256_maskz_loadu_epi16(live, source);
      return std::is_signed_v<Index> ? _mm512_cvtepi16_epi32(raw) : _mm512_cvtepu16_epi32(raw);
    } else {
      const __m128i raw = _mm_maskz_loadu_epi8(live, source);
      return std::is_signed_v<Index> ? _mm512_cvtepi8_epi32(raw) : _mm512_cvtepu8_epi32(raw);
    }
  }

  // Eight positions under the rule as 32-bit numbers; a position that does not fit becomes UINT32_MAX. A negative index
  // is a large unsigned number, so the unsigned minimum of the index and its sum with the extent is the position that
  // counts from the end. An index below -extent stays a large number, which is outside.
  template <class Index>
  static __m256i positions_8(const PositionLimits& limits, const std::byte* source, __mmask8 live) {
    __m512i value = _mm512_maskz_loadu_epi64(live, source);
    pin_register(value);
    if constexpr (std::is_signed_v<Index>) {
      value = _mm512_min_epu64(value, _mm512_add_epi64(value, _mm512_set1_epi64(limits.from_end)));
      value = _mm512_max_epi64(value, _mm512_set1_epi64(limits.lowest));
    }
    return _mm512_cvtusepi64_epi32(_mm512_min_epu64(value, _mm512_set1_epi64(limits.highest)));
  }

  // The lowest and the highest of the positions in each lane.
  struct WideSpan {
    __m512i least = _mm512_set1_epi64(-1);
    __m512i most = _mm512_setzero_si512();
  };

  // As positions_8, of positions of any size.
  template <bool kSpans>
  static __m512i eight_positions(const std::byte* source, __m512i added, WideSpan& span) {
    __m512i value = _mm512_loadu_si512(source);
    pin_register(value);
    value = _mm512_min_epu64(value, _mm512_add_epi64(value, added));
    if constexpr (kSpans) span.least = _mm512_min_epu64(span.least, value);
    span.most = _mm512_max_epu64(span.most, value);
    return value;
  }

  // Writes the positions of 64 indices.
  template <class Position, bool kSpans>
  static void write_group(const std::byte* source, __m512i added, std::byte* target, bool stream, WideSpan& span) {
    const __m512i lower =
        _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);  // the lower halves of 16 numbers
    const auto sixteen = [&](int i) {
      const __m512i low = eight_positions<kSpans>(source + i * 128, added, span);
      const __m512i high = eight_positions<kSpans>(source + i * 128 + 64, added, span);
      return _mm512_permutex2var_epi32(low, lower, high);
    };
    const auto store = [&](std::byte* to, __m512i value) {
      stream ? _mm512_stream_si512(reinterpret_cast<__m512i*>(to), value) : _mm512_storeu_si512(to, value);
    };
    if constexpr (sizeof(Position) == 4) {
      for (int i = 0; i < 4; ++i) store(target + i * 64, sixteen(i));
    } else {
      for (int i = 0; i < 2; ++i) {
        const __m256i low = _mm512_cvtepi32_epi16(sixteen(2 * i));
        const __m256i high = _mm512_cvtepi32_epi16(sixteen(2 * i + 1));
        store(target + i * 64, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
      }
    }
  }

  // Appends the values of the selected lanes of 16 points. May write a whole vector. `live` lanes may be read.
  template <int kUnit>
  static GS_INLINE void append_values(std::byte* out, const std::byte* from, __mmask16 own, __mmask16 live) {
    if constexpr (kUnit == 1) {
      const __m512i value = _mm512_maskz_cvtepu8_epi32(live, _mm_maskz_loadu_epi8(live, from));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                       _mm512_maskz_cvtepi32_epi8(live, _mm512_maskz_compress_epi32(own, value)));
    } else if constexpr (kUnit == 2) {
      const __m512i value = _mm512_maskz_cvtepu16_epi32(live, _mm256_maskz_loadu_epi16(live, from));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                          _mm512_maskz_cvtepi32_epi16(live, _mm512_maskz_compress_epi32(own, value)));
    } else if constexpr (kUnit == 4) {
      const __m512i value = _mm512_maskz_loadu_epi32(live, from);
      _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(own, value));
    } else {
      constexpr int kPoints8 = 64 / kUnit;  // points of a vector
      for (int k = 0; k < kVectorStep; k += kPoints8) {
        const auto words = [k](__mmask16 points) -> __mmask8 {
          const uint32_t some = (uint32_t{points} >> k) & ((1u << kPoints8) - 1);
          return static_cast<__mmask8>(kUnit == 8 ? some : _pdep_u32(some, 0x55) * 3);
        };
        const __m512i value = _mm512_maskz_loadu_epi64(words(live), from + k * kUnit);
        _mm512_storeu_si512(out, _mm512_maskz_compress_epi64(words(own), value));
        out += __builtin_popcount((uint32_t{own} >> k) & ((1u << kPoints8) - 1)) * kUnit;
      }
    }
  }

  // Rounds eight totals to nearest, ties to even. A NaN must be the canonical one.
  static GS_INLINE __m128i rounded(F16, __m256 totals) { return _mm256_cvtps_ph(totals, _MM_FROUND_TO_NEAREST_INT); }
  static GS_INLINE __m128i rounded(BF16, __m256 totals) {
    const __m256i bits = _mm256_castps_si256(totals);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7FFF));
    return _mm256_cvtepi32_epi16(_mm256_srli_epi32(up, 16));
  }
};
#endif

}  // namespace
}  // namespace gs::cpu::GS_ISA

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
