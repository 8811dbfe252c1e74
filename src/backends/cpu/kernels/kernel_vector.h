// kernel_vector.h: gathers of 4- and 8-byte units by 32-bit positions, with one load per unit, packed into registers.
// Lanes of masked points and of indices outside get the fill value instead of a loaded one. It is a kernel of AVX-512
// alone. Included by wide_forms.h only.
#pragma once

#include "backends/cpu/kernels/kernel_vector_place.h"

namespace gs::cpu::GS_ISA {
namespace {

// The lines of sixteen units, as numbers; -1 for those that are nowhere.
template <int kUnit>
inline __m512i lines_of(const VectorGroup& group, int64_t i, __mmask16 inside) {
  const auto start = static_cast<int>(address_of(group.table) % kLine / kUnit);
  const __m512i unit = _mm512_add_epi32(_mm512_load_si512(group.at + i), _mm512_set1_epi32(start));
  return _mm512_mask_srli_epi32(_mm512_set1_epi32(-1), inside, unit, kUnit == 4 ? 4 : 3);
}

// Lists the lines that a group reads, for prefetches. Neighbouring points on one line give one entry. Contiguous units,
// and those that follow the group before in small steps, give none, because the processor prefetches them itself. Where
// the first units lie on lines of their own, so probably do the others, and the list would cost more than it saves
// (Zen 5).
template <int kUnit>
inline void list_lines(VectorGroup& group, const VectorGroup& before) {
  group.lines = 0;
  group.is_apart = false;
  if (group.in_order) return;
  if (group.all_inside && group.n == kGroup) {
    const auto unit = [](const VectorGroup& of, int64_t k) {
      return address_of(of.table) + uint64_t{of.at[k]} * kUnit;
    };
    const Address last = before.n > 0 ? unit(before, before.n - 1) : 0;
    if (follow_closely(last, kGroup, kCloseSources, [&](int k) { return unit(group, k); })) return;
    const __m512i line = lines_of<kUnit>(group, 0, 0xFFFF);
    group.is_apart = _mm512_cmpeq_epi32_mask(line, _mm512_alignr_epi32(line, line, 15)) == 0;
    if (group.is_apart) return;
  }
  __m512i last_lines = _mm512_set1_epi32(-1);
  for (int64_t i = 0; i < group.n; i += kVectorStep) {
    const __mmask16 inside = group.all_inside ? 0xFFFF : group.inside[i / kVectorStep];
    const __m512i line = lines_of<kUnit>(group, i, inside);
    const __mmask16 other = _mm512_mask_cmpneq_epi32_mask(inside, line, _mm512_alignr_epi32(line, last_lines, 15));
    _mm512_storeu_si512(group.wanted + group.lines,
                        _mm512_maskz_compress_epi32(other, _mm512_load_si512(group.at + i)));
    group.lines += __builtin_popcount(other);
    last_lines = line;
  }
  pin_copy(group.wanted);
}

// Prefetches the lines of sixteen points, or sixteen of the listed lines, from `first` on.
template <int kUnit>
GS_INLINE void fetch_lines(const VectorGroup& group, int64_t first) {
  const auto fetch = [&](uint32_t unit) { prefetch(address_of(group.table) + uint64_t{unit} * kUnit); };
  if (group.is_apart) {
    for (int64_t j = first; j < first + kVectorStep; ++j) fetch(group.at[j]);
    return;
  }
  const int64_t end = first + kVectorStep < group.lines ? first + kVectorStep : group.lines;
  for (int64_t j = first; j < end; ++j) fetch(group.wanted[j]);
}

// Loads 16 bytes of units, one unit after the other into its lane.
template <int kUnit>
inline __m128i load_units(const std::byte* table, const uint32_t* position) {
  const auto place = [&](int i) { return table + uint64_t{position[i]} * kUnit; };
  if constexpr (kUnit == 8) {
    return _mm_insert_epi64(_mm_cvtsi64_si128(read<int64_t>(place(0))), read<int64_t>(place(1)), 1);
  } else {
    __m128i value = _mm_cvtsi32_si128(read<int32_t>(place(0)));
    value = _mm_insert_epi32(value, read<int32_t>(place(1)), 1);
    value = _mm_insert_epi32(value, read<int32_t>(place(2)), 2);
    return _mm_insert_epi32(value, read<int32_t>(place(3)), 3);
  }
}

template <int kUnit>
inline __m512i load_apart(const std::byte* table, const uint32_t* position) {
  constexpr int kEach = 16 / kUnit;
  const auto quarter = [&](int i) { return load_units<kUnit>(table, position + i * kEach); };
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(0)), quarter(1), 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(quarter(2)), quarter(3), 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

template <int kUnit>
inline __m512i load_gathered(const std::byte* table, const uint32_t* position) {
  if constexpr (kUnit == 8) {
    return _mm512_i32gather_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(position)), table, 8);
  } else {
    return _mm512_i32gather_epi32(_mm512_loadu_si512(position), table, 4);
  }
}

