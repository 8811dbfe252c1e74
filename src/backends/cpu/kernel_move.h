// kernel_move.h: stage 2 of a kernel: moves the units of a block whose addresses are known. Dispatches on sizes only.
// Included by kernels.cpp only, once for every instruction set level.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "backends/cpu/kernel_place.h"

namespace gs::cpu::GS_ISA {
namespace {

inline constexpr int64_t kStage = 16384;       // bytes gathered in private before they are streamed out
inline constexpr int64_t kAheadBytes = 16384;  // longer rows are left to the hardware's own prefetcher

// ---- bytes

// `target` is aligned to a line.
inline void stream_line(std::byte* target, const std::byte* source) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(target), _mm512_loadu_si512(source));
#elif defined(__AVX__)
  for (int i = 0; i < 64; i += 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(target + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + i)));
  }
#elif defined(__SSE2__)
  for (int i = 0; i < 64; i += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(target + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i)));
  }
#else
  copy_line(target, source);
#endif
}

inline void finish_streaming() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// Whole lines of the target bypass the caches, what is left at both ends does not.
void stream_bytes(std::byte* target, const std::byte* source, int64_t n) {
  const int64_t head = static_cast<int64_t>(-address_of(target) & (kLine - 1));
  if (n < head + kLine) return copy_bytes(target, source, n);
  copy_bytes(target, source, head);
  int64_t i = head;
  for (; i + kLine <= n; i += kLine) stream_line(target + i, source + i);
  copy_bytes(target + i, source + i, n - i);
}

// The item at `fill` again and again, beginning with its byte `phase`.
void write_fill(std::byte* target, int64_t n, const std::byte* fill, int64_t item, int64_t phase) {
  if (fill == nullptr) {
    __builtin_memset(target, 0, static_cast<size_t>(n));
    return;
  }
  int64_t i = item - phase < n ? item - phase : n;
  copy_bytes(target, fill + phase, i);
  for (; i + item <= n; i += item) copy_bytes(target + i, fill, item);
  copy_bytes(target + i, fill, n - i);
}

// ---- prefetch

// The share of a run's table that corresponds to the points [k, k + group) of a run of n.
inline void prefetch_share(Address table, int64_t bytes, int64_t k, int64_t group, int64_t n) {
  keep_prefetches();
  const int64_t lines = (bytes + kLine - 1) / kLine;
  const int64_t per_group = (lines * group + n - 1) / n;
  const int64_t first = k / group * per_group;
  const int64_t end = first + per_group < lines ? first + per_group : lines;
  for (int64_t line = first; line < end; ++line) prefetch(table + static_cast<uint64_t>(line * kLine));
}

// ---- units of 1, 2, 4, 8 or 16 bytes; no address is 0

// Prefetches the targets of the next block on the way.
template <int kUnit>
void gather_packed(std::byte* __restrict target, const Address* __restrict address, int n,
                   const Address* __restrict next, int next_n) {
  const int both = n < next_n ? n : next_n;
  int k = 0;
  for (; k < both; ++k) {
    prefetch(next[k]);
    __builtin_memcpy(target + k * kUnit, pointer_to(address[k]), kUnit);
  }
  for (; k < n; ++k) __builtin_memcpy(target + k * kUnit, pointer_to(address[k]), kUnit);
  for (k = both; k < next_n; ++k) prefetch(next[k]);
}

// ---- rows

template <int64_t kUnit>
struct Fixed {
  void operator()(std::byte* target, const std::byte* source) const { __builtin_memcpy(target, source, kUnit); }
};
// Whole lines to an aligned target. A constant number of them is up to twice as fast where rows are short.
template <int64_t kUnit>
struct FixedLines {
  void operator()(std::byte* target, const std::byte* source) const {
    for (int64_t i = 0; i < kUnit; i += kLine) stream_line(target + i, source + i);
  }
};
struct Lines {
  int64_t unit;
  void operator()(std::byte* target, const std::byte* source) const {
    int64_t i = 0;
    for (; i + 512 <= unit; i += 512) FixedLines<512>{}(target + i, source + i);
    for (; i < unit; i += kLine) stream_line(target + i, source + i);
  }
};
struct Streamed {
  int64_t unit;
  void operator()(std::byte* target, const std::byte* source) const { stream_bytes(target, source, unit); }
};

inline Address dense_at(const Job& job, const Block& block, int k) {
  return job.packed ? block.dense + static_cast<uint64_t>(k) * static_cast<uint64_t>(job.unit)
                    : block.dense + static_cast<uint64_t>(block.dense_offset[k]);
}

