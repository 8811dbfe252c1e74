// kernel_vector.h: gathers of 4 and 8 bytes whose indices are checked and narrowed to 32 bits in registers. Then single
// loads, or the processor's gather instructions, for which a mask, padding and a bad index are lanes that are left out.
// Included by kernels.cpp only, once for every instruction set level; AVX-512 has it.
#pragma once

#include "backends/cpu/kernel_elements.h"

// GCC 12 takes the undefined operands inside of its own intrinsics for ours (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace gs::cpu::GS_ISA {
namespace {

#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

inline constexpr bool kHasVectors = true;
inline constexpr int kVectorStep = 16;  // points in a register of 32-bit positions
inline constexpr int kRunsAhead = 4;  // of short runs, whose indices are far apart: so many of them later is asked for

// What the points of a job have in common.
struct Lanes {
  int64_t extent;
  int64_t from_end;  // the extent, or 0 where negative values are outside
  bool clips;
  bool judges;       // an index outside is an error
  bool by_loads;     // single loads, not gather instructions
  bool ahead;        // lines are fetched a group before they are gathered from
  int shift;         // of positions, to units
  __mmask16 moving;  // all, if the indexed side advances by a unit from point to point, else none
  __m512i fill;
};

// One run of the innermost axis.
struct VectorRun {
  const std::byte* index;
  const std::byte* mask;  // null: none
  const std::byte* table;
  std::byte* target;
  int64_t n;
  bool stream;
};

// From here on the compiler must take the indices from the register: somebody may be writing into the array.
inline void settle_register(__m512i& value) {
  asm volatile("" : "+v"(value));
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

// Eight positions under the rule, and which of them lie outside.
template <class Index>
inline __m256i positions_64(const Lanes& lanes, const std::byte* source, __mmask8 live, __mmask8& outside) {
  __m512i value = _mm512_maskz_loadu_epi64(live, source);
  settle_register(value);
  const __m512i extent = _mm512_set1_epi64(lanes.extent);
  if constexpr (std::is_signed_v<Index>) {
    value = _mm512_mask_add_epi64(value, _mm512_movepi64_mask(value), value, _mm512_set1_epi64(lanes.from_end));
    if (lanes.clips) value = _mm512_max_epi64(value, _mm512_setzero_si512());
  }
  if (lanes.clips) value = _mm512_min_epu64(value, _mm512_set1_epi64(lanes.extent - 1));
  outside = _mm512_cmpge_epu64_mask(value, extent);
  return _mm512_cvtepi64_epi32(value);
}

// Sixteen of them; those outside are any number.
template <class Index>
inline __m512i positions_16(const Lanes& lanes, const std::byte* source, __mmask16 live, __mmask16& outside) {
  if constexpr (sizeof(Index) == 8) {
    __mmask8 low_outside = 0;
    __mmask8 high_outside = 0;
    const __m256i low = positions_64<Index>(lanes, source, static_cast<__mmask8>(live), low_outside);
    const __m256i high = positions_64<Index>(lanes, source + 64, static_cast<__mmask8>(live >> 8), high_outside);
    outside = static_cast<__mmask16>(low_outside | (high_outside << 8));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  } else {
    __m512i value = load_narrow<Index>(source, live);
    settle_register(value);
    const auto extent = static_cast<int>(lanes.extent);
    if constexpr (std::is_signed_v<Index>) {
      const __mmask16 negative = _mm512_movepi32_mask(value);
      value = _mm512_mask_add_epi32(value, negative, value, _mm512_set1_epi32(static_cast<int>(lanes.from_end)));
      if (lanes.clips) value = _mm512_max_epi32(value, _mm512_setzero_si512());
    }
    if (lanes.clips) value = _mm512_min_epu32(value, _mm512_set1_epi32(extent - 1));
    outside = _mm512_cmpge_epu32_mask(value, _mm512_set1_epi32(extent));
    return value;
  }
}

// The units at these positions, or the fill value.
template <int kUnit>
inline void gather_16(const Lanes& lanes, const std::byte* table, __m512i position, __mmask16 inside, __m512i* value) {
  if constexpr (kUnit == 4) {
    value[0] = _mm512_mask_i32gather_epi32(lanes.fill, inside, position, table, 4);
  } else {
    const __m256i low = _mm512_castsi512_si256(position);
    const __m256i high = _mm512_extracti64x4_epi64(position, 1);
    value[0] = _mm512_mask_i32gather_epi64(lanes.fill, static_cast<__mmask8>(inside), low, table, 8);
    value[1] = _mm512_mask_i32gather_epi64(lanes.fill, static_cast<__mmask8>(inside >> 8), high, table, 8);
  }
}

// Sixteen points: their positions in units of the run's table, the lanes that have one, and those that must not be.
struct Placed {
  __m512i position;
  __mmask16 inside;
  __mmask16 bad;
};

template <class Index>
inline Placed place_16(const Lanes& lanes, const VectorRun& run, int64_t k, __mmask16 live) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  __mmask16 outside = 0;
  __m512i position = positions_16<Index>(lanes, run.index + k * static_cast<int64_t>(sizeof(Index)), live, outside);
  __mmask16 wanted = live;
  if (run.mask != nullptr) {
    const __m128i mask = _mm_maskz_loadu_epi8(live, run.mask + k);
    wanted = _mm_test_epi8_mask(mask, mask);
  }
  const __m512i along = _mm512_add_epi32(lane, _mm512_set1_epi32(static_cast<int>(k)));
  position = _mm512_sll_epi32(position, _mm_cvtsi32_si128(lanes.shift));
  position = _mm512_mask_add_epi32(position, lanes.moving, position, along);
  return {position, static_cast<__mmask16>(wanted & ~outside), static_cast<__mmask16>(wanted & outside)};
}

template <int kUnit, bool kWhole>
inline void store_16(const VectorRun& run, int64_t k, __mmask16 live, const __m512i* value) {
  std::byte* const target = run.target + k * kUnit;
  for (int i = 0; i < kUnit / 4; ++i) {
    if (!kWhole && kUnit == 4) {
      _mm512_mask_storeu_epi32(target, live, value[i]);
    } else if (!kWhole) {
      _mm512_mask_storeu_epi64(target + i * kLine, static_cast<__mmask8>(live >> (8 * i)), value[i]);
    } else if (run.stream) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(target + i * kLine), value[i]);
    } else {
      _mm512_storeu_si512(target + i * kLine, value[i]);
    }
  }
}

