// kernel_elements.h: the fast path for small units with one contiguous index array: it works in groups so short that
// the processor checks one group while it still waits for the data of the group before. Included by kernel_blocks.cpp
// only, once for every instruction set level.
#pragma once

#include "backends/cpu/kernels/kernel_move.h"

namespace gs::cpu::GS_ISA {
namespace {

inline constexpr int kGroup = 64;

struct ElementGroup {
  int n = 0;
  bool run = false;
  std::byte* target = nullptr;
  alignas(64) Address address[kGroup];
};

// The number of points of a full group, as a constant.
struct FullElementGroup {
  constexpr operator int() const { return kGroup; }
};

// The numbers that turn an index into an address.
struct ElementAddressing {
  int64_t extent;
  int64_t from_end;  // the extent, or 0 where negative indices are outside
  uint32_t step;
  bool checked;
  Address fill;
  alignas(64) Address along[kGroup];  // bytes by which the indexed side has advanced at each point of a group
};

// With a mask, kBounds is `fill` under every rule; lane.checked says whether an index outside is an error.
template <class Index, Bounds kBounds, class Count>
inline bool place_points(const ElementAddressing& lane, const std::byte* source, const std::byte* mask, Address base,
                         Count n, Address* __restrict address) {
  alignas(64) int64_t value[kGroup];
  alignas(64) int64_t keep[kGroup];
  for (int k = 0; k < n; ++k) value[k] = widen(read<Index>(source + k * static_cast<int64_t>(sizeof(Index))));
  pin_copy(value);
  if constexpr (kBounds == Bounds::fill) {
    for (int k = 0; k < n; ++k) keep[k] = -1;
    if (mask != nullptr) {
      for (int k = 0; k < n; ++k) keep[k] = -static_cast<int64_t>(read<uint8_t>(mask + k) != 0);
      pin_copy(keep);
    }
  }
  const Narrow scale{lane.step};
  int64_t outside = 0;
  for (int k = 0; k < n; ++k) {
    const Lane at = resolve_lane<kBounds>(value[k], lane.extent, lane.from_end);
    const Address unit = base + lane.along[k] + scale(at.position);
    if constexpr (kBounds == Bounds::fill) {
      outside |= at.outside & keep[k];
      const auto nowhere = static_cast<uint64_t>((at.outside >> 63) | ~keep[k]);
      address[k] = (unit & ~nowhere) | (lane.fill & nowhere);
    } else {
      outside |= at.outside;
      address[k] = unit;
    }
  }
  return outside >= 0 || !lane.checked;
}

template <class Index, Bounds kBounds>
bool place_group(const ElementAddressing& lane, const std::byte* source, const std::byte* mask, Address base, int n,
                 Address* address) {
  if (n == kGroup) return place_points<Index, kBounds>(lane, source, mask, base, FullElementGroup{}, address);
  return place_points<Index, kBounds>(lane, source, mask, base, n, address);
}

using PlaceGroup = bool (*)(const ElementAddressing&, const std::byte*, const std::byte*, Address, int, Address*);

template <Bounds kBounds>
PlaceGroup place_for(IndexType type) {
  constexpr PlaceGroup forms[] = {place_group<int8_t, kBounds>,   place_group<int16_t, kBounds>,
                                  place_group<int32_t, kBounds>,  place_group<int64_t, kBounds>,
                                  place_group<uint8_t, kBounds>,  place_group<uint16_t, kBounds>,
                                  place_group<uint32_t, kBounds>, place_group<uint64_t, kBounds>};
  return forms[static_cast<int>(type)];
}

template <int kUnit, class Count>
inline void move_points(std::byte* __restrict target, const Address* __restrict address, Count n) {
  for (int k = 0; k < n; ++k) __builtin_memcpy(target + k * kUnit, pointer_to(address[k]), kUnit);
}

template <int kUnit>
void move_group(std::byte* target, const ElementGroup& group, const ElementGroup* next) {
  if (next != nullptr) return gather_packed<kUnit>(target, group.address, group.n, next->address, next->n);
  if (group.n == kGroup) return move_points<kUnit>(target, group.address, FullElementGroup{});
  move_points<kUnit>(target, group.address, group.n);
}

using MoveGroup = void (*)(std::byte*, const ElementGroup&, const ElementGroup*);

MoveGroup move_for(int64_t unit) {
  switch (unit) {
    case 1: return move_group<1>;
    case 2: return move_group<2>;
    case 4: return move_group<4>;
    case 8: return move_group<8>;
    default: return move_group<16>;
  }
}

void finish_group(const Job& job, MoveGroup move, const ElementGroup& group, const ElementGroup* next) {
  const int64_t bytes = group.n * job.unit;
  if (next != nullptr && next->run) next = nullptr;
  if (group.run) {
    if (next != nullptr) {
      for (int k = 0; k < next->n; ++k) prefetch(next->address[k]);
    }
    const std::byte* source = pointer_to(group.address[0]);
    return job.stream ? stream_bytes(group.target, source, bytes) : copy_bytes(group.target, source, bytes);
  }
  if (!job.stream) return move(group.target, group, next);
  alignas(64) std::byte stage[kGroup * 16];
  move(stage, group, next);
  stream_bytes(group.target, stage, bytes);
}

bool run_elements(const Job& job, int64_t first, int64_t last) {
  const JobIndex& index = job.index[0];
  const int inner = job.rank - 1;
  const int64_t index_bytes = index_size(index.type);
  const auto along = static_cast<uint64_t>(stride_of(job, kIndexed, inner));
  const Bounds bounds = job.rule.bounds;
  const PlaceGroup place_it = job.nowhere != Nowhere::never ? place_for<Bounds::fill>(index.type)
                              : bounds == Bounds::clip      ? place_for<Bounds::clip>(index.type)
                                                            : place_for<Bounds::raise>(index.type);
  const MoveGroup move = move_for(job.unit);
  ElementAddressing lane;
  lane.extent = index.extent;
  lane.from_end = added_to_negative(index.extent, job.rule.negative);
  lane.step = static_cast<uint32_t>(index.step);
  lane.checked = bounds == Bounds::raise || bounds == Bounds::deferred;
  lane.fill = address_of(job.fill);
  const int used = last - first < kGroup ? static_cast<int>(last - first) : kGroup;
  for (int k = 0; k < used; ++k) lane.along[k] = static_cast<uint64_t>(k) * along;

  Walk walk;
  seek(job, walk, first);
  ElementGroup groups[2];
  const ElementGroup* waiting = nullptr;
  int turn = 0;
  for (int64_t left = last - first; left > 0;) {
    const int64_t in_run = job.extent[inner] - walk.at[inner];
    const int64_t n = left < in_run ? left : in_run;
    const std::byte* source = index.data + offset_at(job, walk, kIndex);
    const Address base = address_of(job.indexed) + static_cast<uint64_t>(offset_at(job, walk, kIndexed));
    std::byte* target = job.dense + offset_at(job, walk, kDense);
    const std::byte* mask = job.masked ? job.mask + offset_at(job, walk, kMask) : nullptr;
    advance(job, walk, n);
    const Address next_base = address_of(job.indexed) + static_cast<uint64_t>(offset_at(job, walk, kIndexed));
    for (int64_t k = 0; k < n; k += kGroup) {
      ElementGroup& group = groups[turn];
      group.n = n - k < kGroup ? static_cast<int>(n - k) : kGroup;
      group.target = target + k * job.unit;
      prefetch_ahead(address_of(source + k * index_bytes), group.n * index_bytes);
      const bool good = place_it(lane, source + k * index_bytes, mask == nullptr ? nullptr : mask + k,
                                 base + static_cast<uint64_t>(k) * along, group.n, group.address);
      if (!good) return false;
      group.run = is_run(group.address, group.n, job.unit);
      if (job.ahead != Ahead::points) {
        if (job.ahead == Ahead::runs) prefetch_share(next_base, job.run_span, k, kGroup, n);
        finish_group(job, move, group, nullptr);
        continue;
      }
      if (waiting != nullptr) finish_group(job, move, *waiting, &group);
      waiting = &group;
      turn ^= 1;
    }
    left -= n;
  }
  if (waiting != nullptr) finish_group(job, move, *waiting, nullptr);
  return true;
}

}  // namespace
}  // namespace gs::cpu::GS_ISA