// Packed rows go to `target`, which is the dense side or a private stage.
template <class Copy>
void gather_rows(const Job& job, const Block& block, std::byte* target, Copy copy, const Block* next) {
  const int64_t unit = job.unit;
  const int ahead = next == nullptr ? 0 : next->n;
  for (int k = 0; k < block.n; ++k) {
    if (k < ahead) prefetch_unit(next->address[k], unit);
    std::byte* row = job.packed ? target + k * unit : pointer_to(dense_at(job, block, k));
    if (block.address[k] != 0) {
      copy(row, pointer_to(block.address[k]));
    } else {
      const std::byte* fill = job.fill == nullptr ? nullptr : job.fill + block.fill_offset[k];
      write_fill(row, unit, fill, job.item, job.fill_phase);
    }
  }
  for (int k = block.n; k < ahead; ++k) prefetch_unit(next->address[k], unit);
}

// Calls use(copy) with the form for this unit: a constant size where there is one.
template <class Use>
inline void with_copy(int64_t unit, Use use) {
  switch (unit) {
    case 1: return use(Fixed<1>{});
    case 2: return use(Fixed<2>{});
    case 3: return use(Fixed<3>{});
    case 4: return use(Fixed<4>{});
    case 6: return use(Fixed<6>{});
    case 8: return use(Fixed<8>{});
    case 12: return use(Fixed<12>{});
    case 16: return use(Fixed<16>{});
    case 24: return use(Fixed<24>{});
    case 32: return use(Fixed<32>{});
    case 48: return use(Fixed<48>{});
    case 64: return use(Fixed<64>{});
    case 96: return use(Fixed<96>{});
    case 128: return use(Fixed<128>{});
    case 256: return use(Fixed<256>{});
    default: return use(Sized{unit});
  }
}

template <class Use>
inline void with_lines(int64_t unit, Use use) {
  switch (unit) {
    case 64: return use(FixedLines<64>{});
    case 128: return use(FixedLines<128>{});
    case 256: return use(FixedLines<256>{});
    case 512: return use(FixedLines<512>{});
    default: return use(Lines{unit});
  }
}

// ---- the block

void gather_units(const Job& job, const Block& block, std::byte* target, const Block* next) {
  if (job.packed && job.nowhere != Nowhere::write && !job.general) {
    const int next_n = next == nullptr ? 0 : next->n;
    const Address* ahead = next == nullptr ? nullptr : next->address;
    switch (job.unit) {
      case 1: return gather_packed<1>(target, block.address, block.n, ahead, next_n);
      case 2: return gather_packed<2>(target, block.address, block.n, ahead, next_n);
      case 4: return gather_packed<4>(target, block.address, block.n, ahead, next_n);
      case 8: return gather_packed<8>(target, block.address, block.n, ahead, next_n);
      case 16: return gather_packed<16>(target, block.address, block.n, ahead, next_n);
      default: break;
    }
  }
  if (job.general) return gather_rows(job, block, target, Sized{job.unit}, nullptr);
  with_copy(job.unit, [&](auto copy) { gather_rows(job, block, target, copy, next); });
}

void gather(const Job& job, const Block& block, const Block* next) {
  const int64_t bytes = block.n * job.unit;
  std::byte* target = pointer_to(block.dense);
  if (next != nullptr && (next->run || job.unit > kAheadBytes)) next = nullptr;
  if (block.run) {
    if (next != nullptr) {
      for (int k = 0; k < next->n; ++k) prefetch_unit(next->address[k], job.unit);
    }
    const std::byte* source = pointer_to(block.address[0]);
    return job.stream ? stream_bytes(target, source, bytes) : copy_bytes(target, source, bytes);
  }
  if (!job.stream) return gather_units(job, block, target, next);
  const bool whole_lines = ((block.dense | static_cast<Address>(job.unit)) & (kLine - 1)) == 0;
  if (whole_lines) {
    return with_lines(job.unit, [&](auto copy) { gather_rows(job, block, target, copy, next); });
  }
  if (bytes > kStage) return gather_rows(job, block, target, Streamed{job.unit}, next);
  // What does not consist of whole lines is gathered in private first, so that only the ends of a block are partial.
  alignas(64) std::byte stage[kStage];
  gather_units(job, block, stage, next);
  stream_bytes(target, stage, bytes);
}

}  // namespace
}  // namespace gs::cpu::GS_ISA