// Whether a gather instruction takes less or more time than one load per unit depends on the processor: less on a
// Xeon where the source array is cached, more on Zen 4.
template <int kUnit>
inline __m512i load_line(const std::byte* table, const uint32_t* position, bool gathers) {
  return gathers ? load_gathered<kUnit>(table, position) : load_apart<kUnit>(table, position);
}

// All moves are inline and hold the fields that they need in local copies: reading the fields again after streaming
// stores took three times as long where the source array is in L2.
template <int kUnit, class Count>
GS_INLINE void move_all(const VectorAddressing& lanes, const VectorGroup& group, const VectorGroup* next, Count n) {
  std::byte* const target = group.target;
  const std::byte* const table = group.table;
  const bool stream = group.stream;
  const bool gathers = lanes.gathers;
  for (int64_t i = 0; i < n; i += kVectorStep) {
    if (next != nullptr) fetch_lines<kUnit>(*next, i);
    for (int64_t j = i; j < i + kVectorStep; j += kLine / kUnit) {
      store_line(target + j * kUnit, load_line<kUnit>(table, group.at + j, gathers), stream);
    }
  }
}

// As move_all, for groups with points that are nowhere or with a last line that is not whole.
template <int kUnit>
GS_INLINE void move_inside(const VectorAddressing& lanes, const VectorGroup& group, const VectorGroup* next) {
  for (int64_t i = 0; i < group.n; i += kVectorStep) {
    if (next != nullptr) fetch_lines<kUnit>(*next, i);
    __mmask16 live = group.n - i >= kVectorStep ? 0xFFFF : Simd::first_lanes(group.n - i);
    __mmask16 inside = group.inside[i / kVectorStep];
    for (int64_t j = i; j < i + kVectorStep; j += kLine / kUnit) {
      std::byte* const target = group.target + j * kUnit;
      const __m512i value = load_line<kUnit>(group.table, group.at + j, lanes.gathers);
      const __m512i result = kUnit == 4 ? _mm512_mask_mov_epi32(lanes.fill, inside, value)
                                        : _mm512_mask_mov_epi64(lanes.fill, static_cast<__mmask8>(inside), value);
      if (group.n - i >= kVectorStep) {
        store_line(target, result, group.stream);
      } else if (kUnit == 4) {
        _mm512_mask_storeu_epi32(target, live, result);
      } else {
        _mm512_mask_storeu_epi64(target, static_cast<__mmask8>(live), result);
      }
      inside = static_cast<__mmask16>(inside >> (kLine / kUnit % kVectorStep));
      live = static_cast<__mmask16>(live >> (kLine / kUnit % kVectorStep));
    }
  }
}

