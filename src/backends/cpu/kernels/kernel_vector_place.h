// kernel_vector_place.h: resolves indices to 32-bit positions, sixteen at a time, in registers. Included by
// kernel_blocks.cpp only, once for every instruction set level; only levels with AVX-512 contain the code.
#pragma once

#include "backends/cpu/kernels/kernel_elements.h"

// GCC 12 warns about undefined operands inside of its own intrinsics as if they were ours (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace gs::cpu::GS_ISA {
namespace {

#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

inline constexpr int kVectorStep = 16;  // points in a register of 32-bit positions

// How an index becomes a position. 32-bit lanes use the upper half of `lowest` and the lower half of `highest`.
struct PositionLimits {
  int64_t extent;    // at most INT32_MAX
  int64_t from_end;  // the extent, or 0 where negative indices are outside
  int64_t lowest;    // every position is limited to [lowest, highest]: to the ends of the axis, or not at all
  int64_t highest;

  PositionLimits(int64_t length, int64_t added, bool clips)
      : extent(length), from_end(added), lowest(clips ? 0 : INT64_MIN), highest(clips ? length - 1 : -1) {}
};

// The values that all points of a gather have in common.
struct VectorAddressing : PositionLimits {
  using PositionLimits::PositionLimits;
  bool gathers = false;  // units are loaded by gather instructions
  bool forbids = false;  // an index outside is an error
  bool ahead = false;    // lines are prefetched one group before their units are read
  int shift = 0;         // a position shifted left by this is a number of units
  bool moving = false;   // the indexed side advances by one unit from point to point
  __m512i fill;
};

// One run of the innermost axis.
struct VectorRun {
  const std::byte* index;
  const std::byte* mask;  // null: none
  const std::byte* table;
  std::byte* target;
  int64_t n;
};

// Runs of one matrix, at constant strides from each other.
struct VectorRuns {
  VectorRun run;
  int64_t count = 1;
  int64_t index_stride = 0;
  int64_t mask_stride = 0;
  int64_t table_stride = 0;
  int64_t target_stride = 0;
  int64_t span = 0;     // bytes of the next run's source array that are prefetched meanwhile
  bool stream = false;  // use streaming stores where a target is a multiple of the unit
};

// Forces the compiler to use the indices in this register from here on instead of reading the array again, which
// another thread may write to meanwhile.
inline void pin_register(__m512i& value) {
  asm volatile("" : "+v"(value));
}

inline __mmask16 first_lanes(int64_t n) {
  return static_cast<__mmask16>((1U << n) - 1);
}

template <class Index>
inline __m512i load_narrow(const std::byte* source, __mmask16 live) {
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
inline __m256i positions_64(const PositionLimits& lanes, const std::byte* source, __mmask8 live) {
  __m512i value = _mm512_maskz_loadu_epi64(live, source);
  pin_register(value);
  if constexpr (std::is_signed_v<Index>) {
    value = _mm512_min_epu64(value, _mm512_add_epi64(value, _mm512_set1_epi64(lanes.from_end)));
    value = _mm512_max_epi64(value, _mm512_set1_epi64(lanes.lowest));
  }
  return _mm512_cvtusepi64_epi32(_mm512_min_epu64(value, _mm512_set1_epi64(lanes.highest)));
}

// Sixteen positions. The lanes in `outside` hold arbitrary numbers.
template <class Index>
inline __m512i positions_16(const PositionLimits& lanes, const std::byte* source, __mmask16 live, __mmask16& outside) {
  __m512i value;
  if constexpr (sizeof(Index) == 8) {
    const __m256i low = positions_64<Index>(lanes, source, static_cast<__mmask8>(live));
    const __m256i high = positions_64<Index>(lanes, source + 64, static_cast<__mmask8>(live >> 8));
    value = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  } else {
    value = load_narrow<Index>(source, live);
    pin_register(value);
    if constexpr (std::is_signed_v<Index>) {
      value = _mm512_min_epu32(value, _mm512_add_epi32(value, _mm512_set1_epi32(static_cast<int>(lanes.from_end))));
      value = _mm512_max_epi32(value, _mm512_set1_epi32(static_cast<int>(lanes.lowest >> 32)));
    }
    value = _mm512_min_epu32(value, _mm512_set1_epi32(static_cast<int>(lanes.highest)));
  }
  outside = _mm512_cmpge_epu32_mask(value, _mm512_set1_epi32(static_cast<int>(lanes.extent)));
  return value;
}

// Resolves the indices of n points, of which those whose `keep` is 0 are nowhere (null: none), and writes their
// positions in whole vectors. Returns false if an index that is kept lies outside. A position that is nowhere, or with
// kFill outside, becomes UINT32_MAX.
template <class Index, bool kFill, class Count>
GS_INLINE bool vector_positions(const PositionLimits& limits, const std::byte* source, const int8_t* keep, Count n,
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

GS_INLINE void store_line(std::byte* target, __m512i value, bool stream) {
  if (stream) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(target), value);
  } else {
    _mm512_storeu_si512(target, value);
  }
}

// A group of points whose positions are resolved, as numbers of units in the source array.
struct VectorGroup {
  alignas(64) uint32_t at[kGroup];         // 0 for a point that is nowhere, because unit 0 may be read
  __mmask16 inside[kGroup / kVectorStep];  // set unless all_inside
  bool all_inside = false;
  bool in_order = false;  // the units are contiguous
  bool stream = false;
  int64_t n = 0;
  const std::byte* table = nullptr;
  std::byte* target = nullptr;
  bool is_apart = false;                              // every unit is prefetched
  alignas(64) uint32_t wanted[kGroup + kVectorStep];  // otherwise: one unit of each line that is to be prefetched
  int lines = 0;
};

// The units by which the indexed side has advanced at sixteen points, and what sixteen points later adds to them.
struct Along {
  __m512i value;
  __m512i step;
};

inline Along along_from(const VectorAddressing& lanes, int64_t k) {
  if (!lanes.moving) return {_mm512_setzero_si512(), _mm512_setzero_si512()};
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return {_mm512_add_epi32(lane, _mm512_set1_epi32(static_cast<int>(k))), _mm512_set1_epi32(kVectorStep)};
}

template <class Index>
inline __m512i place_16(const VectorAddressing& lanes, const std::byte* source, __mmask16 live, Along& along,
                        __mmask16& outside) {
  const __m512i value = positions_16<Index>(lanes, source, live, outside);
  const __m512i position = _mm512_add_epi32(_mm512_sll_epi32(value, _mm_cvtsi32_si128(lanes.shift)), along.value);
  along.value = _mm512_add_epi32(along.value, along.step);
  return position;
}

// Returns true if the units of a group are contiguous. Comparing the two ends rejects nearly all groups that are not.
inline bool are_in_order(const VectorGroup& group) {
  if (!group.all_inside || group.at[group.n - 1] - group.at[0] != static_cast<uint32_t>(group.n - 1)) return false;
  __m512i expected = _mm512_add_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                      _mm512_set1_epi32(static_cast<int>(group.at[0])));
  __mmask16 other = 0;
  for (int64_t i = 0; i < group.n; i += kVectorStep) {
    other |= _mm512_cmpneq_epi32_mask(_mm512_load_si512(group.at + i), expected);
    expected = _mm512_add_epi32(expected, _mm512_set1_epi32(kVectorStep));
  }
  return other == 0;
}

