// kernel_groups.cpp: reads ids and places points by their groups. Compiled once for every instruction set level, in a
// namespace of its own.
#include <type_traits>

#include "backends/cpu/kernels/simd.h"
#include "backends/group_kernels.h"

namespace gs::cpu::GS_ISA {
namespace {

// The ids of a block, in private memory: another thread may write to the array, and the value that is checked must be
// the one that is used.
template <class Index>
void copy_ids(const IdBlock& block, Index* ids) {
  if (block.stride == int64_t{sizeof(Index)}) {
    __builtin_memcpy(ids, block.ids, static_cast<size_t>(block.n) * sizeof(Index));
  } else {
    for (int64_t i = 0; i < block.n; ++i) __builtin_memcpy(ids + i, block.ids + i * block.stride, sizeof(Index));
  }
  pin_copy(ids);
}

// Returns whether an id is outside.
template <Bounds kBounds, class Index, class Key>
bool find_keys(const IdBlock& block, const Index* __restrict ids, Key* __restrict keys) {
  const int64_t added = added_to_negative(block.groups, block.rule.negative, std::is_signed_v<Index>);
  int64_t outside = 0;
  for (int64_t i = 0; i < block.n; ++i) {
    const Lane lane = resolve_lane<kBounds>(widen(ids[i]), block.groups, added);
    keys[i] = static_cast<Key>(lane.position | (lane.outside >> 63));  // kNoGroup
    outside |= lane.outside;
  }
  return outside < 0;
}

template <class Index, class Key>
bool find_keys_one_by_one(const IdBlock& block, const Index* ids, Key* keys) {
  bool outside = false;
  for (int64_t i = 0; i < block.n; ++i) {
    const int64_t position = resolve(ids[i], block.groups, block.rule);
    keys[i] = position == kNowhere ? kNoGroup<Key> : static_cast<Key>(position);
    outside |= position == kNowhere;
  }
  return outside;
}

template <class Index, class Key>
bool find_keys_of(const IdBlock& block, Key* keys) {
  alignas(64) Index ids[kIdsOfBlock];
  copy_ids(block, ids);
  if (block.groups == 0 || block.rule.bounds == Bounds::wrap) return find_keys_one_by_one(block, ids, keys);
  if (block.rule.bounds == Bounds::clip) return find_keys<Bounds::clip>(block, ids, keys);
  return find_keys<Bounds::raise>(block, ids, keys);
}

// Leaves out what the mask hides. Returns whether a kept id is outside.
template <class Key>
bool hide_masked(const IdBlock& block, Key* keys) {
  bool outside = false;
  for (int64_t i = 0; i < block.n; ++i) {
    const bool kept = block.mask[i * block.mask_stride] != std::byte{0};
    outside |= kept && keys[i] == kNoGroup<Key>;
    keys[i] = kept ? keys[i] : kNoGroup<Key>;
  }
  return outside;
}

template <class Key>
bool read(const IdBlock& given, std::byte* memory) {
  auto* const keys = reinterpret_cast<Key*>(memory);
  IdBlock block = given;
  if (block.rule.bounds == Bounds::unchecked) block.rule.bounds = Bounds::fill;
  bool outside = visit_index(block.type, [&]<class Index>() { return find_keys_of<Index>(block, keys); });
  if (block.mask != nullptr) outside = hide_masked(block, keys);
  return !outside || !block.rule.forbids(block.groups);
}

template <class Key>
bool count(const std::byte* memory, int64_t n, int shift, int64_t buckets, int64_t* counts) {
  const auto* const keys = reinterpret_cast<const Key*>(memory);
  const auto bucket_of = [&](Key key) {
    return key == kNoGroup<Key> ? buckets : static_cast<int64_t>(static_cast<uint64_t>(key) >> shift);
  };
  bool falls = false;
  for (int64_t i = 1; i < n; ++i) falls |= keys[i] < keys[i - 1];
  if (!falls && n > 0 && keys[0] == keys[n - 1]) {  // sorted ids with long groups would wait for one counter
    counts[bucket_of(keys[0])] += n;
  } else {
    for (int64_t i = 0; i < n; ++i) ++counts[bucket_of(keys[i])];
  }
  return !falls;
}

constexpr uint64_t kSlots = kLine / sizeof(uint64_t);  // of a line

// Calls write(bucket, place, key, point) for each point with a group.
template <class Key, class Write>
GS_INLINE void for_each_point(const PlacedPoints& points, Write write) {
  const auto* const keys = reinterpret_cast<const Key*>(points.keys);
  for (int64_t i = points.first; i < points.last; ++i) {
    const Key key = keys[i];
    if (key == kNoGroup<Key>) continue;
    const uint64_t bucket = static_cast<uint64_t>(key) >> points.shift;
    write(bucket, static_cast<uint64_t>(points.place[bucket]++), static_cast<uint64_t>(key), static_cast<uint64_t>(i));
  }
}

// Points of a bucket lie side by side, but those of the next one elsewhere: whole lines are collected first, so that
// each is written once, past the caches, and no line of the target is read.
template <class Key, class Value>
void place_by_lines(const PlacedPoints& points, uint64_t* target, Value value_of) {
  const auto buckets = static_cast<uint64_t>(points.buckets);
  auto* const lines = reinterpret_cast<uint64_t*>(points.lines);
  uint64_t* const start = lines + buckets * kSlots;
  __builtin_memcpy(start, points.place, buckets * sizeof(uint64_t));
  // The places of a line before `start` belong to other threads.
  const auto write_line = [&](uint64_t bucket, uint64_t end) {
    const uint64_t begin = (end - 1) / kSlots * kSlots;
    const uint64_t* const line = lines + bucket * kSlots;
    if (start[bucket] <= begin && end - begin == kSlots) {
      return Simd::stream_line(reinterpret_cast<std::byte*>(target + begin), reinterpret_cast<const std::byte*>(line));
    }
    for (uint64_t at = begin > start[bucket] ? begin : start[bucket]; at < end; ++at) target[at] = line[at % kSlots];
  };
  for_each_point<Key>(points, [&](uint64_t bucket, uint64_t place, uint64_t key, uint64_t point) {
    lines[bucket * kSlots + place % kSlots] = value_of(key, point);
    if (place % kSlots == kSlots - 1) write_line(bucket, place + 1);
  });
  for (uint64_t bucket = 0; bucket < buckets; ++bucket) {
    const auto end = static_cast<uint64_t>(points.place[bucket]);
    if (end > start[bucket] && end % kSlots != 0) write_line(bucket, end);
  }
  Simd::finish_streaming();
}

template <class Key, class Value>
void place(const PlacedPoints& points, uint64_t* target, Value value_of) {
  if (points.lines != nullptr) return place_by_lines<Key>(points, target, value_of);
  for_each_point<Key>(points,
                      [&](uint64_t, uint64_t at, uint64_t key, uint64_t point) { target[at] = value_of(key, point); });
}

template <class Key>
void place_points(const PlacedPoints& points, int64_t* target) {
  place<Key>(points, reinterpret_cast<uint64_t*>(target), [](uint64_t, uint64_t point) { return point; });
}

template <class Key>
void place_records(const PlacedPoints& points, uint64_t* target) {
  const uint64_t mask = (uint64_t{1} << points.shift) - 1;
  place<Key>(points, target, [mask](uint64_t key, uint64_t point) { return (key & mask) << 32 | point; });
}

template <class Key>
constexpr GroupKernels kKernels = {read<Key>, count<Key>, place_points<Key>, place_records<Key>};

}  // namespace

const GroupKernels& groups(int key_bytes);  // of level.cpp
const GroupKernels& groups(int key_bytes) {
  return key_bytes == 2 ? kKernels<uint16_t> : key_bytes == 4 ? kKernels<uint32_t> : kKernels<uint64_t>;
}

}  // namespace gs::cpu::GS_ISA