// Points [k, k + 16) of a run, or those of them that are live; gives the bad ones.
template <class Index, int kUnit, bool kWhole>
inline __mmask16 vector_step(const Lanes& lanes, const VectorRun& run, int64_t k, __mmask16 live) {
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const Placed at = place_16<Index>(lanes, run, k, live);
  __m512i value[kUnit / 4];
  const __m512i in_order = _mm512_add_epi32(_mm512_broadcastd_epi32(_mm512_castsi512_si128(at.position)), lane);
  if (_mm512_mask_cmpeq_epi32_mask(at.inside, at.position, in_order) == 0xFFFF) {
    const std::byte* const first = run.table + int64_t{_mm512_cvtsi512_si32(at.position)} * kUnit;
    for (int i = 0; i < kUnit / 4; ++i) value[i] = _mm512_loadu_si512(first + i * kLine);
  } else {
    gather_16<kUnit>(lanes, run.table, at.position, at.inside, value);
  }
  store_16<kUnit, kWhole>(run, k, live, value);
  return at.bad;
}

// Points [k, k + n) of a run without a mask or padding, n a multiple of 16: positions in private memory, then one load
// each. Faster than gather instructions unless the result must lie in registers to be streamed.
template <class Index, int kUnit>
inline __mmask16 load_group(const Lanes& lanes, const VectorRun& run, int64_t k, int64_t n) {
  alignas(64) uint32_t place[kGroup];
  __mmask16 bad = 0;
  for (int64_t i = 0; i < n; i += kVectorStep) {
    const Placed at = place_16<Index>(lanes, run, k + i, 0xFFFF);
    _mm512_store_si512(place + i, _mm512_maskz_mov_epi32(at.inside, at.position));
    bad |= at.bad;
  }
  settle_reads(place);
  std::byte* const target = run.target + k * kUnit;
  for (int64_t i = 0; i < n; i += kVectorStep) {
    for (int64_t j = i; j < i + kVectorStep; ++j) {
      __builtin_memcpy(target + j * kUnit, run.table + uint64_t{place[j]} * kUnit, kUnit);
    }
  }
  return bad;
}