// Moves a group and prefetches the lines of the next group meanwhile.
template <int kUnit>
GS_INLINE void move_vectors(const VectorAddressing& lanes, const VectorGroup& group, const VectorGroup* next) {
  int64_t fetched = (group.n + kVectorStep - 1) / kVectorStep * kVectorStep;
  if (group.in_order) {
    const std::byte* const source = group.table + uint64_t{group.at[0]} * kUnit;
    const int64_t bytes = group.n * kUnit;
    if (next != nullptr) prefetch_unit(address_of(source) + kTableAhead, bytes);
    group.stream ? stream_bytes(group.target, source, bytes) : copy_bytes(group.target, source, bytes);
    fetched = 0;
  } else if (!group.all_inside) {
    move_inside<kUnit>(lanes, group, next);
  } else if (group.n == kGroup) {
    move_all<kUnit>(lanes, group, next, FullElementGroup{});
  } else {
    move_all<kUnit>(lanes, group, next, group.n);
  }
  for (; next != nullptr && fetched < kGroup; fetched += kVectorStep) fetch_lines<kUnit>(*next, fetched);
}

// Moves the group that is left at the end. It is the only move that is not inlined.
template <int kUnit>
void move_last(const VectorAddressing& lanes, const VectorGroup& group) {
  move_vectors<kUnit>(lanes, group, nullptr);
}

// The number of points before the first whole line of a streamed result.
template <int kUnit>
inline int64_t points_before_line(const VectorRun& run) {
  const auto head = static_cast<int64_t>(-address_of(run.target) & (kLine - 1)) / kUnit;
  return head < run.n ? head : run.n;
}

// Gathers runs at constant strides from each other. Returns false if there is a bad index.
template <class Index, int kUnit>
bool vector_runs(const VectorAddressing& given, const VectorRuns& given_runs) {
  // Local copies: otherwise the compiler has to assume that stores to the target change them.
  const VectorAddressing lanes = given;
  const VectorRuns runs = given_runs;
  VectorRun run = runs.run;
  const auto index_bytes = run.n * static_cast<int64_t>(sizeof(Index));
  VectorGroup groups[2];
  VectorGroup* group = &groups[0];
  VectorGroup* waiting = &groups[1];
  // Short runs of indices that are not contiguous with each other are prefetched as a whole.
  const bool apart = runs.count > 1 && index_bytes < kShortRunBytes && runs.index_stride != index_bytes;
  // The groups of this run share the prefetches of the next run's source array.
  const int64_t lines = (runs.span + kLine - 1) / kLine;
  const int64_t share = lines == 0 ? 0 : (lines * kGroup + run.n - 1) / run.n;
  bool good = true;
  for (int64_t r = 0; r < runs.count; ++r) {
    const bool stream = runs.stream && address_of(run.target) % kUnit == 0;
    if (apart) {
      prefetch_unit(address_of(run.index) + static_cast<uint64_t>(kRunsAhead * runs.index_stride), index_bytes);
    }
    const Address next_table = address_of(run.table) + static_cast<uint64_t>(runs.table_stride);
    int64_t prefetched = 0;
    int64_t n = stream ? points_before_line<kUnit>(run) : 0;
    for (int64_t k = 0; k < run.n; k += n, n = 0) {
      const int64_t left = run.n - k;
      if (n == 0) n = left >= kGroup ? kGroup : left >= kVectorStep ? left / kVectorStep * kVectorStep : left;
      if (!apart) prefetch_ahead(address_of(run.index) + static_cast<uint64_t>(k) * sizeof(Index), n * sizeof(Index));
      for (const int64_t end = prefetched + share < lines ? prefetched + share : lines; prefetched < end;
           ++prefetched) {
        prefetch(next_table + static_cast<uint64_t>(prefetched * kLine));
      }
      group->n = n;
      group->table = run.table;
      group->target = run.target + k * kUnit;
      group->stream = stream;
      good &= n % kVectorStep != 0 || run.mask != nullptr ? place_some<Index>(lanes, run, k, n, *group)
              : n == kGroup ? place_whole<Index>(lanes, run, k, FullElementGroup{}, *group)
                            : place_whole<Index>(lanes, run, k, n, *group);
      if (!lanes.ahead) {
        move_vectors<kUnit>(lanes, *group, nullptr);
        continue;
      }
      list_lines<kUnit>(*group, *waiting);
      move_vectors<kUnit>(lanes, *waiting, group);
      VectorGroup* const placed = group;
      group = waiting;
      waiting = placed;
    }
    run.index += runs.index_stride;
    if (run.mask != nullptr) run.mask += runs.mask_stride;
    run.table += runs.table_stride;
    run.target += runs.target_stride;
  }
  if (lanes.ahead) move_last<kUnit>(lanes, *waiting);
  return good || !lanes.forbids;
}

