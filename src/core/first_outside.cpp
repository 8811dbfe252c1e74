// first_outside.cpp: finds the lowest bad index of a plan on the host.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/index_blocks.h"
#include "core/plan.h"

namespace gs {
namespace {

constexpr int64_t kBlock = 1024;

// Reads an index at any address, aligned or not.
template <class Index>
Index load(const std::byte* at) {
  Index value;
  std::memcpy(&value, at, sizeof(Index));
  return value;
}

// Whether one of some indices is outside, by a loop without branches.
template <class Index>
bool run_has_outside(const std::byte* at, int64_t stride, int64_t count, int64_t extent, Negative negative) {
  const int64_t added = added_to_negative(extent, negative);
  int64_t outside = 0;
  for (int64_t i = 0; i < count; ++i) {
    outside |= resolve_lane<Bounds::raise>(widen(load<Index>(at + i * stride)), extent, added).outside;
  }
  return outside < 0;
}

struct CheckedIndex {
  uint64_t bits;
  bool bad;
};

CheckedIndex check_index(const IndexArray& index, Rule rule, const std::byte* at) {
  return visit_index(index.type, [&]<class Index>() {
    const Index value = load<Index>(at);
    const bool bad = rule.forbids(index.extent) && resolve(value, index.extent, rule) == kNowhere;
    return CheckedIndex{static_cast<uint64_t>(value), bad};
  });
}

// Whether the block has a bad index at a point that is not masked.
bool block_is_bad(const Plan& plan, const Buffers& at, int64_t count) {
  for (int a = 0; a < plan.index.size(); ++a) {
    const IndexArray& index = plan.index[a];
    if (!plan.rule.forbids(index.extent)) continue;
    const int64_t stride = inner_stride(plan, kIndex + a);
    if (!plan.masked) {
      const bool bad = visit_index(index.type, [&]<class Index>() {
        return run_has_outside<Index>(at.index[a], stride, count, index.extent, plan.rule.negative);
      });
      if (bad) return true;
      continue;
    }
    const int64_t mask_stride = inner_stride(plan, kMask);
    for (int64_t i = 0; i < count; ++i) {
      if (plan.masked && at.mask[i * mask_stride] == std::byte{0}) continue;
      if (check_index(index, plan.rule, at.index[a] + i * stride).bad) return true;
    }
  }
  return false;
}

}  // namespace

bool any_outside(const Plan& plan, const Buffers& buffers, int64_t begin, int64_t end) {
  bool found = false;
  for_each_index_block(plan, buffers, begin, end, kBlock, [&](int64_t, const Buffers& at, int64_t count) {
    found = block_is_bad(plan, at, count);
    return !found;
  });
  return found;
}

std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers) {
  return first_outside(plan, buffers, 0, plan.index_space.count());
}

namespace {

// Adds the bad indices of a block to `found`, for plans of one index array without a mask.
void count_bad(const Plan& plan, const Buffers& at, int64_t flat, int64_t count, std::optional<BadIndex>& found) {
  const IndexArray& index = plan.index[0];
  const int64_t stride = inner_stride(plan, kIndex);
  visit_index(index.type, [&]<class Index>() {
    for (int64_t i = 0; i < count; ++i) {
      const Index value = load<Index>(at.index[0] + i * stride);
      if (resolve(value, index.extent, plan.rule) != kNowhere) continue;
      if (!found) found = BadIndex{flat + i, 0, index.extent, index.axis, index.type, static_cast<uint64_t>(value)};
      ++found->count;
    }
  });
}

}  // namespace

std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers, int64_t begin, int64_t end) {
  std::optional<BadIndex> found;
  for_each_index_block(plan, buffers, begin, end, kBlock, [&](int64_t flat, const Buffers& at, int64_t count) {
    if (!block_is_bad(plan, at, count)) return true;
    if (plan.index.size() == 1 && !plan.masked) {
      count_bad(plan, at, flat, count, found);
      return true;
    }
    for (int64_t i = 0; i < count; ++i) {
      if (plan.masked && at.mask[i * inner_stride(plan, kMask)] == std::byte{0}) continue;
      for (int a = 0; a < plan.index.size(); ++a) {
        const IndexArray& index = plan.index[a];
        const CheckedIndex value = check_index(index, plan.rule, at.index[a] + i * inner_stride(plan, kIndex + a));
        if (!value.bad) continue;
        if (!found) found = BadIndex{flat + i, 0, index.extent, index.axis, index.type, value.bits};
        ++found->count;
        break;  // a point counts once, with the lowest of its bad axes
      }
    }
    return true;
  });
  return found;
}

}  // namespace gs
