// kernel_scatter.h: stage 2 of a scatter: picks the points of a placed block whose targets belong to this thread, then
// copies or combines their units. Included by kernel_blocks.cpp only, once for every instruction set level.
//
// Every thread goes through all points and writes only to its own range of addresses. So one thread handles all points
// of a target, in ascending order: the last duplicate wins, and sums do not depend on the number of threads.
#pragma once

#include "backends/cpu/kernels/kernel_move.h"

namespace gs::cpu::GS_ISA {
namespace {

// The points of a block whose targets belong to this thread, in order. There is room for a whole vector after the last
// point.
struct OwnPoints {
  int n = 0;
  alignas(64) Address target[kMaxBlock + kVectorStep];
  alignas(64) Address value[kMaxBlock + kVectorStep];
};

void pick(const Job& job, PointBlock& block, OwnPoints& share) {
  const ValueAddresses value_at{block.dense, static_cast<uint64_t>(job.unit),
                                job.packed ? nullptr : block.dense_offset};
  share.n = Simd::select(block.address, block.n, job.to.own_low, job.to.own_high - job.to.own_low, value_at,
                         share.target, share.value);
}

template <class Copy>
void scatter_units(const Address* target, const Address* value, int n, int64_t unit, Copy copy) {
  const bool far = unit >= kLine && unit <= kAheadBytes;
  for (int j = 0; j < n; ++j) {
    if (far && j + kValuesAhead < n) prefetch_unit(value[j + kValuesAhead], unit);
    copy(pointer_to(target[j]), pointer_to(value[j]));
  }
}

// Finds the bit of a unit. The distance of a unit from the first one is a multiple of its length.
struct Marker {
  uint64_t* bits;
  Address first;
  ExactDivision by_unit;

  explicit Marker(const Job& job) : bits(job.to.marks.bits), first(job.to.marks.first), by_unit(job.unit) {}
  GS_INLINE void mark(Address target) {
    const auto slot = static_cast<uint64_t>(by_unit(target - first));
    bits[slot / 64] |= uint64_t{1} << (slot % 64);
  }
};

// Marks the targets that are not nowhere.
void mark_targets(const Job& job, const Address* target, int n) {
  if (job.to.marks.bits == nullptr) return;
  Marker marker(job);
  for (int k = 0; k < n; ++k) {
    if (target[k] != 0) marker.mark(target[k]);
  }
}

// Prefetches the lines of a target that will be written in part. Lines that are streamed as a whole are never read.
inline void prefetch_target(const Job& job, Address target) {
  if (job.whole_lines && job.stream) return;
  if (!job.stream) return prefetch_unit(target, job.unit);
  keep_prefetches();
  prefetch(target);
  prefetch(target + static_cast<uint64_t>(job.unit) - 1);
}

// Scatters all units of a block whose values lie in order. The values are used once, so their prefetches are
// non-temporal. Each unit is marked while the memory is busy with the units before it.
template <class Copy>
void scatter_in_order(const Job& job, const PointBlock& block, Copy copy) {
  const int64_t unit = job.unit;
  const int ahead = job.ahead == Ahead::units && unit <= kAheadBytes ? kTargetsAhead : block.n;
  const std::byte* value = pointer_to(block.dense);
  const auto move = [&](int k) {
    for (int64_t byte = 0; byte < unit; byte += kLine) __builtin_prefetch(value + kSourceAhead + byte, 0, 0);
    if (k + ahead < block.n) prefetch_target(job, block.address[k + ahead]);
    copy(pointer_to(block.address[k]), value);
    value += unit;
  };
  if (ahead < block.n) {
    for (int k = 0; k < ahead; ++k) prefetch_target(job, block.address[k]);
  }
  if (job.to.marks.bits == nullptr) {
    for (int k = 0; k < block.n; ++k) move(k);
    return;
  }
  Marker marker(job);
  for (int k = 0; k < block.n; ++k) {
    marker.mark(block.address[k]);
    move(k);
  }
}

// Calls use(copy) with the copy for the units of this job.
template <class Use>
inline void with_unit(const Job& job, Use use) {
  if (!job.stream) return with_copy(job.unit, use);
  if (job.whole_lines) return with_lines(job.unit, use);
  use(Streamed{job.unit});
}

bool owns_all(const Job& job, const PointBlock& block) {
  const auto bytes = static_cast<uint64_t>(block.n) * static_cast<uint64_t>(job.unit);
  return block.address[0] >= job.to.own_low && block.address[0] + bytes <= job.to.own_high;
}

void scatter(const Job& job, PointBlock& block, OwnPoints& share) {
  if (block.run && job.to.sum.apply == nullptr && owns_all(job, block)) {
    mark_targets(job, block.address, block.n);
    return copy_bytes(pointer_to(block.address[0]), pointer_to(block.dense), block.n * job.unit);
  }
  if (job.to.sum.apply == nullptr && job.to.own_all && job.packed && job.nowhere == Nowhere::never && job.unit > 16) {
    return with_unit(job, [&](auto copy) { scatter_in_order(job, block, copy); });
  }
  mark_targets(job, block.address, block.n);
  pick(job, block, share);
  if (job.to.sum.apply != nullptr) return job.to.sum.apply(job, share.target, share.value, share.n);
  with_unit(job, [&](auto copy) { scatter_units(share.target, share.value, share.n, job.unit, copy); });
}

// Copies the slots [first, last) that are not marked from `base`, each run of neighbouring slots at once.
void copy_unmarked(const Job& job, int64_t first, int64_t last) {
  const uint64_t* const bits = job.to.marks.bits;
  const auto is_marked = [bits](int64_t slot) { return bits != nullptr && (bits[slot / 64] >> (slot % 64) & 1) != 0; };
  // The first slot from `slot` on that is marked, or that is not marked; `last` if there is none.
  const auto next_slot = [&](int64_t slot, bool marked) {
    if (bits == nullptr) return last;
    while (slot < last) {
      const uint64_t word = (marked ? bits[slot / 64] : ~bits[slot / 64]) >> (slot % 64);
      if (word != 0) {
        slot += __builtin_ctzll(word);
        return slot < last ? slot : last;
      }
      slot += 64 - slot % 64;
    }
    return last;
  };
  for (int64_t begin = is_marked(first) ? next_slot(first, false) : first; begin < last;) {
    const int64_t end = next_slot(begin, true);
    const int64_t bytes = (end - begin) * job.unit;
    std::byte* const target = pointer_to(job.to.marks.first) + begin * job.unit;
    const std::byte* const source = job.to.base + begin * job.unit;
    if (job.stream) {
      stream_bytes(target, source, bytes);
    } else {
      copy_bytes(target, source, bytes);
    }
    begin = next_slot(end, false);
  }
}

}  // namespace
}  // namespace gs::cpu::GS_ISA
