// kernel_scatter_elements.h: the fast path of scatters for small units with one contiguous index array: it handles
// positions and points as 32-bit numbers and picks a thread's own points by position. Included by kernel_blocks.cpp
// only, once for every instruction set level.
#pragma once

#include "backends/cpu/kernels/kernel_elements.h"
#include "backends/cpu/kernels/simd.h"

namespace gs::cpu::GS_ISA {
namespace {

static_assert(kGroup <= kElementPoints);

// The position of a point that is dropped. Every axis on this path is shorter.
inline constexpr uint32_t kNowhere32 = UINT32_MAX;

// The own points of a thread; where it owns all of them, their positions alone. There is room for a whole vector after
// the last point.
struct Picked {
  alignas(64) uint32_t position[kElementPoints + kVectorStep];
  alignas(64) uint32_t point[kElementPoints + kVectorStep];
};

// The mask of a group of points, read once: -1 for points that are kept, 0 for others.
struct GroupMask {
  int points = 0;  // that are kept
  alignas(64) int8_t keep[kGroup];

  const GroupMask* read_from(const std::byte* mask, int n) {
    n == kGroup ? read_points(mask, FullElementGroup{}) : read_points(mask, n);
    return this;
  }

 private:
  template <class Count>
  void read_points(const std::byte* mask, Count n) {
    for (int k = 0; k < n; ++k) keep[k] = static_cast<int8_t>(-static_cast<int>(read<uint8_t>(mask + k) != 0));
    pin_copy(keep);
    uint8_t kept = 0;
    for (int k = 0; k < n; ++k) kept = static_cast<uint8_t>(kept - keep[k]);
    points = kept;
  }
};

// Resolves the indices of a group of points to positions in private memory. Returns false if the rule forbids an index.
// kMasked: `keep` is the mask of the group; positions of points that are not kept are nowhere, whatever their index.
template <class Index, Bounds kBounds, bool kMasked, class Count>
inline bool group_positions(const ElementAddressing& lane, const std::byte* source, const int8_t* keep, Count n,
                            uint32_t* __restrict position) {
  alignas(64) int64_t value[kGroup];
  for (int k = 0; k < n; ++k) value[k] = widen(read<Index>(source + k * static_cast<int64_t>(sizeof(Index))));
  pin_copy(value);
  if constexpr (kMasked) {
    for (int k = 0; k < n; ++k) value[k] &= int64_t{keep[k]};  // 0 is a position of every axis on this path
  }
  int64_t outside = 0;
  for (int k = 0; k < n; ++k) {
    const Lane at = resolve_lane<kBounds>(value[k], lane.extent, lane.from_end);
    position[k] = static_cast<uint32_t>(at.position);
    if constexpr (kBounds == Bounds::fill) {
      position[k] = at.outside < 0 ? kNowhere32 : position[k];
    } else {
      outside |= at.outside;
    }
    if constexpr (kMasked) position[k] |= ~static_cast<uint32_t>(int32_t{keep[k]});
  }
  return outside >= 0 || !lane.checked;
}

// As above, in registers where the level has vectors for it and the axis is not too long.
template <class Index, Bounds kBounds, bool kMasked, class Count>
inline bool quick_positions(const ElementAddressing& lane, const std::byte* source, const int8_t* keep, Count n,
                            uint32_t* position) {
  if constexpr (Simd::kHasVectors) {
    if (lane.extent <= INT32_MAX) {
      const PositionLimits limits(lane.extent, lane.from_end, kBounds == Bounds::clip);
      const bool inside =
          Simd::positions<Index, kBounds == Bounds::fill>(limits, source, kMasked ? keep : nullptr, n, position);
      return inside || !lane.checked;
    }
  }
  return group_positions<Index, kBounds, kMasked>(lane, source, keep, n, position);
}

template <class Index, Bounds kBounds, bool kMasked>
bool full_or_part(const ElementAddressing& lane, const std::byte* source, const int8_t* keep, int n,
                  uint32_t* position) {
  if (n == kGroup) {
    return quick_positions<Index, kBounds, kMasked>(lane, source, keep, FullElementGroup{}, position);
  }
  return quick_positions<Index, kBounds, kMasked>(lane, source, keep, n, position);
}

// `mask` may be null. The indices of a group without points are not read.
template <class Index, Bounds kBounds>
bool positions(const ElementAddressing& lane, const std::byte* source, const GroupMask* mask, int n,
               uint32_t* position) {
  if (mask != nullptr && mask->points == 0) {
    for (int k = 0; k < n; ++k) position[k] = kNowhere32;
    return true;
  }
  const bool all = mask == nullptr || mask->points == n;
  const bool good = all ? full_or_part<Index, kBounds, false>(lane, source, nullptr, n, position)
                        : full_or_part<Index, kBounds, true>(lane, source, mask->keep, n, position);
  pin_copy(position);
  return good;
}

using PositionReader = bool (*)(const ElementAddressing&, const std::byte*, const GroupMask*, int, uint32_t*);

template <Bounds kBounds>
PositionReader positions_for(IndexType type) {
  constexpr PositionReader forms[] = {positions<int8_t, kBounds>,   positions<int16_t, kBounds>,
                                      positions<int32_t, kBounds>,  positions<int64_t, kBounds>,
                                      positions<uint8_t, kBounds>,  positions<uint16_t, kBounds>,
                                      positions<uint32_t, kBounds>, positions<uint64_t, kBounds>};
  return forms[static_cast<int>(type)];
}

PositionReader position_reader(Bounds bounds, IndexType type) {
  if (bounds == Bounds::clip) return positions_for<Bounds::clip>(type);
  return bounds == Bounds::fill ? positions_for<Bounds::fill>(type) : positions_for<Bounds::raise>(type);
}

ElementAddressing addressing_of(const Job& job) {
  ElementAddressing lane;
  lane.extent = job.index[0].extent;
  lane.from_end = added_to_negative(lane.extent, job.rule.negative);
  lane.checked = job.rule.bounds != Bounds::unchecked;
  return lane;
}

// Appends those of the points first, first + 1, .. whose position lies in [low, low + span) to the m points that are
// picked already. Returns the new number of picked points.
int pick_positions(const uint32_t* from, int n, int first, uint32_t low, uint32_t span, Picked& picked, int m) {
  return m + Simd::select(from, n, low, span, first, picked.position + m, picked.point + m);
}

template <int kUnit>
void write_elements(const Elements& elements, const uint32_t* position, const uint32_t* point, int n) {
  const std::byte* const values = elements.values;
  const Address base = elements.base;
  const auto write = [values](Address target, uint64_t k) {
    __builtin_memcpy(pointer_to(target), values + k * kUnit, kUnit);
  };
  // Stores leave in order: one that waits for its line holds up all others.
  elements.fetch_far(position, point, n);
  if (elements.along == 0 && elements.step == kUnit && point != nullptr) {
    for (int j = 0; j < n; ++j) write(base + uint64_t{position[j]} * kUnit, point[j]);
  } else if (elements.along == 0 && elements.step == kUnit) {
    for (int j = 0; j < n; ++j) write(base + uint64_t{position[j]} * kUnit, static_cast<uint64_t>(j));
  } else {
    for (int j = 0; j < n; ++j) {
      const uint64_t k = point == nullptr ? static_cast<uint64_t>(j) : point[j];
      write(elements.target(position[j], k), k);
    }
  }
}

ApplyElements write_for(int64_t unit) {
  switch (unit) {
    case 1: return write_elements<1>;
    case 2: return write_elements<2>;
    case 4: return write_elements<4>;
    case 8: return write_elements<8>;
    default: return write_elements<16>;
  }
}

// The positions of one run whose targets lie in the address range of this thread: [low, low + span).
struct Own {
  bool all;
  uint32_t low;
  uint32_t span;
};

Own own_positions(const Job& job, Address base, int64_t extent, uint64_t step) {
  const auto below = [&](Address limit) -> int64_t {  // the number of positions whose targets lie below `limit`
    if (limit <= base) return 0;
    const uint64_t count = (limit - base + step - 1) / step;
    return count > static_cast<uint64_t>(extent) ? extent : static_cast<int64_t>(count);
  };
  const int64_t low = below(job.to.own_low);
  const int64_t high = below(job.to.own_high);
  return {low == 0 && high == extent, static_cast<uint32_t>(low), static_cast<uint32_t>(high - low)};
}

// SlotCounts::begun of the slot at `base`, which may lie below the window.
uint8_t* begun_at(const Job& job, Address base) {
  if (job.to.sum.counts == nullptr) return nullptr;
  const auto distance = static_cast<int64_t>(base - job.to.sum.counts->first);
  return reinterpret_cast<uint8_t*>(reinterpret_cast<Address>(job.to.sum.counts->begun) +
                                    static_cast<uint64_t>(distance / job.unit));
}

// Whether each position is the one after the position before it. The two ends reject nearly all other groups. A point
// that is nowhere is not in front of position 0, although its number plus one is 0.
inline bool ascends_by_one(const uint32_t* position, int n) {
  if (position[0] == kNowhere32 || position[n - 1] - position[0] != static_cast<uint32_t>(n - 1)) return false;
  uint32_t different = 0;
  for (int k = 0; k < n; ++k) different |= position[k] ^ (position[0] + static_cast<uint32_t>(k));
  return different == 0;
}

// As follow_closely, for the targets of n points.
inline bool targets_follow(const Elements& elements, Address before, const uint32_t* position, int n, int64_t step) {
  return elements.along == 0 && follow_closely(before, n, step, [&](int k) { return elements.target(position[k], 0); });
}

// Copies the values of a group whose n targets follow each other from position `first` on, as far as they are own ones.
void copy_own(const Elements& elements, const Own& own, uint32_t first, int n, int64_t unit) {
  const int64_t begin = first > own.low ? first : own.low;
  const int64_t own_end = int64_t{own.low} + own.span;
  const int64_t end = int64_t{first} + n < own_end ? int64_t{first} + n : own_end;
  if (begin >= end) return;
  copy_bytes(pointer_to(elements.target(static_cast<uint64_t>(begin), 0)), elements.values + (begin - first) * unit,
             (end - begin) * unit);
}

bool scatter_elements(const Job& job, int64_t first, int64_t last) {
  const JobIndex& index = job.index[0];
  const int inner = job.rank - 1;
  const int64_t index_bytes = index_size(index.type);
  const PositionReader positions_of = position_reader(job.rule.bounds, index.type);
  const ApplyElements apply = job.to.sum.apply_elements != nullptr ? job.to.sum.apply_elements : write_for(job.unit);
  const ElementAddressing lane = addressing_of(job);
  Elements elements;
  elements.step = static_cast<uint64_t>(index.step);
  elements.along = static_cast<uint64_t>(stride_of(job, kIndexed, inner));
  elements.totals = job.to.sum.totals;
  const bool far = job.ahead == Ahead::units;
  const bool drops = job.rule.bounds == Bounds::fill || job.masked;
  const bool one_value = !job.packed;  // a run scatters one value, which is repeated for the points of a block
  const bool may_copy =
      job.to.sum.apply_elements == nullptr && !one_value && elements.along == 0 && index.step == job.unit;
  const int64_t value_step = one_value ? 0 : job.unit;
  const int most = far ? kFarElementPoints : kElementPoints;  // points before a write
  static_assert(kFarElementPoints * 16 <= host::kScratchBytes);
  std::byte* const repeated = one_value ? host::thread_scratch() : nullptr;

  Walk walk;
  seek(job, walk, first);
  alignas(64) uint32_t position[kGroup];
  GroupMask group;
  Picked picked;
  for (int64_t left = last - first; left > 0;) {
    const int64_t in_run = job.extent[inner] - walk.at[inner];
    const int64_t n = left < in_run ? left : in_run;
    const std::byte* source = index.data + offset_at(job, walk, kIndex);
    const std::byte* mask = job.masked ? job.mask + offset_at(job, walk, kMask) : nullptr;
    elements.base = address_of(job.indexed) + static_cast<uint64_t>(offset_at(job, walk, kIndexed));
    elements.begun = begun_at(job, elements.base);
    elements.values = job.dense + offset_at(job, walk, kDense);
    if (one_value) {
      write_fill(repeated, (n < most ? n : most) * job.unit, elements.values, job.unit, 0);
      elements.values = repeated;
    }
    const Own own = job.to.own_all ? Own{true, 0, static_cast<uint32_t>(index.extent)}
                                   : own_positions(job, elements.base, index.extent, elements.step);
    const bool picks = !own.all || drops;
    const uint32_t* const point = picks ? picked.point : nullptr;
    advance(job, walk, n);
    const Address next_base = address_of(job.indexed) + static_cast<uint64_t>(offset_at(job, walk, kIndexed));
    int waiting = 0;  // points since the last write
    int m = 0;
    Address before = 0;     // the last target that was written
    bool is_apart = false;  // far targets, all of which are own ones, and which do not follow each other closely
    for (int64_t k = 0; k < n; k += kGroup) {
      const int count = n - k < kGroup ? static_cast<int>(n - k) : kGroup;
      if (job.ahead == Ahead::runs) prefetch_share(next_base, job.run_span, k, kGroup, n);
      const GroupMask* const kept = mask == nullptr ? nullptr : group.read_from(mask + k, count);
      if (kept == nullptr || kept->points > 0) {  // else nothing but the mask is read
        prefetch_ahead(address_of(source + k * index_bytes), count * index_bytes);
        prefetch_ahead(address_of(elements.values + waiting * value_step), count * value_step);
        uint32_t* const to = picks ? position : picked.position + waiting;
        if (!positions_of(lane, source + k * index_bytes, kept, count, to)) return false;
        if (may_copy && ascends_by_one(to, count)) {
          if (m > 0) {
            elements.far = far;
            apply(elements, picked.position, point, m);
          }
          if (far) before = elements.target(to[count - 1], 0);
          elements.next(waiting, value_step);
          copy_own(elements, own, to[0], count, job.unit);
          elements.next(count, value_step);
          waiting = m = 0;
          continue;
        }
        if (!picks && far) {
          const Address latest = m > 0 ? elements.target(picked.position[m - 1], 0) : before;
          is_apart = !targets_follow(elements, latest, to, count, kCloseTargets);
        }
        m = picks ? pick_positions(position, count, waiting, own.low, own.span, picked, m) : m + count;
      }
      waiting += count;
      const bool is_full = waiting + kGroup > most || m + kGroup > kElementPoints || !(picks || is_apart);
      if (!is_full && k + kGroup < n) continue;
      elements.far = far && m > 0 && !targets_follow(elements, before, picked.position, m, kNearTargets);
      if (far && m > 0) before = elements.target(picked.position[m - 1], 0);
      apply(elements, picked.position, point, m);
      elements.next(waiting, value_step);
      waiting = m = 0;
    }
    left -= n;
  }
  return true;
}

}  // namespace
}  // namespace gs::cpu::GS_ISA