using RunVectors = bool (*)(const VectorAddressing&, const VectorRuns&);

template <int kUnit>
RunVectors vector_for(IndexType type) {
  constexpr RunVectors forms[] = {vector_runs<int8_t, kUnit>,   vector_runs<int16_t, kUnit>,
                                  vector_runs<int32_t, kUnit>,  vector_runs<int64_t, kUnit>,
                                  vector_runs<uint8_t, kUnit>,  vector_runs<uint16_t, kUnit>,
                                  vector_runs<uint32_t, kUnit>, vector_runs<uint64_t, kUnit>};
  return forms[static_cast<int>(type)];
}

bool run_vectors(const Job& job, int64_t first, int64_t last) {
  const JobIndex& index = job.index[0];
  const int inner = job.rank - 1;
  const Bounds bounds = job.rule.bounds;
  const RunVectors run_them = job.unit == 4 ? vector_for<4>(index.type) : vector_for<8>(index.type);
  VectorAddressing lanes(index.extent, added_to_negative(index.extent, job.rule.negative), bounds == Bounds::clip);
  lanes.gathers = job.gathers;
  lanes.forbids = bounds == Bounds::raise || bounds == Bounds::deferred;
  lanes.ahead = job.ahead == Ahead::points;
  lanes.shift = __builtin_ctzll(static_cast<uint64_t>(index.step / job.unit));
  lanes.moving = stride_of(job, kIndexed, inner) != 0;
  lanes.fill = _mm512_setzero_si512();
  if (job.nowhere == Nowhere::read_one) {
    lanes.fill =
        job.unit == 4 ? _mm512_set1_epi32(read<int32_t>(job.fill)) : _mm512_set1_epi64(read<int64_t>(job.fill));
  }

  Walk walk;
  seek(job, walk, first);
  for (int64_t left = last - first; left > 0;) {
    const int64_t in_run = job.extent[inner] - walk.at[inner];
    VectorRuns runs;
    VectorRun& run = runs.run;
    run.n = left < in_run ? left : in_run;
    run.index = index.data + offset_at(job, walk, kIndex);
    run.mask = job.masked ? job.mask + offset_at(job, walk, kMask) : nullptr;
    run.table = job.indexed + offset_at(job, walk, kIndexed);
    run.target = job.dense + offset_at(job, walk, kDense);
    runs.stream = job.stream;
    if (inner > 0) {
      runs.index_stride = stride_of(job, kIndex, inner - 1);
      runs.mask_stride = stride_of(job, kMask, inner - 1);
      runs.table_stride = stride_of(job, kIndexed, inner - 1);
      runs.target_stride = stride_of(job, kDense, inner - 1);
      runs.span = job.ahead == Ahead::runs ? job.run_span : 0;
      if (walk.at[inner] == 0 && left >= job.extent[inner]) {
        const int64_t in_matrix = job.extent[inner - 1] - walk.at[inner - 1];
        runs.count = left / run.n < in_matrix ? left / run.n : in_matrix;
      }
    }
    if (!run_them(lanes, runs)) return false;
    advance(job, walk, runs.count * run.n);
    left -= runs.count * run.n;
  }
  return true;
}

}  // namespace
}  // namespace gs::cpu::GS_ISA