// A group whose positions are known and whose lines are on their way.
struct Waiting {
  alignas(64) uint32_t place[kGroup];
  __mmask16 inside[kGroup / kVectorStep];
  int64_t k;
  int64_t n = 0;
};

// Points [k, k + n), n a multiple of 16. Only what is wanted is fetched: with a mask that is less than half of it here
// and there.
template <class Index, int kUnit>
inline __mmask16 place_ahead(const Lanes& lanes, const VectorRun& run, int64_t k, int64_t n, Waiting& waiting) {
  alignas(64) uint32_t wanted[kGroup + kVectorStep];
  int count = 0;
  __mmask16 bad = 0;
  for (int64_t i = 0; i < n; i += kVectorStep) {
    const Placed at = place_16<Index>(lanes, run, k + i, 0xFFFF);
    _mm512_store_si512(waiting.place + i, at.position);
    waiting.inside[i / kVectorStep] = at.inside;
    _mm512_storeu_si512(wanted + count, _mm512_maskz_compress_epi32(at.inside, at.position));
    count += __builtin_popcount(at.inside);
    bad |= at.bad;
  }
  settle_reads(wanted);
  keep_prefetches();
  for (int j = 0; j < count; ++j) prefetch(address_of(run.table) + uint64_t{wanted[j]} * kUnit);
  waiting.k = k;
  waiting.n = n;
  return bad;
}

template <int kUnit>
inline void gather_waiting(const Lanes& lanes, const VectorRun& run, const Waiting& waiting) {
  for (int64_t i = 0; i < waiting.n; i += kVectorStep) {
    __m512i value[kUnit / 4];
    gather_16<kUnit>(lanes, run.table, _mm512_load_si512(waiting.place + i), waiting.inside[i / kVectorStep], value);
    store_16<kUnit, true>(run, waiting.k + i, 0xFFFF, value);
  }
}

inline __mmask16 first_lanes(int64_t n) {
  return static_cast<__mmask16>((1U << n) - 1);
}

// False if there is a bad index. `next_bytes` at `next_table` are fetched on the way.
template <class Index, int kUnit>
bool vector_run(const Lanes& given, const VectorRun& given_run, Address next_table, int64_t next_bytes) {
  const Lanes lanes = given;  // own copies: the compiler must not think that stores to the target change them
  const VectorRun run = given_run;
  constexpr int64_t size = sizeof(Index);
  __mmask16 bad = 0;
  int64_t k = 0;
  if (run.stream) {  // up to the first whole line
    const auto head = static_cast<int64_t>(-address_of(run.target) & (kLine - 1)) / kUnit;
    k = head < run.n ? head : run.n;
    if (k > 0) bad |= vector_step<Index, kUnit, false>(lanes, run, 0, first_lanes(k));
  }
  Waiting waiting[2];
  int turn = 0;
  while (run.n - k >= kVectorStep) {
    const int64_t n = run.n - k < kGroup ? (run.n - k) / kVectorStep * kVectorStep : kGroup;
    prefetch_ahead(address_of(run.index + k * size), n * size);
    if (next_bytes > 0) prefetch_share(next_table, next_bytes, k, kGroup, run.n);
    if (lanes.by_loads) {
      bad |= load_group<Index, kUnit>(lanes, run, k, n);
      k += n;
      continue;
    }
    if (lanes.ahead) {
      bad |= place_ahead<Index, kUnit>(lanes, run, k, n, waiting[turn]);
      turn ^= 1;
      gather_waiting<kUnit>(lanes, run, waiting[turn]);
      k += n;
      continue;
    }
    for (const int64_t end = k + n; k < end; k += kVectorStep)
      bad |= vector_step<Index, kUnit, true>(lanes, run, k, 0xFFFF);
  }
  if (lanes.ahead) gather_waiting<kUnit>(lanes, run, waiting[turn ^ 1]);
  if (k < run.n) bad |= vector_step<Index, kUnit, false>(lanes, run, k, first_lanes(run.n - k));
  return bad == 0 || !lanes.judges;
}

