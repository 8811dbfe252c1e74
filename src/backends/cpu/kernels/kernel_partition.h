// kernel_partition.h: divides the points of a scatter by ranges of their targets, and scatters the points of one range.
// Included by kernel_blocks.cpp only, once for every instruction set level.
//
// Each index is read once, whatever the number of ranges is. A list is so short that the points stay in a near cache
// while they are ordered.
#pragma once

#include "backends/cpu/kernels/kernel_scatter.h"
#include "backends/cpu/kernels/kernel_scatter_elements.h"

namespace gs::cpu::GS_ISA {
namespace {

inline constexpr int kVectorRanges = 6;  // more ranges are ordered in two steps

// ---- any number of points, one after the other

inline constexpr int kSearchPoints = 64;  // points whose ranges are searched at a time

// Writes to `range` the number of bounds that are not above each target: 0 for targets below all ranges, `bounds` for
// those above. It reads, but does not use, up to a whole group of targets after the last one.
template <class Target>
void find_ranges(const Target* __restrict target, int n, const Target* bound, int bounds, uint8_t* __restrict range) {
  for (int k = 0; k < n; k += kSearchPoints) {
    Target found[kSearchPoints] = {};
    const int here = n - k < kSearchPoints ? n - k : kSearchPoints;
    for (int i = 0; i < bounds; ++i) {
      const Target limit = bound[i];
      for (int j = 0; j < kSearchPoints; ++j) found[j] += static_cast<Target>(target[k + j] >= limit);
    }
    for (int j = 0; j < here; ++j) range[k + j] = static_cast<uint8_t>(found[j]);
  }
}

// Writes to `cursor` where the points of each range, and those below and above all ranges, begin in a list of n points,
// and to `start` where the ranges begin and the last one ends.
void find_starts(const uint8_t* range, int n, int ranges, uint32_t* start, uint32_t* cursor) {
  // Four tables in turns: an increment would wait for the one before if both were of one range.
  constexpr int kTables = 4;
  uint32_t count[kTables][kMaxRanges + 2] = {};
  int k = 0;
  for (; k + kTables <= n; k += kTables) {
    for (int t = 0; t < kTables; ++t) ++count[t][range[k + t]];
  }
  for (; k < n; ++k) ++count[0][range[k]];
  uint32_t at = 0;
  for (int r = 0; r < ranges + 2; ++r) {
    cursor[r] = at;
    for (int t = 0; t < kTables; ++t) at += count[t][r];
  }
  for (int r = 0; r <= ranges; ++r) start[r] = cursor[r + 1];
}

// ---- elements: a list holds slots and values

// Slots and values before they are ordered.
struct ElementPoints {
  const uint32_t* slot;
  const std::byte* value;
  int n;
};

// Private memory for as many points as a list has, with room for a whole group of them after the last one.
struct ElementMemory {
  alignas(64) uint32_t slot[kMaxListPoints + kSearchPoints];
  alignas(64) std::byte value[kMaxListBytes + kVectorStep * 16];
};

struct ElementArrays {
  ElementMemory found;    // as the points of the list follow each other
  ElementMemory grouped;  // by groups of ranges
};

// Goes through the points once for each range and selects those of the range, sixteen at a time. Appends them at place
// `at` and returns the place after the last one.
template <int kUnit>
uint32_t select_ranges(const ElementPoints& points, const uint32_t* bound, int ranges, uint32_t* start, uint32_t at,
                       uint32_t* targets, std::byte* values) {
  for (int r = 0; r < ranges; ++r) {
    start[r] = at;
    at += Simd::select_values<kUnit>(points.slot, points.value, points.n, bound[r], bound[r + 1] - bound[r],
                                     targets + at, values + uint64_t{at} * kUnit);
  }
  return at;
}

// Many ranges are selected in two steps: first groups of ranges, then the ranges of each group.
template <int kUnit>
void order_by_selection(const ElementPoints& points, const uint32_t* bound, int ranges, uint32_t* start,
                        uint32_t* targets, std::byte* values, ElementMemory& memory) {
  if (ranges <= kVectorRanges) {
    start[ranges] = select_ranges<kUnit>(points, bound, ranges, start, 0, targets, values);
    return;
  }
  uint32_t group_bound[kMaxRanges + 1];
  uint32_t group_start[kMaxRanges + 1];
  int each = 2;  // ranges of a group: about as many as there are groups
  while (each * each < ranges) ++each;
  const int groups = (ranges + each - 1) / each;
  for (int g = 0; g < groups; ++g) group_bound[g] = bound[g * each];
  group_bound[groups] = bound[ranges];
  group_start[groups] = select_ranges<kUnit>(points, group_bound, groups, group_start, 0, memory.slot, memory.value);
  uint32_t at = 0;
  for (int g = 0; g < groups; ++g) {
    const uint32_t first = group_start[g];
    const ElementPoints group{memory.slot + first, memory.value + uint64_t{first} * kUnit,
                              static_cast<int>(group_start[g + 1] - first)};
    const int begin = g * each;
    const int here = ranges - begin < each ? ranges - begin : each;
    at = select_ranges<kUnit>(group, bound + begin, here, start + begin, at, targets, values);
  }
  start[ranges] = at;
}

// Moves one point after the other to its range.
template <int kUnit>
void order_one_by_one(const ElementPoints& points, const uint32_t* bound, int ranges, uint32_t* start,
                      uint32_t* __restrict targets, std::byte* __restrict values, ElementMemory&) {
  uint8_t range[kMaxListPoints];
  uint32_t cursor[kMaxRanges + 2];
  find_ranges(points.slot, points.n, bound, ranges + 1, range);
  find_starts(range, points.n, ranges, start, cursor);
  for (int k = 0; k < points.n; ++k) {
    const uint64_t at = cursor[range[k]]++;
    targets[at] = points.slot[k];
    __builtin_memcpy(values + at * kUnit, points.value + k * kUnit, kUnit);
  }
}

template <int kUnit>
constexpr auto order_elements() {
  if constexpr (Simd::kHasVectors) {
    return order_by_selection<kUnit>;
  } else {
    return order_one_by_one<kUnit>;
  }
}

using OrderElements = void (*)(const ElementPoints&, const uint32_t*, int, uint32_t*, uint32_t*, std::byte*,
                               ElementMemory&);

OrderElements order_for(int64_t unit) {
  switch (unit) {
    case 1: return order_elements<1>();
    case 2: return order_elements<2>();
    case 4: return order_elements<4>();
    case 8: return order_elements<8>();
    default: return order_elements<16>();
  }
}

// Resolves the indices of the points [first, last) to slots, and prefetches their values meanwhile. Returns false if
// the rule forbids an index.
bool find_slots(const Job& job, int64_t first, int64_t last, Address first_slot, uint32_t* slot) {
  const JobIndex& index = job.index[0];
  const int inner = job.rank - 1;
  const int64_t index_bytes = index_size(index.type);
  const PositionReader positions_of = position_reader(job.rule.bounds, index.type);
  const ElementAddressing lane = addressing_of(job);
  const bool fetches_values = job.packed && job.step == JobStep::partition;
  GroupMask group;
  Walk walk;
  seek(job, walk, first);
  for (int64_t left = last - first; left > 0;) {
    const int64_t in_run = job.extent[inner] - walk.at[inner];
    const int64_t n = left < in_run ? left : in_run;
    const std::byte* source = index.data + offset_at(job, walk, kIndex);
    const std::byte* mask = job.masked ? job.mask + offset_at(job, walk, kMask) : nullptr;
    const Address base = address_of(job.indexed) + static_cast<uint64_t>(offset_at(job, walk, kIndexed));
    const Address values = address_of(job.dense) + static_cast<uint64_t>(offset_at(job, walk, kDense));
    const auto ahead = static_cast<uint32_t>((base - first_slot) / static_cast<uint64_t>(index.step));
    for (int64_t k = 0; k < n; k += kGroup, slot += kGroup) {
      const int count = n - k < kGroup ? static_cast<int>(n - k) : kGroup;
      const GroupMask* const kept = mask == nullptr ? nullptr : group.read_from(mask + k, count);
      prefetch_ahead(address_of(source + k * index_bytes), count * index_bytes);
      if (fetches_values) prefetch_unit(values + static_cast<uint64_t>(k * job.unit), count * job.unit);
      if (!positions_of(lane, source + k * index_bytes, kept, count, slot)) return false;
      if (ahead != 0) {
        for (int j = 0; j < count; ++j) slot[j] = slot[j] == kNowhere32 ? kNowhere32 : slot[j] + ahead;
      }
      if (count < kGroup) slot -= kGroup - count;
    }
    advance(job, walk, n);
    left -= n;
  }
  return true;
}

// The values of n points from `first` on, collected in `memory` if they do not lie side by side.
const std::byte* find_values(const Job& job, int64_t first, int n, std::byte* memory) {
  const int inner = job.rank - 1;
  Walk walk;
  seek(job, walk, first);
  if (job.packed && n <= job.extent[inner] - walk.at[inner]) return job.dense + offset_at(job, walk, kDense);
  for (int done = 0; done < n;) {
    const int64_t in_run = job.extent[inner] - walk.at[inner];
    const int here = n - done < in_run ? n - done : static_cast<int>(in_run);
    const std::byte* const from = job.dense + offset_at(job, walk, kDense);
    std::byte* const to = memory + done * job.unit;
    if (job.packed) {
      copy_bytes(to, from, here * job.unit);
    } else {
      write_fill(to, here * job.unit, from, job.unit, 0);  // a run scatters one value
    }
    advance(job, walk, here);
    done += here;
  }
  return memory;
}

bool list_elements(const Job& job, int64_t first, int64_t last) {
  const Partition& all = *job.to.partition;
  const int64_t number = (first - all.begin) / all.points;
  auto& [memory, grouped] = in_scratch<ElementArrays>();
  ElementPoints points{memory.slot, nullptr, static_cast<int>(last - first)};
  if (!find_slots(job, first, last, all.first, memory.slot)) return false;
  pin_copy(memory.slot);
  points.value = find_values(job, first, points.n, memory.value);
  auto* const targets = reinterpret_cast<uint32_t*>(all.target) + number * all.stride;
  std::byte* const values = all.value + number * all.stride * job.unit;
  const OrderElements order = order_for(job.unit);
  order(points, all.slot_bound, all.ranges, all.starts(number), targets, values, grouped);
  return true;
}

// ---- units: a list holds addresses of targets and values

struct UnitList {
  alignas(64) Address target[kMaxListUnits + kSearchPoints];
  alignas(64) Address value[kMaxListUnits];
  uint8_t range[kMaxListUnits];
};

struct UnitArrays {
  PlacementScratch placement;
  PointBlock block;
  UnitList list;
};

// Finds the targets and values of the points [first, last). Returns false if the rule forbids an index.
bool find_units(const Job& job, int64_t first, int64_t last, UnitArrays& arrays) {
  auto& [scratch, block, list] = arrays;
  Walk walk;
  seek(job, walk, first);
  int n = 0;
  for (int64_t left = last - first; left > 0;) {
    const int here = next_size(job, walk, left);
    if (!place(job, walk, here, scratch, block)) return false;
    for (int k = 0; k < here; ++k) {
      list.target[n + k] = block.address[k];
      list.value[n + k] = dense_at(job, block, k);
    }
    n += here;
    advance(job, walk, here);
    left -= here;
  }
  return true;
}

bool list_units(const Job& job, int64_t first, int64_t last) {
  const Partition& all = *job.to.partition;
  const int64_t number = (first - all.begin) / all.points;
  auto& arrays = in_scratch<UnitArrays>();
  UnitList& list = arrays.list;
  const auto n = static_cast<int>(last - first);
  if (!find_units(job, first, last, arrays)) return false;
  uint32_t cursor[kMaxRanges + 2];
  find_ranges(list.target, n, all.bound, all.ranges + 1, list.range);
  find_starts(list.range, n, all.ranges, all.starts(number), cursor);
  auto* const targets = reinterpret_cast<Address*>(all.target) + number * all.stride;
  auto* const values = reinterpret_cast<Address*>(all.value) + number * all.stride;
  for (int k = 0; k < n; ++k) {
    const uint32_t at = cursor[list.range[k]]++;
    targets[at] = list.target[k];
    values[at] = list.value[k];
  }
  return true;
}

bool list_points(const Job& job, int64_t first, int64_t last) {
  return job.form == Form::elements ? list_elements(job, first, last) : list_units(job, first, last);
}

// ---- marks

struct MarkArrays {
  alignas(64) uint32_t slot[kMaxListUnits];
  alignas(64) uint32_t position[kMaxListUnits + kSearchPoints];
  UnitArrays units;
};

// Finds the slots of the points [first, last), at most kMaxListUnits. Returns false if the rule forbids an index.
bool find_marks(const Job& job, int64_t first, int64_t last, MarkArrays& arrays) {
  uint32_t* const slot = arrays.slot;
  const auto n = static_cast<int>(last - first);
  if (job.form == Form::elements) {
    uint32_t* const position = arrays.position;
    if (!find_slots(job, first, last, job.to.marks.first, position)) return false;
    pin_copy(position);
    const auto step = static_cast<uint32_t>(job.index[0].step);
    for (int k = 0; k < n; ++k) slot[k] = position[k] == kNowhere32 ? kNowhereSlot : position[k] * step;
    return true;
  }
  const UnitList& list = arrays.units.list;
  if (!find_units(job, first, last, arrays.units)) return false;
  for (int k = 0; k < n; ++k) {
    slot[k] = list.target[k] == 0 ? kNowhereSlot : static_cast<uint32_t>(list.target[k] - job.to.marks.first);
  }
  return true;
}

// Sets the bits of slots, that of the last one first. Slots whose bit was set before become kNowhereSlot; whether
// it was is no branch, because that would be unpredictable. Returns the bits that were set before.
uint64_t mark_slots(uint64_t* bits, uint32_t* slot, int n) {
  uint64_t met = 0;
  for (int k = n; k-- > 0;) {
    if (k >= kTargetsAhead) prefetch_near(address_of(bits + slot[k - kTargetsAhead] / 64));
    if (slot[k] == kNowhereSlot) continue;
    uint64_t& word = bits[slot[k] / 64];
    const uint64_t bit = uint64_t{1} << (slot[k] % 64);
    const uint64_t before = word & bit;
    word |= bit;
    met |= before;
    slot[k] |= 0 - static_cast<uint32_t>(before != 0);
  }
  return met;
}

// Marks the targets of the points [first, last) in a bitmap that no other thread has. From the last point on, so that
// the points that meet no mark are those that win. Returns false if the rule forbids an index.
bool mark_points(const Job& job, int64_t first, int64_t last) {
  auto& arrays = in_scratch<MarkArrays>();
  uint32_t* const slot = arrays.slot;
  while (first < last) {
    const int64_t begin = last - first < kMaxListUnits ? first : last - kMaxListUnits;
    const auto n = static_cast<int>(last - begin);
    if (!find_marks(job, begin, last, arrays)) return false;
    *job.to.marks.met |= mark_slots(job.to.marks.bits, slot, n);
    if (job.to.marks.flat != nullptr) __builtin_memcpy(job.to.marks.flat + begin, slot, static_cast<size_t>(n) * 4);
    last = begin;
  }
  return true;
}

// ---- one range

// Calls use(first, n) with the place of the points of a range in each list. Prefetches the points of the next list
// meanwhile, because another processor may have written them, and so few lines lie side by side that the processor does
// not prefetch them by itself.
template <class Use>
GS_INLINE void for_each_list(const Partition& all, int64_t range, int64_t target_bytes, int64_t value_bytes, Use use) {
  const auto prefetch_list = [&](int64_t number) {
    if (number >= all.lists) return;
    const uint32_t* const start = all.starts(number) + range;
    const int64_t first = number * all.stride + start[0];
    const int64_t n = start[1] - start[0];
    if (n == 0) return;
    prefetch_unit(address_of(all.target + first * target_bytes), n * target_bytes);
    prefetch_unit(address_of(all.value + first * value_bytes), n * value_bytes);
  };
  prefetch_list(0);
  for (int64_t number = 0; number < all.lists; ++number) {
    prefetch_list(number + 1);
    const uint32_t* const start = all.starts(number) + range;
    if (start[0] < start[1]) use(number * all.stride + start[0], static_cast<int>(start[1] - start[0]));
  }
}

void finish_elements(const Job& job, int64_t range) {
  const Partition& all = *job.to.partition;
  const auto* const slots = reinterpret_cast<const uint32_t*>(all.target);
  const ApplyElements apply = job.to.sum.apply_elements != nullptr ? job.to.sum.apply_elements : write_for(job.unit);
  Elements elements;
  elements.base = all.first;
  elements.step = static_cast<uint64_t>(job.index[0].step);
  elements.along = 0;
  elements.totals = job.to.sum.totals;
  elements.begun = begun_at(job, all.first);
  elements.far = job.ahead == Ahead::units;
  for_each_list(all, range, 4, job.unit, [&](int64_t first, int n) {
    elements.values = all.value + first * job.unit;
    for (int k = 0; k < n; k += kElementPoints) {
      const int here = n - k < kElementPoints ? n - k : kElementPoints;
      apply(elements, slots + first + k, nullptr, here);
      elements.next(here, job.unit);
    }
  });
}

void finish_units(const Job& job, int64_t range) {
  const auto* const targets = reinterpret_cast<const Address*>(job.to.partition->target);
  const auto* const values = reinterpret_cast<const Address*>(job.to.partition->value);
  for_each_list(*job.to.partition, range, 8, 8, [&](int64_t first, int n) {
    if (job.to.sum.apply != nullptr) return job.to.sum.apply(job, targets + first, values + first, n);
    with_unit(job, [&](auto copy) { scatter_units(targets + first, values + first, n, job.unit, copy); });
  });
}

void finish_range(const Job& job, int64_t range) {
  job.form == Form::elements ? finish_elements(job, range) : finish_units(job, range);
}

// Not inlined, so that what a list needs does not slow down small moves, which have the same caller.
[[gnu::noinline]] bool run_step(const Job& job, int64_t first, int64_t last) {
  if (job.step == JobStep::partition) return list_points(job, first, last);
  if (job.step == JobStep::mark) return mark_points(job, first, last);
  for (int64_t range = first; range < last; ++range) finish_range(job, range);
  if (job.stream) Simd::finish_streaming();
  return true;
}

}  // namespace
}  // namespace gs::cpu::GS_ISA
