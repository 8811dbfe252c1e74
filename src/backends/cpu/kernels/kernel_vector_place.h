// kernel_vector_place.h: places groups of points as 32-bit positions, sixteen at a time, in registers of AVX-512.
// Included by kernel_vector.h only.
#pragma once

#include "backends/cpu/kernels/kernel_elements.h"

namespace gs::cpu::GS_ISA {
namespace {

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
  const __m512i lane = Simd::lanes_32();
  return {_mm512_add_epi32(lane, _mm512_set1_epi32(static_cast<int>(k))), _mm512_set1_epi32(kVectorStep)};
}

template <class Index>
inline __m512i place_16(const VectorAddressing& lanes, const std::byte* source, __mmask16 live, Along& along,
                        __mmask16& outside) {
  const __m512i value = Simd::positions_16<Index>(lanes, source, live, outside);
  const __m512i position = _mm512_add_epi32(_mm512_sll_epi32(value, _mm_cvtsi32_si128(lanes.shift)), along.value);
  along.value = _mm512_add_epi32(along.value, along.step);
  return position;
}

// Returns true if the units of a group are contiguous. Comparing the two ends rejects nearly all groups that are not.
inline bool are_in_order(const VectorGroup& group) {
  if (!group.all_inside || group.at[group.n - 1] - group.at[0] != static_cast<uint32_t>(group.n - 1)) return false;
  __m512i expected = _mm512_add_epi32(Simd::lanes_32(), _mm512_set1_epi32(static_cast<int>(group.at[0])));
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
    __mmask16 wanted = n - i >= kVectorStep ? 0xFFFF : Simd::first_lanes(n - i);
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

}  // namespace
}  // namespace gs::cpu::GS_ISA