using RunVector = bool (*)(const Lanes&, const VectorRun&, Address, int64_t);

template <int kUnit>
RunVector vector_for(IndexType type) {
  constexpr RunVector forms[] = {vector_run<int8_t, kUnit>,   vector_run<int16_t, kUnit>, vector_run<int32_t, kUnit>,
                                 vector_run<int64_t, kUnit>,  vector_run<uint8_t, kUnit>, vector_run<uint16_t, kUnit>,
                                 vector_run<uint32_t, kUnit>, vector_run<uint64_t, kUnit>};
  return forms[static_cast<int>(type)];
}

bool run_vectors(const Job& job, int64_t first, int64_t last) {
  const JobIndex& index = job.index[0];
  const int inner = job.rank - 1;
  const Bounds bounds = job.rule.bounds;
  const RunVector run_it = job.unit == 4 ? vector_for<4>(index.type) : vector_for<8>(index.type);
  Lanes lanes;
  lanes.extent = index.extent;
  lanes.from_end = job.rule.negative == Negative::from_end ? index.extent : 0;
  lanes.clips = bounds == Bounds::clip;
  lanes.judges = bounds == Bounds::raise || bounds == Bounds::deferred;
  lanes.by_loads = !job.stream && !job.masked && bounds != Bounds::fill;
  lanes.ahead = job.ahead == Ahead::points;
  lanes.shift = __builtin_ctzll(static_cast<uint64_t>(index.step / job.unit));
  lanes.moving = stride_of(job, kIndexed, inner) == 0 ? 0 : 0xFFFF;
  lanes.fill = _mm512_setzero_si512();
  if (job.nowhere == Nowhere::read_one) {
    lanes.fill =
        job.unit == 4 ? _mm512_set1_epi32(read<int32_t>(job.fill)) : _mm512_set1_epi64(read<int64_t>(job.fill));
  }

  Walk walk;
  seek(job, walk, first);
  for (int64_t left = last - first; left > 0;) {
    const int64_t in_run = job.extent[inner] - walk.at[inner];
    VectorRun run;
    run.n = left < in_run ? left : in_run;
    run.index = index.data + offset_at(job, walk, kIndex);
    run.mask = job.masked ? job.mask + offset_at(job, walk, kMask) : nullptr;
    run.table = job.indexed + offset_at(job, walk, kIndexed);
    run.target = job.dense + offset_at(job, walk, kDense);
    // Whole runs of one matrix follow each other by constant strides.
    int64_t runs = 1;
    if (inner > 0 && walk.at[inner] == 0 && left >= job.extent[inner]) {
      const int64_t in_matrix = job.extent[inner - 1] - walk.at[inner - 1];
      runs = left / run.n < in_matrix ? left / run.n : in_matrix;
    }
    const auto stride = [&](int operand) { return inner == 0 ? 0 : stride_of(job, operand, inner - 1); };
    const int64_t index_bytes = run.n * index_size(index.type);
    const bool is_short = index_bytes < kIndexAhead / kRunsAhead;
    for (int64_t r = 0; r < runs; ++r) {
      // Rows of the result need not lie at multiples of a unit, all of them or some.
      run.stream = job.stream && address_of(run.target) % static_cast<uint64_t>(job.unit) == 0;
      if (is_short)
        prefetch_unit(address_of(run.index) + static_cast<uint64_t>(kRunsAhead * stride(kIndex)), index_bytes);
      const Address next = address_of(run.table) + static_cast<uint64_t>(stride(kIndexed));
      if (!run_it(lanes, run, next, job.ahead == Ahead::runs ? job.run_span : 0)) return false;
      run.index += stride(kIndex);
      if (run.mask != nullptr) run.mask += stride(kMask);
      run.table += stride(kIndexed);
      run.target += stride(kDense);
    }
    advance(job, walk, runs * run.n);
    left -= runs * run.n;
  }
  return true;
}

#else
inline constexpr bool kHasVectors = false;

bool run_vectors(const Job&, int64_t, int64_t) {
  return false;
}
#endif

}  // namespace
}  // namespace gs::cpu::GS_ISA

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
