// kernel_place.h: stage 1 of a kernel: reads the mask and the indices of a block once, into private memory, and
// computes the addresses of its points on the indexed side. Included by kernel_blocks.cpp only, once for every
// instruction set level.
#pragma once

#include <new>

#include "backends/cpu/kernels/kernel_interleaved.h"
#include "backends/cpu/kernels/prefetch_distances.h"
#include "host/thread_scratch.h"

namespace gs::cpu::GS_ISA {
namespace {

inline constexpr int kMaxAhead = 64;  // most rows that are prefetched ahead of the row that is moved

// A block of points that is placed. Address 0 means nowhere. Private arrays are aligned to cache lines: reading back a
// vector store that straddles two lines costs three times as much.
struct PointBlock {
  int n = 0;
  bool run = false;  // the units on the indexed side are contiguous as well
  Address dense = 0;
  alignas(64) Address address[kMaxBlock + kMaxAhead];  // after the block's own, the first addresses of the next block
  alignas(64) int64_t dense_offset[kMaxBlock];         // used only if the dense units are not packed
  alignas(64) int64_t fill_offset[kMaxBlock];          // used only for Nowhere::read_own and Nowhere::write
};

struct PlacementScratch {
  alignas(64) int64_t position[kMaxBlock];
  alignas(64) int64_t keep[kMaxBlock];  // all bits set, or 0 for a point that is nowhere
  alignas(64) int64_t offset[kMaxBlock];
  InterleavedLanes lanes;
};

// The private arrays of a kernel, in the scratch of the thread.
template <class Arrays>
Arrays& in_scratch() {
  static_assert(sizeof(Arrays) <= host::kScratchBytes && alignof(Arrays) <= 64);
  return *::new (host::thread_scratch()) Arrays;
}

// Prefetches indices of later blocks. Without this the memory idles while a block is moved, because its indices are
// read in one burst. The prefetches go in two steps: a line that comes from memory straight into L1 displaces lines of
// the source array there (1.5 times slower for a source array of 16 KiB), and with prefetches into L2 alone the indices
// wait behind lines of the source array (1.4 times slower for one of 512 KiB).
inline void prefetch_ahead(Address source, int64_t bytes) {
  keep_prefetches();
  for (int64_t i = 0; i < bytes; i += kLine) {
    prefetch(source + static_cast<uint64_t>(kIndexAhead + i));
    prefetch_near(source + static_cast<uint64_t>(kIndexNear + i));
  }
}

// ---- raw values

template <class Index>
void load_linear(const std::byte* source, int64_t stride, int n, int64_t* __restrict value) {
  if (stride == static_cast<int64_t>(sizeof(Index))) {
    for (int k = 0; k < n; ++k) value[k] = widen(read<Index>(source + k * static_cast<int64_t>(sizeof(Index))));
  } else {
    for (int k = 0; k < n; ++k) value[k] = widen(read<Index>(source + k * stride));
  }
}

template <class Index>
void load_spread(const std::byte* source, const int64_t* __restrict offset, int n, int64_t* __restrict value) {
  for (int k = 0; k < n; ++k) value[k] = widen(read<Index>(source + offset[k]));
}

using LoadLinear = void (*)(const std::byte*, int64_t, int, int64_t*);
using LoadSpread = void (*)(const std::byte*, const int64_t*, int, int64_t*);

constexpr LoadLinear kLoadLinear[] = {load_linear<int8_t>,   load_linear<int16_t>, load_linear<int32_t>,
                                      load_linear<int64_t>,  load_linear<uint8_t>, load_linear<uint16_t>,
                                      load_linear<uint32_t>, load_linear<uint64_t>};
constexpr LoadSpread kLoadSpread[] = {load_spread<int8_t>,   load_spread<int16_t>, load_spread<int32_t>,
                                      load_spread<int64_t>,  load_spread<uint8_t>, load_spread<uint16_t>,
                                      load_spread<uint32_t>, load_spread<uint64_t>};

void load_index(const Job& job, const Walk& walk, int array, IndexType type, int n, PlacementScratch& scratch) {
  const int operand = kIndex + array;
  const std::byte* data = job.index[array].data;
  if (is_linear(job, operand)) {
    const std::byte* source = data + offset_at(job, walk, operand);
    const int64_t stride = stride_of(job, operand, job.rank - 1);
    // With a larger stride, every index has a line of its own.
    if (stride > 0 && stride <= 64) prefetch_ahead(address_of(source), n * stride);
    kLoadLinear[static_cast<int>(type)](source, stride, n, scratch.position);
  } else {
    spread(job, walk, operand, n, scratch.offset);
    kLoadSpread[static_cast<int>(type)](data, scratch.offset, n, scratch.position);
  }
  pin_copy(scratch.position);
}

void load_mask(const Job& job, const Walk& walk, int n, PlacementScratch& scratch) {
  if (is_linear(job, kMask)) {
    const std::byte* source = job.mask + offset_at(job, walk, kMask);
    const int64_t stride = stride_of(job, kMask, job.rank - 1);
    if (stride == 1) {
      for (int k = 0; k < n; ++k) scratch.keep[k] = -static_cast<int64_t>(read<uint8_t>(source + k) != 0);
    } else {
      for (int k = 0; k < n; ++k) scratch.keep[k] = -static_cast<int64_t>(read<uint8_t>(source + k * stride) != 0);
    }
  } else {
    spread(job, walk, kMask, n, scratch.offset);
    for (int k = 0; k < n; ++k) {
      scratch.keep[k] = -static_cast<int64_t>(read<uint8_t>(job.mask + scratch.offset[k]) != 0);
    }
  }
  pin_copy(scratch.keep);
}

// ---- positions times step

struct Shift {  // for a step that is a power of two
  int bits;
  uint64_t operator()(int64_t position) const { return static_cast<uint64_t>(position) << bits; }
};
struct Narrow {  // for positions and a step of 32 bits, which every instruction set multiplies quickly
  uint32_t step;
  uint64_t operator()(int64_t position) const { return uint64_t{static_cast<uint32_t>(position)} * step; }
};
struct WideScale {
  int64_t step;
  uint64_t operator()(int64_t position) const { return static_cast<uint64_t>(position) * static_cast<uint64_t>(step); }
};

// Calls use(scale) with the cheapest multiplication that is exact for every position of a checked axis.
template <class Use>
inline auto with_scale(const JobIndex& index, bool checked, Use use) {
  if (index.step > 0 && (index.step & (index.step - 1)) == 0)
    return use(Shift{__builtin_ctzll(static_cast<uint64_t>(index.step))});
  if (checked && index.step > 0 && index.step <= UINT32_MAX && index.extent <= UINT32_MAX) {
    return use(Narrow{static_cast<uint32_t>(index.step)});
  }
  return use(WideScale{index.step});
}

// Places the points in one pass, for the usual rules. The result is negative if a position lies outside.
template <bool kFromEnd, class Scale>
int64_t place_all(const int64_t* __restrict value, int n, int64_t extent, Scale scale, Address base,
                  Address* __restrict address) {
  int64_t outside = 0;
  for (int k = 0; k < n; ++k) {
    const Lane lane = resolve_lane<Bounds::raise>(value[k], extent, kFromEnd ? extent : 0);
    outside |= lane.outside;
    address[k] = base + scale(lane.position);
  }
  return outside;
}

// ---- positions under any rule

template <bool kFromEnd>
bool resolve_raise(int64_t* __restrict position, const int64_t* __restrict keep, int n, int64_t extent) {
  int64_t outside = 0;
  for (int k = 0; k < n; ++k) {
    const Lane lane = resolve_lane<Bounds::raise>(position[k], extent, kFromEnd ? extent : 0);
    outside |= keep[k] & lane.outside;
    position[k] = lane.position;
  }
  return outside >= 0;
}

template <bool kFromEnd>
bool resolve_fill(int64_t* __restrict position, int64_t* __restrict keep, int n, int64_t extent) {
  for (int k = 0; k < n; ++k) {
    const Lane lane = resolve_lane<Bounds::fill>(position[k], extent, kFromEnd ? extent : 0);
    const int64_t inside = ~(lane.outside >> 63);
    keep[k] &= inside;
    position[k] = lane.position & inside;
  }
  return true;
}

template <bool kFromEnd>
bool resolve_clip(int64_t* __restrict position, int n, int64_t extent) {
  for (int k = 0; k < n; ++k) {
    position[k] = resolve_lane<Bounds::clip>(position[k], extent, kFromEnd ? extent : 0).position;
  }
  return true;
}

// `bits` are the raw values, because saturating a uint64 before the modulo would change the remainder.
template <bool kFromEnd, class Index>
bool resolve_wrap(int64_t* __restrict bits, int n, int64_t extent) {
  constexpr bool from_the_end = kFromEnd && std::is_same_v<Index, int64_t>;
  int64_t outside = 0;
  for (int k = 0; k < n; ++k) {
    const Lane lane = resolve_lane<Bounds::raise>(bits[k], extent, from_the_end ? extent : 0);
    outside |= lane.outside;
    bits[k] = lane.position;
  }
  if (outside >= 0) return true;
  constexpr Rule kWrap{Bounds::wrap, Negative::out_of_bounds};
  for (int k = 0; k < n; ++k) bits[k] = resolve(static_cast<Index>(bits[k]), extent, kWrap);
  return true;
}

template <bool kFromEnd>
bool resolve_positions(const JobIndex& index, Bounds bounds, int n, PlacementScratch& scratch) {
  int64_t* position = scratch.position;
  const bool has_positions = index.extent > 0;  // an empty axis has no position to clip or wrap to
  if (bounds == Bounds::fill) return resolve_fill<kFromEnd>(position, scratch.keep, n, index.extent);
  if (bounds == Bounds::clip && has_positions) return resolve_clip<kFromEnd>(position, n, index.extent);
  if (bounds == Bounds::wrap && has_positions) {
    if (index.type == IndexType::u64) return resolve_wrap<kFromEnd, uint64_t>(position, n, index.extent);
    return resolve_wrap<kFromEnd, int64_t>(position, n, index.extent);
  }
  const bool inside = resolve_raise<kFromEnd>(position, scratch.keep, n, index.extent);
  return inside || bounds == Bounds::unchecked;
}

void add_folded(const Job& job, const PlacementScratch& scratch, int n, Address* __restrict address) {
  for (int k = 0; k < n; ++k) {
    int64_t position = scratch.position[k];
    uint64_t offset = 0;
    for (int f = job.folds - 1; f > 0; --f) {
      offset += static_cast<uint64_t>(multiply(position % job.fold[f].extent, job.fold[f].stride));
      position /= job.fold[f].extent;
    }
    address[k] += offset + static_cast<uint64_t>(multiply(position, job.fold[0].stride));
  }
}

// ---- the block

// Adds the affine part of the indexed side; the addresses already contain the base.
void add_affine(const Job& job, const Walk& walk, int n, PlacementScratch& scratch, Address* __restrict address) {
  if (is_linear(job, kIndexed)) {
    const auto stride = static_cast<uint64_t>(stride_of(job, kIndexed, job.rank - 1));
    if (stride == 0) return;
    for (int k = 0; k < n; ++k) address[k] += static_cast<uint64_t>(k) * stride;
  } else {
    spread(job, walk, kIndexed, n, scratch.offset);
    for (int k = 0; k < n; ++k) address[k] += static_cast<uint64_t>(scratch.offset[k]);
  }
}

// Writes the offset of an operand at every point of the block, relative to its array, to private memory.
void offsets(const Job& job, const Walk& walk, int operand, int n, int64_t* __restrict offset) {
  if (!is_linear(job, operand)) return spread(job, walk, operand, n, offset);
  const int64_t base = offset_at(job, walk, operand);
  const int64_t stride = stride_of(job, operand, job.rank - 1);
  for (int k = 0; k < n; ++k) offset[k] = add(base, multiply(k, stride));
}

// Places a block with any number of index arrays, any rule, mask and fold.
bool place_general(const Job& job, const Walk& walk, int n, Address base, PlacementScratch& scratch,
                   PointBlock& block) {
  if (job.masked) {
    load_mask(job, walk, n, scratch);
  } else {
    for (int k = 0; k < n; ++k) scratch.keep[k] = -1;
  }
  for (int k = 0; k < n; ++k) block.address[k] = base;
  for (int a = 0; a < job.indices; ++a) {
    const JobIndex& index = job.index[a];
    const bool bits = job.rule.bounds == Bounds::wrap && index.extent > 0 && index.type == IndexType::u64;
    load_index(job, walk, a, bits ? IndexType::i64 : index.type, n, scratch);
    const bool accepted = job.rule.negative == Negative::from_end
                              ? resolve_positions<true>(index, job.rule.bounds, n, scratch)
                              : resolve_positions<false>(index, job.rule.bounds, n, scratch);
    if (!accepted) return false;
    if (job.folds > 0) {
      if (index.extent > 0) add_folded(job, scratch, n, block.address);
      continue;
    }
    with_scale(index, job.rule.bounds != Bounds::unchecked, [&](auto scale) {
      const int64_t* __restrict position = scratch.position;
      Address* __restrict address = block.address;
      for (int k = 0; k < n; ++k) address[k] += scale(position[k]);
    });
  }
  add_affine(job, walk, n, scratch, block.address);
  if (job.nowhere == Nowhere::never) return true;

  const int64_t* __restrict keep = scratch.keep;
  Address* __restrict address = block.address;
  const Address fill = job.nowhere == Nowhere::read_one || job.nowhere == Nowhere::read_own ? address_of(job.fill) : 0;
  if (job.nowhere == Nowhere::read_own || job.nowhere == Nowhere::write) {
    offsets(job, walk, kFill, n, block.fill_offset);
  }
  if (job.nowhere == Nowhere::read_own) {
    for (int k = 0; k < n; ++k) {
      const auto kept = static_cast<uint64_t>(keep[k]);
      address[k] = (address[k] & kept) | ((fill + static_cast<uint64_t>(block.fill_offset[k])) & ~kept);
    }
  } else {
    for (int k = 0; k < n; ++k) {
      const auto kept = static_cast<uint64_t>(keep[k]);
      address[k] = (address[k] & kept) | (fill & ~kept);
    }
  }
  return true;
}

// Returns true if the units at the n addresses are contiguous.
bool is_run(const Address* __restrict address, int n, int64_t unit) {
  const auto step = static_cast<uint64_t>(unit);
  const Address first = address[0];
  if (first == 0 || address[n - 1] != first + static_cast<uint64_t>(n - 1) * step) return false;
  uint64_t different = 0;
  for (int k = 0; k < n; ++k) different |= address[k] ^ (first + static_cast<uint64_t>(k) * step);
  return different == 0;
}

// Places a block whose index arrays are interleaved, so that every index is read once and in order.
bool place_side_by_side(const Job& job, const Walk& walk, int n, Address base, PlacementScratch& scratch,
                        PointBlock& block) {
  const JobIndex& index = job.index[0];
  const int64_t bytes = index_size(index.type) * job.indices;
  const std::byte* source = index.data + offset_at(job, walk, kIndex);
  for (int k = 0; k < n; k += kInterleavedPoints, source += kInterleavedPoints * bytes) {
    const int points = n - k < kInterleavedPoints ? n - k : kInterleavedPoints;
    prefetch_ahead(address_of(source), points * bytes);
    kLoadLinear[static_cast<int>(index.type)](source, index_size(index.type), points * job.indices, scratch.position);
    pin_copy(scratch.position);
    if (!place_interleaved(job, scratch.lanes, scratch.position, points, base, scratch.offset, block.address + k))
      return false;
  }
  add_affine(job, walk, n, scratch, block.address);
  return true;
}

// Places the n points from `walk` on in `block`. Returns false if the rule forbids an index.
bool place(const Job& job, const Walk& walk, int n, PlacementScratch& scratch, PointBlock& block) {
  block.n = n;
  if (job.packed) {
    block.dense = address_of(job.dense) + static_cast<uint64_t>(offset_at(job, walk, kDense));
  } else {
    block.dense = address_of(job.dense);
    offsets(job, walk, kDense, n, block.dense_offset);
  }
  Address base = address_of(job.indexed);
  if (is_linear(job, kIndexed)) base += static_cast<uint64_t>(offset_at(job, walk, kIndexed));

  const Bounds bounds = job.rule.bounds;
  if (scratch.lanes.indices == 0) prepare_lanes(job, scratch.lanes);
  const bool one_pass = job.indices == 1 && !job.masked && job.folds == 0 && !job.general &&
                        (bounds == Bounds::raise || bounds == Bounds::deferred || bounds == Bounds::unchecked);
  if (one_pass) {
    const JobIndex& index = job.index[0];
    load_index(job, walk, 0, index.type, n, scratch);
    const int64_t outside = with_scale(index, bounds != Bounds::unchecked, [&](auto scale) {
      return job.rule.negative == Negative::from_end
                 ? place_all<true>(scratch.position, n, index.extent, scale, base, block.address)
                 : place_all<false>(scratch.position, n, index.extent, scale, base, block.address);
    });
    if (outside < 0 && bounds != Bounds::unchecked) return false;
    add_affine(job, walk, n, scratch, block.address);
  } else if (scratch.lanes.indices > 0 ? !place_side_by_side(job, walk, n, base, scratch, block)
                                       : !place_general(job, walk, n, base, scratch, block)) {
    return false;
  }
  block.run = job.packed && !job.general && is_run(block.address, n, job.unit);
  return true;
}

}  // namespace
}  // namespace gs::cpu::GS_ISA
