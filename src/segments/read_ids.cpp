// read_ids.cpp: reads ids in blocks, each in loops without branches: a copy, the positions, the mask, the keys.
#include "segments/read_ids.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/index_blocks.h"
#include "core/rule.h"

namespace gs {
namespace {

constexpr int64_t kBlock = 1024;  // points whose ids and positions lie in the nearest cache

// What becomes of an id without a group is told by the sign and by these two values.
constexpr int64_t kOutside = -1;
constexpr int64_t kMasked = -2;

// The ids of a block, in private memory: another thread may write to the array, and the value that is checked must be
// the one that is used.
template <class Index>
void copy_ids(const std::byte* from, int64_t stride, int64_t n, Index* ids) {
  if (stride == int64_t{sizeof(Index)}) {
    std::memcpy(ids, from, static_cast<size_t>(n) * sizeof(Index));
  } else {
    for (int64_t i = 0; i < n; ++i) std::memcpy(ids + i, from + i * stride, sizeof(Index));
  }
  asm volatile("" : : "r"(ids) : "memory");
}

template <class Index>
void find_positions(const Index* ids, int64_t n, int64_t extent, Rule rule, int64_t* position) {
  if (extent == 0 || rule.bounds == Bounds::wrap) {
    for (int64_t i = 0; i < n; ++i) position[i] = std::max(resolve(ids[i], extent, rule), kOutside);
    return;
  }
  const int64_t added = added_to_negative(extent, rule.negative, std::is_signed_v<Index>);
  if (rule.bounds == Bounds::clip) {
    for (int64_t i = 0; i < n; ++i) {
      position[i] = resolve_lane<Bounds::clip>(widen(ids[i]), extent, added).position;
    }
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    const Lane lane = resolve_lane<Bounds::raise>(widen(ids[i]), extent, added);
    position[i] = lane.position | (lane.outside >> 63);  // kOutside
  }
}

void hide_masked(const std::byte* mask, int64_t stride, int64_t n, int64_t* position) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t kept = -static_cast<int64_t>(mask[i * stride] != std::byte{0});
    position[i] = (position[i] & kept) | (kMasked & ~kept);
  }
}

bool any_outside(const int64_t* position, int64_t n) {
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) found |= static_cast<int64_t>(position[i] == kOutside);
  return found != 0;
}

}  // namespace

template <class Key>
bool read_ids(const Plan& plan, const Buffers& buffers, int64_t first, int64_t last, Key* keys) {
  const IndexArray& index = plan.index[0];
  Rule rule = plan.rule;
  if (rule.bounds == Bounds::unchecked) rule.bounds = Bounds::fill;
  const bool can_fail = plan.can_fail();
  const int64_t stride = inner_stride(plan, kIndex);
  const int64_t mask_stride = inner_stride(plan, kMask);
  bool good = true;
  for_each_index_block(plan, buffers, first, last, kBlock, [&](int64_t flat, const Buffers& at, int64_t n) {
    alignas(64) int64_t position[kBlock];
    visit_index(index.type, [&]<class Index>() {
      alignas(64) Index ids[kBlock];
      copy_ids(at.index[0], stride, n, ids);
      find_positions(ids, n, index.extent, rule, position);
    });
    if (plan.masked) hide_masked(at.mask, mask_stride, n, position);
    if (can_fail && any_outside(position, n)) return good = false;
    Key* const to = keys + (flat - first);
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<Key>(position[i] | (position[i] >> 63));  // kNoGroup
    return true;
  });
  return good;
}

template bool read_ids(const Plan&, const Buffers&, int64_t, int64_t, uint16_t*);
template bool read_ids(const Plan&, const Buffers&, int64_t, int64_t, uint32_t*);
template bool read_ids(const Plan&, const Buffers&, int64_t, int64_t, uint64_t*);

int64_t largest_id(const Plan& plan, const Buffers& buffers, int64_t first, int64_t last) {
  const int64_t stride = inner_stride(plan, kIndex);
  const int64_t mask_stride = inner_stride(plan, kMask);
  int64_t largest = -1;
  for_each_index_block(plan, buffers, first, last, kBlock, [&](int64_t, const Buffers& at, int64_t n) {
    visit_index(plan.index[0].type, [&]<class Index>() {
      alignas(64) Index ids[kBlock];
      copy_ids(at.index[0], stride, n, ids);
      Index most = std::numeric_limits<Index>::min();
      bool any = !plan.masked;
      if (plan.masked) {
        for (int64_t i = 0; i < n; ++i) {
          const bool kept = at.mask[i * mask_stride] != std::byte{0};
          any |= kept;
          most = kept && ids[i] > most ? ids[i] : most;
        }
      } else {
        for (int64_t i = 0; i < n; ++i) most = ids[i] > most ? ids[i] : most;
      }
      if (any) largest = std::max(largest, widen(most));
    });
    return true;
  });
  return largest;
}

}  // namespace gs
