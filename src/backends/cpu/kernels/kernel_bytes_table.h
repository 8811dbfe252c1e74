// kernel_bytes_table.h: gathers of bytes by byte indices from lookup tables of at most 256 bytes (palettes, say), which
// fit into four registers. Included by kernel_blocks.cpp only, once for every instruction set level. The code needs
// AVX-512 with VBMI, which level v4 does not promise, so a job sets `byte_table` only if this processor has it.
#pragma once

#include "backends/cpu/kernels/kernel_vector.h"

namespace gs::cpu::GS_ISA {
namespace {

#if defined(__AVX512BW__)

#define GS_VBMI __attribute__((target("avx512vbmi")))

struct ByteTable {
  alignas(64) uint8_t value[256];
  uint8_t last;      // the last position
  uint8_t from_end;  // added to negative indices: the extent, modulo 256
  uint8_t fill;
  bool is_signed;
  bool clips;
  bool fills;
};

// The values of 64 indices. Lanes of `live` whose index lies outside get the fill value if the rule fills, else they
// are added to `bad`.
GS_VBMI inline __m512i look_up(const ByteTable& table, __m512i index, __mmask64 live, __mmask64& bad) {
  asm volatile("" : "+v"(index));  // pinned in a register: the index that is checked is the index that is used
  if (table.is_signed) {
    index = _mm512_mask_add_epi8(index, _mm512_movepi8_mask(index), index,
                                 _mm512_set1_epi8(static_cast<char>(table.from_end)));
  }
  const __m512i last = _mm512_set1_epi8(static_cast<char>(table.last));
  if (table.clips) index = _mm512_min_epu8(index, last);
  const __mmask64 outside = _mm512_mask_cmpgt_epu8_mask(live, index, last);
  const __m512i low =
      _mm512_permutex2var_epi8(_mm512_load_si512(table.value), index, _mm512_load_si512(table.value + 64));
  const __m512i high =
      _mm512_permutex2var_epi8(_mm512_load_si512(table.value + 128), index, _mm512_load_si512(table.value + 192));
  const __m512i value = _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high);
  if (!table.fills) {
    bad |= outside;
    return value;
  }
  return _mm512_mask_blend_epi8(outside, value, _mm512_set1_epi8(static_cast<char>(table.fill)));
}

GS_VBMI bool look_up_run(const ByteTable& given, const std::byte* source, std::byte* target, int64_t n, bool stream) {
  const ByteTable table = given;  // a local copy, which stores to the target cannot change
  __mmask64 bad = 0;
  int64_t k = 0;
  const auto look_up_part = [&](int64_t count) GS_VBMI {
    const __mmask64 live = ~uint64_t{0} >> (64 - count);
    _mm512_mask_storeu_epi8(target + k, live, look_up(table, _mm512_maskz_loadu_epi8(live, source + k), live, bad));
    k += count;
  };
  const auto head = static_cast<int64_t>(-address_of(target) & (kLine - 1));
  if (stream && head > 0 && n > 0) look_up_part(head < n ? head : n);
  for (; k + kLine <= n; k += kLine) {
    const __m512i value = look_up(table, _mm512_loadu_si512(source + k), ~__mmask64{0}, bad);
    if (stream) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(target + k), value);
    } else {
      _mm512_storeu_si512(target + k, value);
    }
  }
  if (k < n) look_up_part(n - k);
  return bad == 0;
}

bool run_byte_table(const Job& job, int64_t first, int64_t last) {
  const JobIndex& index = job.index[0];
  const int inner = job.rank - 1;
  const Bounds bounds = job.rule.bounds;
  ByteTable table;
  table.last = static_cast<uint8_t>(index.extent - 1);
  table.from_end = job.rule.negative == Negative::from_end ? static_cast<uint8_t>(index.extent) : 0;
  table.is_signed = index.type == IndexType::i8;
  table.clips = bounds == Bounds::clip;
  table.fills = bounds == Bounds::fill;
  table.fill = table.fills ? read<uint8_t>(job.fill) : uint8_t{0};
  const bool forbids = bounds == Bounds::raise || bounds == Bounds::deferred;

  Walk walk;
  seek(job, walk, first);
  for (int64_t left = last - first; left > 0;) {
    const int64_t in_run = job.extent[inner] - walk.at[inner];
    const int64_t n = left < in_run ? left : in_run;
    const std::byte* values = job.indexed + offset_at(job, walk, kIndexed);
    __builtin_memset(table.value, 0, sizeof(table.value));
    __builtin_memcpy(table.value, values, static_cast<size_t>(index.extent));
    const bool good = look_up_run(table, index.data + offset_at(job, walk, kIndex),
                                  job.dense + offset_at(job, walk, kDense), n, job.stream);
    if (!good && forbids) return false;
    advance(job, walk, n);
    left -= n;
  }
  return true;
}

#undef GS_VBMI

#else
bool run_byte_table(const Job&, int64_t, int64_t) {
  return false;
}
#endif

}  // namespace
}  // namespace gs::cpu::GS_ISA
