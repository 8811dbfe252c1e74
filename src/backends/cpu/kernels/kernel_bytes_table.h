// kernel_bytes_table.h: gathers by byte indices from lookup tables of at most 256 items of one or four bytes (palettes,
// say), which fit into four or sixteen registers. Included by wide_forms.h only. The code needs AVX-512 with VBMI,
// which level v4 does not promise, so a job sets `byte_table` only if this processor has it.
#pragma once

#include "backends/cpu/kernels/kernel_vector.h"

namespace gs::cpu::GS_ISA {
namespace {

#define GS_VBMI __attribute__((target("avx512vbmi")))

template <int kUnit>
struct ByteTable {
  alignas(64) std::byte value[256 * kUnit];
  alignas(64) std::byte fill[64];  // the fill value, repeated
  uint8_t last;                    // the last position
  uint8_t from_end;                // added to negative indices: the extent, modulo 256
  bool is_signed;
  bool clips;
  bool fills;
};

// The positions of 64 indices. Lanes of `live` whose index lies outside are set in `outside`.
template <int kUnit>
inline __m512i byte_positions(const ByteTable<kUnit>& table, __m512i index, __mmask64 live, __mmask64& outside) {
  asm volatile("" : "+v"(index));  // pinned in a register: the index that is checked is the index that is used
  if (table.is_signed) {
    index = _mm512_mask_add_epi8(index, _mm512_movepi8_mask(index), index,
                                 _mm512_set1_epi8(static_cast<char>(table.from_end)));
  }
  const __m512i last = _mm512_set1_epi8(static_cast<char>(table.last));
  if (table.clips) index = _mm512_min_epu8(index, last);
  outside = _mm512_mask_cmpgt_epu8_mask(live, index, last);
  return index;
}

inline __m512i load_part(const std::byte* part) {
  return _mm512_load_si512(part);
}

// The values of 64 positions in a table of bytes.
GS_VBMI inline __m512i look_up_bytes(const ByteTable<1>& table, __m512i position) {
  const std::byte* const value = table.value;
  const __m512i low = _mm512_permutex2var_epi8(load_part(value), position, load_part(value + 64));
  const __m512i high = _mm512_permutex2var_epi8(load_part(value + 128), position, load_part(value + 192));
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(position), low, high);
}

// The values of 16 positions, one in each byte, in a table of words. Bits 5 to 7 of a position say which pair of
// registers it is in.
inline __m512i look_up_words(const ByteTable<4>& table, __m128i position) {
  const __m512i lane = _mm512_cvtepu8_epi32(position);
  const auto pair = [&](int k) {
    const std::byte* const value = table.value + 128 * k;
    return _mm512_permutex2var_epi32(load_part(value), lane, load_part(value + 64));
  };
  const __mmask16 odd = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(32));
  const __mmask16 second = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(64));
  const __mmask16 upper = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(128));
  const auto quarter = [&](int k) { return _mm512_mask_blend_epi32(odd, pair(k), pair(k + 1)); };
  const __m512i low = _mm512_mask_blend_epi32(second, quarter(0), quarter(2));
  const __m512i high = _mm512_mask_blend_epi32(second, quarter(4), quarter(6));
  return _mm512_mask_blend_epi32(upper, low, high);
}

// Writes the values of the indices of `live` to `target`. Returns the lanes whose index lies outside.
GS_VBMI inline __mmask64 look_up(const ByteTable<1>& table, __m512i index, __mmask64 live, std::byte* target,
                                 bool stream) {
  __mmask64 outside = 0;
  const __m512i position = byte_positions(table, index, live, outside);
  __m512i value = look_up_bytes(table, position);
  if (table.fills) value = _mm512_mask_mov_epi8(value, outside, load_part(table.fill));
  if (live != ~__mmask64{0}) {
    _mm512_mask_storeu_epi8(target, live, value);
  } else {
    store_line(target, value, stream);
  }
  return outside;
}

