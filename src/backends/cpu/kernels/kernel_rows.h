// kernel_rows.h: stage 2 of a gather: moves the units of a placed block, and prefetches rows farther on meanwhile. It
// dispatches on sizes only. Included by kernel_blocks.cpp only, once for every instruction set level.
#pragma once

#include "backends/cpu/kernels/kernel_move.h"

namespace gs::cpu::GS_ISA {
namespace {

// ---- one row

// Copies n bytes, whole lines first. Before each kStep bytes it prefetches the bytes at the same offset from `ahead`.
template <bool kStream>
inline void copy_ahead(std::byte* target, const std::byte* source, Address ahead, int64_t n) {
  const auto line = [&](int64_t i) {
    if constexpr (kStream) {
      Simd::stream_line(target + i, source + i);
    } else {
      copy_line(target + i, source + i);
    }
  };
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (int64_t j = i; j < i + kStep; j += kLine) prefetch(ahead + static_cast<Address>(j));
    for (int64_t j = i; j < i + kStep; j += kLine) line(j);
  }
  for (; i + kLine <= n; i += kLine) {
    prefetch(ahead + static_cast<Address>(i));
    line(i);
  }
  copy_bytes(target + i, source + i, n - i);
}

// Prefetches the lines of a row at any address.
inline void prefetch_row(Address address, int64_t unit) {
  keep_prefetches();
  for (int64_t i = 0; i < unit; i += kLine) prefetch(address + static_cast<Address>(i));
  // Rows of whole lines are all aligned or all unaligned, so the processor predicts this branch well for them.
  if (unit % kLine != 0 || address % kLine != 0) prefetch(address + static_cast<Address>(unit - 1));
}

// Copies a row and prefetches the row at `ahead` (0: none).
template <class Copy>
struct Short {
  Copy copy;
  int64_t unit() const { return copy.unit; }
  void operator()(std::byte* target, const std::byte* source, Address ahead) const {
    if (ahead != 0) prefetch_row(ahead, copy.unit);
    copy(target, source);
  }
};
// Copies a long row and prefetches in steps: prefetching a whole row at once would leave the memory idle while the row
// is copied.
template <bool kStream>
struct Long {
  int64_t row;
  int64_t unit() const { return row; }
  void operator()(std::byte* target, const std::byte* source, Address ahead) const {
    const int64_t head = kStream ? static_cast<int64_t>(-address_of(target) & (kLine - 1)) : 0;
    copy_bytes(target, source, head);
    target += head;
    source += head;
    const int64_t n = row - head;
    if (ahead == 0) ahead = address_of(source);  // no next row: prefetching cached lines again costs next to nothing
    if (n <= kLongAhead) return copy_ahead<kStream>(target, source, ahead, n);
    const int64_t own = (n - kLongAhead) / kLine * kLine;
    copy_ahead<kStream>(target, source, address_of(source + kLongAhead), own);
    copy_ahead<kStream>(target + own, source + own, ahead, n - own);
  }
};

// Calls use(copy) with the copy for this unit. With kStream, the rows go to aligned whole lines or are long.
template <bool kStream, class Use>
inline void with_row(int64_t unit, Use use) {
  if (unit > kLongRow) return use(Long<kStream>{unit});
  const auto as_short = [&](auto copy) { use(Short<decltype(copy)>{copy}); };
  if constexpr (kStream) {
    with_lines(unit, as_short);
  } else {
    with_copy(unit, as_short);
  }
}

// ---- the rows of a block

// The number of rows by which prefetches run ahead.
inline int rows_ahead(int64_t unit) {
  const int64_t rows = kAheadBytes / (unit < 1 ? 1 : unit);
  return static_cast<int>(rows < 1 || unit > kLongAhead ? 1 : rows < kMaxAhead ? rows : kMaxAhead);
}

// Appends the addresses of the next block's first rows to those of `block`, and zeros where there are no more rows.
void look_ahead(PointBlock& block, const PointBlock* next, int rows) {
  const int there = next == nullptr ? 0 : next->n < rows ? next->n : rows;
  for (int k = 0; k < there; ++k) block.address[block.n + k] = next->address[k];
  for (int k = there; k < rows; ++k) block.address[block.n + k] = 0;
}

// Gathers rows that all have a source into contiguous memory. With ahead = 0 nothing is prefetched. Not inlined,
// because two places call it.
template <class Copy>
[[gnu::noinline]] void gather_packed_rows(std::byte* target, const Address* address, int n, Copy copy, int ahead) {
  for (int k = 0; k < n; ++k, target += copy.unit()) {
    copy(target, pointer_to(address[k]), ahead == 0 ? 0 : address[k + ahead]);
  }
}

// Gathers the rows [first, last) of any block. Packed rows go to `target`.
template <class Copy>
[[gnu::noinline]] void gather_any_rows(const Job& job, const PointBlock& block, int first, int last, std::byte* target,
                                       Copy copy, int ahead) {
  for (int k = first; k < last; ++k) {
    std::byte* row = job.packed ? target + (k - first) * job.unit : pointer_to(dense_at(job, block, k));
    if (block.address[k] != 0) {
      copy(row, pointer_to(block.address[k]), ahead == 0 ? 0 : block.address[k + ahead]);
    } else {
      const std::byte* fill = job.fill == nullptr ? nullptr : job.fill + block.fill_offset[k];
      write_fill(row, job.unit, fill, job.item, job.fill_phase);
    }
  }
}

// Packed rows go to `target`, which is the dense side or a private stage. `stream`: the rows are aligned whole lines,
// or long.
void gather_rows(const Job& job, const PointBlock& block, int first, int last, std::byte* target, bool stream,
                 int ahead) {
  if (job.packed && job.nowhere != Nowhere::write) {
    const auto packed = [&](auto copy) {
      gather_packed_rows(target, block.address + first, last - first, copy, ahead);
    };
    return stream ? with_row<true>(job.unit, packed) : with_row<false>(job.unit, packed);
  }
  const auto any = [&](auto copy) { gather_any_rows(job, block, first, last, target, copy, ahead); };
  if (job.general) return any(Short<Sized>{{job.unit}});
  switch (job.unit) {
    case 1: return any(Short<FixedCopy<1>>{});
    case 2: return any(Short<FixedCopy<2>>{});
    case 4: return any(Short<FixedCopy<4>>{});
    case 8: return any(Short<FixedCopy<8>>{});
    case 16: return any(Short<FixedCopy<16>>{});
    default: break;
  }
  if (job.unit <= kLongRow) return any(Short<Sized>{{job.unit}});
  return stream ? any(Long<true>{job.unit}) : any(Long<false>{job.unit});
}

// ---- streams

// Bytes that are to be written with streaming stores. A partial line is kept until the rows that follow complete it, so
// that only the ends of a run are written as partial lines.
struct StagedBytes {
  alignas(64) std::byte bytes[kLine + kLongRow];
  Address line = 0;   // address that bytes[0] will be written to
  int64_t begin = 0;  // bytes [begin, end) are not yet written
  int64_t end = 0;
};

void send_lines(StagedBytes& stage) {
  if (stage.end < kLine) return;
  std::byte* target = pointer_to(stage.line);
  int64_t i = 0;
  if (stage.begin > 0) {
    copy_bytes(target + stage.begin, stage.bytes + stage.begin, kLine - stage.begin);
    i = kLine;
    stage.begin = 0;
  }
  for (; i + kLine <= stage.end; i += kLine) Simd::stream_line(target + i, stage.bytes + i);
  copy_line(stage.bytes, stage.bytes + (i < kLongRow ? i : kLongRow));
  stage.line += static_cast<Address>(i);
  stage.end -= i;
}

void send_all(StagedBytes& stage) {
  send_lines(stage);
  copy_bytes(pointer_to(stage.line) + stage.begin, stage.bytes + stage.begin, stage.end - stage.begin);
  stage.begin = stage.end = 0;
}

void stage_rows(const Job& job, const PointBlock& block, StagedBytes& stage, int ahead) {
  if (stage.line + static_cast<Address>(stage.end) != block.dense) {
    send_all(stage);
    stage.line = block.dense & ~static_cast<Address>(kLine - 1);
    stage.begin = stage.end = static_cast<int64_t>(block.dense - stage.line);
  }
  const int rows = static_cast<int>(kLongRow / job.unit);
  for (int k = 0; k < block.n; k += rows) {
    const int last = k + rows < block.n ? k + rows : block.n;
    gather_rows(job, block, k, last, stage.bytes + stage.end, false, ahead);
    stage.end += (last - k) * job.unit;
    send_lines(stage);
  }
}

// ---- the block

// Results before they are streamed: units that lie apart in memory, or rows that end within lines.
struct Stages {
  alignas(64) std::byte elements[kMaxBlock * 16];
  StagedBytes rows;
};

template <int kUnit>
void gather_elements(const Job& job, const PointBlock& block, const PointBlock* next, std::byte* stage) {
  const int next_n = next == nullptr || next->run ? 0 : next->n;
  const Address* ahead = next == nullptr ? nullptr : next->address;
  if (!job.stream) return gather_packed<kUnit>(pointer_to(block.dense), block.address, block.n, ahead, next_n);
  gather_packed<kUnit>(stage, block.address, block.n, ahead, next_n);
  stream_bytes(pointer_to(block.dense), stage, block.n * kUnit);
}

// Prefetches the first rows of a block, which no earlier block has prefetched.
void fetch_first(const Job& job, const PointBlock& block) {
  if (block.run) return;
  const int rows = rows_ahead(job.unit);
  const int64_t bytes = job.unit < kLongAhead ? job.unit : kLongAhead;
  for (int k = 0; k < block.n && k < rows; ++k) prefetch_unit(block.address[k], bytes);
}

void gather(const Job& job, PointBlock& block, const PointBlock* next, Stages& stages) {
  std::byte* target = pointer_to(block.dense);
  const int ahead = job.ahead == Ahead::points ? rows_ahead(job.unit) : 0;
  if (block.run) {
    if (next != nullptr) fetch_first(job, *next);
    const std::byte* source = pointer_to(block.address[0]);
    const int64_t bytes = block.n * job.unit;
    return job.stream ? stream_bytes(target, source, bytes) : copy_bytes(target, source, bytes);
  }
  if (job.packed && job.nowhere != Nowhere::write && !job.general) {
    switch (job.unit) {
      case 1: return gather_elements<1>(job, block, next, stages.elements);
      case 2: return gather_elements<2>(job, block, next, stages.elements);
      case 4: return gather_elements<4>(job, block, next, stages.elements);
      case 8: return gather_elements<8>(job, block, next, stages.elements);
      case 16: return gather_elements<16>(job, block, next, stages.elements);
      default: break;
    }
  }
  if (ahead > 0) look_ahead(block, next, ahead);
  const bool whole_lines = ((block.dense | static_cast<Address>(job.unit)) & (kLine - 1)) == 0;
  if (job.stream && !whole_lines && job.unit <= kLongRow) return stage_rows(job, block, stages.rows, ahead);
  gather_rows(job, block, 0, block.n, target, job.stream, ahead);
}

}  // namespace
}  // namespace gs::cpu::GS_ISA
