// kernel_move.h: copies units by their size, with or without streaming stores, and prefetches what is needed next.
// Included by kernel_blocks.cpp only, once for every instruction set level.
#pragma once

#include "backends/cpu/kernels/kernel_place.h"
#include "backends/cpu/kernels/kernel_stream.h"

namespace gs::cpu::GS_ISA {
namespace {

// ---- bytes

// Writes n bytes that repeat the item at `fill`, beginning with its byte `phase`. A null `fill` means zero bytes.
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

// Prefetches the share of `bytes` bytes at `source` that corresponds to the points [k, k + group) of a run of n points.
inline void prefetch_share(Address source, int64_t bytes, int64_t k, int64_t group, int64_t n) {
  keep_prefetches();
  const int64_t lines = (bytes + kLine - 1) / kLine;
  const int64_t per_group = (lines * group + n - 1) / n;
  const int64_t first = k / group * per_group;
  const int64_t end = first + per_group < lines ? first + per_group : lines;
  for (int64_t line = first; line < end; ++line) prefetch(source + static_cast<uint64_t>(line * kLine));
}

// Whether n addresses, at(0) to at(n - 1), seem to follow `before` and each other by less than `step` bytes on average:
// the processor prefetches them by itself. Four of them tell: addresses at random that look like it by chance lose
// their prefetches.
template <class At>
inline bool follow_closely(Address before, int n, int64_t step, At at) {
  const auto most = static_cast<uint64_t>(n * step);
  const uint64_t span = at(n - 1) - at(0);
  if (span >= most || at(0) - before >= most) return false;
  const uint64_t third = at(n / 3) - at(0);
  const uint64_t two_thirds = at(2 * n / 3) - at(0);
  return third <= two_thirds && two_thirds <= span;
}

// ---- units of 1, 2, 4, 8 or 16 bytes; no address is 0

// Gathers n units into contiguous memory, and prefetches the units of the next block meanwhile.
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
struct FixedCopy {
  static constexpr int64_t unit = kUnit;
  void operator()(std::byte* target, const std::byte* source) const { __builtin_memcpy(target, source, kUnit); }
};
// Writes whole lines to an aligned target with streaming stores. A constant number of lines is up to twice as fast
// where rows are short.
template <int64_t kUnit>
struct FixedLines {
  static constexpr int64_t unit = kUnit;
  void operator()(std::byte* target, const std::byte* source) const {
    for (int64_t i = 0; i < kUnit; i += kLine) Simd::stream_line(target + i, source + i);
  }
};
struct Lines {
  int64_t unit;
  void operator()(std::byte* target, const std::byte* source) const {
    int64_t i = 0;
    for (; i + 512 <= unit; i += 512) FixedLines<512>{}(target + i, source + i);
    for (; i < unit; i += kLine) Simd::stream_line(target + i, source + i);
  }
};
struct Streamed {  // a streaming copy of any length to any address
  int64_t unit;
  void operator()(std::byte* target, const std::byte* source) const { stream_bytes(target, source, unit); }
};

inline Address dense_at(const Job& job, const PointBlock& block, int k) {
  return job.packed ? block.dense + static_cast<uint64_t>(k) * static_cast<uint64_t>(job.unit)
                    : block.dense + static_cast<uint64_t>(block.dense_offset[k]);
}

// Calls use(copy) with the copy for this unit, which has a constant size for the usual units.
template <class Use>
inline void with_copy(int64_t unit, Use use) {
  switch (unit) {
    case 1: return use(FixedCopy<1>{});
    case 2: return use(FixedCopy<2>{});
    case 3: return use(FixedCopy<3>{});
    case 4: return use(FixedCopy<4>{});
    case 6: return use(FixedCopy<6>{});
    case 8: return use(FixedCopy<8>{});
    case 12: return use(FixedCopy<12>{});
    case 16: return use(FixedCopy<16>{});
    case 24: return use(FixedCopy<24>{});
    case 32: return use(FixedCopy<32>{});
    case 48: return use(FixedCopy<48>{});
    case 64: return use(FixedCopy<64>{});
    case 96: return use(FixedCopy<96>{});
    case 128: return use(FixedCopy<128>{});
    case 256: return use(FixedCopy<256>{});
    default: return use(Sized{unit});
  }
}

// As with_copy, for units of whole lines that are streamed to aligned targets.
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

}  // namespace
}  // namespace gs::cpu::GS_ISA
