// point.h: computes the addresses of the operands at one point of a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/plan.h"
#include "core/rule.h"

namespace gs {

// A plan and its buffers as plain pointers into them.
struct PlanView {
  int rank = 0;
  int operands = 0;
  int index_count = 0;
  int fold_count = 0;
  const int64_t* extent = nullptr;
  const int64_t* stride = nullptr;  // axis-major: stride[axis * operands + operand], as in Space
  const IndexArray* index = nullptr;
  const FoldAxis* fold = nullptr;
  int64_t item = 1;
  int64_t unit = 1;
  int64_t count = 0;
  Rule rule;
  bool masked = false;
  std::byte* dense = nullptr;
  std::byte* indexed = nullptr;
  const std::byte* mask = nullptr;
  const std::byte* fill = nullptr;
  const std::byte* const* index_data = nullptr;
};

// The plan and the buffers must outlive the view.
inline PlanView view_of(const Plan& plan, const Buffers& buffers) {
  PlanView view;
  view.rank = plan.space.rank();
  view.operands = plan.space.operands();
  view.index_count = plan.index.size();
  view.fold_count = plan.fold.size();
  view.extent = plan.space.extents().data();
  view.stride = plan.space.strides();
  view.index = plan.index.data();
  view.fold = plan.fold.data();
  view.item = plan.item;
  view.unit = plan.unit;
  view.count = plan.space.count();
  view.rule = plan.rule;
  view.masked = plan.masked;
  view.dense = buffers.dense;
  view.indexed = buffers.indexed;
  view.mask = buffers.mask;
  view.fill = buffers.fill;
  view.index_data = buffers.index.data();
  return view;
}

PlanView view_of(const Plan&, const Buffers&&) = delete;

template <class Index>
int64_t resolve_at(const std::byte* at, int64_t extent, Rule rule) {
  Index value;
  memcpy(&value, at, sizeof(Index));
  // Prevents a second read: another thread may write to the array, and the value that is used must be the checked one.
  asm volatile("" : "+r"(value));
  return resolve(value, extent, rule);
}

inline int64_t resolve_any(IndexType type, const std::byte* at, int64_t extent, Rule rule) {
  switch (type) {
    case IndexType::i8: return resolve_at<int8_t>(at, extent, rule);
    case IndexType::i16: return resolve_at<int16_t>(at, extent, rule);
    case IndexType::i32: return resolve_at<int32_t>(at, extent, rule);
    case IndexType::i64: return resolve_at<int64_t>(at, extent, rule);
    case IndexType::u8: return resolve_at<uint8_t>(at, extent, rule);
    case IndexType::u16: return resolve_at<uint16_t>(at, extent, rule);
    case IndexType::u32: return resolve_at<uint32_t>(at, extent, rule);
    case IndexType::u64: return resolve_at<uint64_t>(at, extent, rule);
  }
  return kNowhere;
}

// Byte offset of a position on a folded axis. Resolves the position into the axes from the innermost one on.
inline int64_t unfold(int64_t position, const FoldAxis* fold, int count) {
  int64_t offset = 0;
  for (int f = count - 1; f >= 0; --f) {
    const int64_t rest = position / fold[f].extent;
    offset += (position - rest * fold[f].extent) * fold[f].stride;
    position = rest;
  }
  return offset;
}

// Byte offsets of the operands at one point, each from the start of its operand.
struct PointOffsets {
  int64_t dense = 0;
  int64_t indexed = 0;  // kNowhere: the point is masked, or an index has no position
  int64_t fill = 0;
  bool bad = false;  // an index has no position, and the rule does not fill
};

inline PointOffsets locate(const PlanView& plan, int64_t flat) {
  PointOffsets at;
  int64_t mask_offset = 0;
  constexpr int kInlineIndices = 4;
  int64_t index_offset[kInlineIndices] = {0, 0, 0, 0};
  int64_t rest = flat;
  for (int axis = plan.rank - 1; axis >= 0; --axis) {
    const int64_t outer = rest / plan.extent[axis];
    const int64_t coordinate = rest - outer * plan.extent[axis];
    rest = outer;
    const int64_t* stride = plan.stride + axis * plan.operands;
    at.dense += coordinate * stride[kDense];
    at.indexed += coordinate * stride[kIndexed];
    at.fill += coordinate * stride[kFill];
    mask_offset += coordinate * stride[kMask];
    for (int a = 0; a < plan.index_count && a < kInlineIndices; ++a) index_offset[a] += coordinate * stride[kIndex + a];
  }
  if (plan.masked && plan.mask[mask_offset] == std::byte{0}) {
    at.indexed = kNowhere;
    return at;
  }
  for (int a = 0; a < plan.index_count; ++a) {
    int64_t offset = a < kInlineIndices ? index_offset[a] : 0;
    if (a >= kInlineIndices) {  // more index arrays are rare: each of their offsets takes a walk of its own
      int64_t remaining = flat;
      for (int axis = plan.rank - 1; axis >= 0; --axis) {
        const int64_t outer = remaining / plan.extent[axis];
        offset += (remaining - outer * plan.extent[axis]) * plan.stride[axis * plan.operands + kIndex + a];
        remaining = outer;
      }
    }
    const IndexArray& index = plan.index[a];
    const int64_t position = resolve_any(index.type, plan.index_data[a] + offset, index.extent, plan.rule);
    if (position == kNowhere) {
      at.indexed = kNowhere;
      at.bad = !plan.rule.fills();
      return at;
    }
    at.indexed += plan.fold_count > 0 ? unfold(position, plan.fold, plan.fold_count) : position * index.step;
  }
  return at;
}

}  // namespace gs