GS_VBMI inline __mmask64 look_up(const ByteTable<4>& table, __m512i index, __mmask64 live, std::byte* target,
                                 bool stream) {
  __mmask64 outside = 0;
  const __m512i position = byte_positions(table, index, live, outside);
  const bool all = live == ~__mmask64{0};
  const auto write_quarter = [&](int quarter, __m128i bytes) {
    __m512i value = look_up_words(table, bytes);
    const auto outside_here = static_cast<__mmask16>(outside >> (16 * quarter));
    if (table.fills) value = _mm512_mask_mov_epi32(value, outside_here, load_part(table.fill));
    if (all) {
      store_line(target + 64 * quarter, value, stream);
    } else {
      _mm512_mask_storeu_epi32(target + 64 * quarter, static_cast<__mmask16>(live >> (16 * quarter)), value);
    }
  };
  write_quarter(0, _mm512_castsi512_si128(position));
  write_quarter(1, _mm512_extracti32x4_epi32(position, 1));
  write_quarter(2, _mm512_extracti32x4_epi32(position, 2));
  write_quarter(3, _mm512_extracti32x4_epi32(position, 3));
  return outside;
}

// Returns false if an index lies outside.
template <int kUnit>
GS_VBMI bool look_up_run(const ByteTable<kUnit>& given, const std::byte* source, std::byte* target, int64_t n,
                         bool stream) {
  const ByteTable<kUnit> table = given;  // a local copy, which stores to the target cannot change
  __mmask64 outside = 0;
  int64_t k = 0;
  const auto look_up_part = [&](int64_t count) GS_VBMI {
    const __mmask64 live = ~uint64_t{0} >> (64 - count);
    outside |= look_up(table, _mm512_maskz_loadu_epi8(live, source + k), live, target + k * kUnit, false);
    k += count;
  };
  const auto head = static_cast<int64_t>(-address_of(target) & (kLine - 1)) / kUnit;
  if (stream && head > 0 && n > 0) look_up_part(head < n ? head : n);
  for (; k + kLine <= n; k += kLine) {
    if constexpr (kUnit > 1) prefetch_ahead(address_of(source + k), kLine);
    outside |= look_up(table, _mm512_loadu_si512(source + k), ~__mmask64{0}, target + k * kUnit, stream);
  }
  if (k < n) look_up_part(n - k);
  return outside == 0;
}

template <int kUnit>
bool run_table_of(const Job& job, int64_t first, int64_t last) {
  const JobIndex& index = job.index[0];
  const int inner = job.rank - 1;
  const Bounds bounds = job.rule.bounds;
  ByteTable<kUnit> table;
  table.last = static_cast<uint8_t>(index.extent - 1);
  table.from_end = static_cast<uint8_t>(added_to_negative(index.extent, job.rule.negative));
  table.is_signed = index.type == IndexType::i8;
  table.clips = bounds == Bounds::clip;
  table.fills = bounds == Bounds::fill;
  for (int64_t k = 0; table.fills && k < kLine; k += kUnit) __builtin_memcpy(table.fill + k, job.fill, kUnit);
  const bool forbids = bounds == Bounds::raise || bounds == Bounds::deferred;

  Walk walk;
  seek(job, walk, first);
  for (int64_t left = last - first; left > 0;) {
    const int64_t in_run = job.extent[inner] - walk.at[inner];
    const int64_t n = left < in_run ? left : in_run;
    const std::byte* values = job.indexed + offset_at(job, walk, kIndexed);
    std::byte* const target = job.dense + offset_at(job, walk, kDense);
    __builtin_memset(table.value, 0, sizeof(table.value));
    __builtin_memcpy(table.value, values, static_cast<size_t>(index.extent * kUnit));
    // Units across lines cannot be streamed.
    const bool stream = job.stream && address_of(target) % kUnit == 0;
    const bool good = look_up_run(table, index.data + offset_at(job, walk, kIndex), target, n, stream);
    if (!good && forbids) return false;
    advance(job, walk, n);
    left -= n;
  }
  return true;
}

bool run_byte_table(const Job& job, int64_t first, int64_t last) {
  return job.unit == 1 ? run_table_of<1>(job, first, last) : run_table_of<4>(job, first, last);
}

#undef GS_VBMI

}  // namespace
}  // namespace gs::cpu::GS_ISA
