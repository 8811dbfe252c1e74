// group_kernels.h: the kernels that read ids and sort points by the groups that they name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/index_type.h"
#include "core/rule.h"

namespace gs {

// The group of a point that is left out: masked, or dropped by the rule.
template <class Key>
inline constexpr Key kNoGroup = std::numeric_limits<Key>::max();

inline constexpr int64_t kIdsOfBlock = 1024;

// At most kIdsOfBlock ids, of which those whose mask is 0 are left out before they are looked at.
struct IdBlock {
  const std::byte* ids;
  int64_t stride;
  IndexType type;
  const std::byte* mask;  // null: none
  int64_t mask_stride;
  int64_t n;
  int64_t groups;
  Rule rule;
};

// The points [first, last), of which each that has a group goes to the next place of its bucket of 2^shift groups.
struct PlacedPoints {
  const std::byte* keys;  // of point 0
  int64_t first, last;
  int shift;
  int64_t buckets;
  int64_t* place;  // the next place of each bucket
  std::byte*
      lines;  // line_bytes(buckets) bytes, aligned to 64, in which a line of each bucket is collected; null: none
};
constexpr int64_t line_bytes(int64_t buckets) {
  return buckets * (64 + int64_t{sizeof(int64_t)});
}

// For keys of one size.
struct GroupKernels {
  // Writes the groups of ids. Returns false if the rule forbids one of them. Under Bounds::unchecked an id outside is
  // left out.
  bool (*read)(const IdBlock& block, std::byte* keys);
  // Adds n points to the counts of their buckets, and those without a group to the count behind the last. Returns
  // whether no key is below the one before it.
  bool (*count)(const std::byte* keys, int64_t n, int shift, int64_t buckets, int64_t* counts);
  // Writes each point to its place. `target` is aligned to 64 bytes if there are lines.
  void (*place_points)(const PlacedPoints& points, int64_t* target);
  // The same with the group within the bucket in the upper half, for points below 2^32 and shifts of at most 32.
  void (*place_records)(const PlacedPoints& points, uint64_t* target);
};

const GroupKernels& group_kernels(int key_bytes);

}  // namespace gs
