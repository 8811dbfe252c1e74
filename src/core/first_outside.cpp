// first_outside.cpp: finds the lowest bad index of a plan on the host.
#include <algorithm>
#include <cstring>
#include <type_traits>

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

int64_t inner_stride(const Plan& plan, int operand) {
  const Space& space = plan.index_space;
  return space.rank() == 0 ? 0 : space.stride(operand, space.rank() - 1);
}

// Walks the points [first, last) of the index space in blocks, each within one run of the innermost axis. Calls
// visit(flat, pointers, count) for each block until visit returns false.
template <class Visit>
void for_each_block(const Plan& plan, const Buffers& buffers, int64_t first, int64_t last, Visit&& visit) {
  const Space& space = plan.index_space;
  const int rank = space.rank();
  const int64_t run = rank == 0 ? 1 : space.extent(rank - 1);
  if (first >= last) return;
  Buffers row = buffers;
  Dims position = unravel(first, space.extents());
  int64_t begin = rank == 0 ? 0 : position[rank - 1];  // offset in the first run; every other run begins at 0
  for (int axis = 0; axis < rank - 1; ++axis) {
    if (row.mask) row.mask += position[axis] * space.stride(kMask, axis);
    for (int a = 0; a < plan.index.size(); ++a) row.index[a] += position[axis] * space.stride(kIndex + a, axis);
  }
  for (int64_t flat = first - begin;; flat += run) {
    Buffers at = row;
    const int64_t end = std::min(run, last - flat);
    for (; begin < end; begin += kBlock) {
      const int64_t count = std::min(end - begin, kBlock);
      if (at.mask) at.mask = row.mask + begin * inner_stride(plan, kMask);
      for (int a = 0; a < plan.index.size(); ++a) at.index[a] = row.index[a] + begin * inner_stride(plan, kIndex + a);
      if (!visit(flat + begin, at, count)) return;
    }
    if (flat + run >= last) return;
    begin = 0;
    for (int axis = rank - 2; axis >= 0; --axis) {
      const bool more = ++position[axis] < space.extent(axis);
      const int64_t steps = more ? 1 : 1 - space.extent(axis);
      if (row.mask) row.mask += steps * space.stride(kMask, axis);
      for (int a = 0; a < plan.index.size(); ++a) row.index[a] += steps * space.stride(kIndex + a, axis);
      if (more) break;
      position[axis] = 0;
    }
  }
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
  for_each_block(plan, buffers, begin, end, [&](int64_t, const Buffers& at, int64_t count) {
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
  for_each_block(plan, buffers, begin, end, [&](int64_t flat, const Buffers& at, int64_t count) {
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