// Places the points [k, k + n) of a run without a mask; n is a multiple of 16. Returns false if an index lies outside.
template <class Index, class Count>
GS_INLINE bool place_whole(const VectorAddressing& lanes, const VectorRun& run, int64_t k, Count n,
                           VectorGroup& group) {
  const std::byte* const source = run.index + k * static_cast<int64_t>(sizeof(Index));
  Along along = along_from(lanes, k);
  __mmask16 any = 0;
  __mmask16 outside[kGroup / kVectorStep];
  for (int64_t i = 0; i < n; i += kVectorStep) {
    const std::byte* const at = source + i * static_cast<int64_t>(sizeof(Index));
    _mm512_store_si512(group.at + i, place_16<Index>(lanes, at, 0xFFFF, along, outside[i / kVectorStep]));
    any |= outside[i / kVectorStep];
  }
  for (int64_t i = 0; any != 0 && i < n; i += kVectorStep) {
    group.inside[i / kVectorStep] = static_cast<__mmask16>(~outside[i / kVectorStep]);
    _mm512_mask_store_epi32(group.at + i, outside[i / kVectorStep], _mm512_setzero_si512());
  }
  pin_copy(group.at);
  group.all_inside = any == 0;
  group.in_order = are_in_order(group);
  return any == 0;
}

// Places the points [k, k + n) of a run, n <= kGroup. Returns false if an index that is not masked lies outside.
template <class Index>
inline bool place_some(const VectorAddressing& lanes, const VectorRun& run, int64_t k, int64_t n, VectorGroup& group) {
  Along along = along_from(lanes, k);
  __mmask16 bad = 0;
  for (int64_t i = 0; i < n; i += kVectorStep) {
    __mmask16 wanted = n - i >= kVectorStep ? 0xFFFF : first_lanes(n - i);
    __mmask16 outside = 0;
    const std::byte* const source = run.index + (k + i) * static_cast<int64_t>(sizeof(Index));
    const __m512i position = place_16<Index>(lanes, source, wanted, along, outside);
    if (run.mask != nullptr) {
      const __m128i mask = _mm_maskz_loadu_epi8(wanted, run.mask + k + i);
      wanted = _mm_test_epi8_mask(mask, mask);
    }
    bad |= static_cast<__mmask16>(wanted & outside);
    group.inside[i / kVectorStep] = static_cast<__mmask16>(wanted & ~outside);
    _mm512_store_si512(group.at + i, _mm512_maskz_mov_epi32(group.inside[i / kVectorStep], position));
  }
  pin_copy(group.at);
  group.all_inside = group.in_order = false;
  return bad == 0;
}

#endif

}  // namespace
}  // namespace gs::cpu::GS_ISA

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
