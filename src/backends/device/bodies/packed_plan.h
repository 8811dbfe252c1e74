// packed_plan.h: the form in which kernels read a plan: one array of words, which is part of the kernel's parameters
// unless it is too long for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/device/bodies/divider.h"
#include "backends/device/bodies/memory_access.h"
#include "core/plan.h"
#include "core/rule.h"

namespace gs::device {

// What is resolved of a point so far.
struct PointState {
  int64_t dense = 0;
  int64_t indexed = 0;  // kNowhere: the point is nowhere, because of the mask or an index
  uint64_t raw = 0;     // the bytes of the index of the first array
  uint8_t mask = 1;     // 0: the point is masked
};

struct PackedPlan {
  static constexpr int kWords = 112;    // enough for rank 13 with one index array, or rank 6 with six
  static constexpr int kAxisWords = 3;  // a divider and the extent; a stride for every operand follows
  static constexpr int kArrayWords = 4;

  std::byte* dense = nullptr;
  std::byte* indexed = nullptr;
  const std::byte* mask = nullptr;  // null: none
  const std::byte* fill = nullptr;  // null: zero bytes
  int64_t item = 1;
  int64_t unit = 1;
  int64_t count = 0;
  const uint64_t* far = nullptr;  // the words of the plan if `words` is too short for them
  int32_t rank = 0;
  int32_t operands = 0;
  int32_t arrays = 0;
  int32_t folds = 0;
  Rule rule;
  uint64_t words[kWords] = {};

  GS_HD uint64_t word(int i) const { return far == nullptr ? words[i] : far[i]; }
  GS_HD int64_t number(int i) const { return static_cast<int64_t>(word(i)); }
  GS_HD Divider divider(int i) const {
    const uint64_t rest = word(i + 1);
    Divider by;
    by.magic = word(i);
    by.short_magic = static_cast<uint32_t>(rest);
    by.shift = static_cast<uint16_t>(rest >> 32);
    by.short_shift = static_cast<uint16_t>(rest >> 48);
    return by;
  }

  // The number of the word where the strides of an axis begin, where an index array begins (its address, extent, step
  // and form), and where a fold axis begins (a divider, its extent and stride).
  GS_HD int axis_at(int axis) const { return axis * (kAxisWords + operands) + kAxisWords; }
  GS_HD int array_at(int a) const { return rank * (kAxisWords + operands) + a * kArrayWords; }
  GS_HD int fold_at(int f) const { return array_at(arrays) + f * kArrayWords; }
  GS_HD int64_t extent(int axis) const { return number(axis_at(axis) - 1); }
  GS_HD int64_t stride(int operand, int axis) const { return number(axis_at(axis) + operand); }

  // Calls visit(axis_at(axis), coordinate) for the first `axes` axes; `flat` is the flat position among these axes.
  template <class Visit>
  GS_HD void walk(int64_t flat, int axes, Visit&& visit) const {
    for (int axis = axes - 1; axis > 0; --axis) {
      const int at = axis_at(axis);
      const int64_t outer = divider(at - kAxisWords).divide(flat);
      visit(at, flat - outer * number(at - 1));
      flat = outer;
    }
    if (axes > 0) visit(axis_at(0), flat);
  }

  // The bytes of the index of array `a` at a byte offset, and the value of such bytes.
  GS_HD uint64_t raw_index(int a, int64_t offset) const {
    const int at = array_at(a);
    return load_raw_index(static_cast<uint32_t>(word(at + 3)), reinterpret_cast<const std::byte*>(word(at)) + offset);
  }
  GS_HD uint64_t index_of(int a, uint64_t raw) const {
    return extended_index(static_cast<uint32_t>(word(array_at(a) + 3)), raw);
  }

  // The byte offset of one operand at a point, for operands that not every point needs.
  GS_HD int64_t offset_of(int operand, int64_t flat) const {
    int64_t offset = 0;
    walk(flat, rank, [&](int at, int64_t c) { offset += c * number(at + operand); });
    return offset;
  }

  // The number that is added to a negative index of array `a`.
  GS_HD int64_t from_end_of(int a) const {
    const int at = array_at(a);
    const bool counts = rule.negative == Negative::from_end && (word(at + 3) & 4) == 0;
    return counts ? number(at + 1) : 0;
  }
  // The position that the index `bits` of array `a` resolves to, or kNowhere. Most indices lie inside, where the bounds
  // policy does not matter.
  GS_HD int64_t position(int a, uint64_t bits) const {
    const int at = array_at(a);
    const int64_t size = number(at + 1);
    const int64_t usual = from_end(static_cast<int64_t>(bits), from_end_of(a));
    if (is_inside(usual, size)) [[likely]]
      return usual;
    if ((word(at + 3) & 7) == static_cast<uint64_t>(IndexType::u64)) return resolve(bits, size, rule);
    return resolve(static_cast<int64_t>(bits), size, rule);
  }
  // The byte offset of a position on the indexed side.
  GS_HD int64_t step_to(int a, int64_t position) const {
    if (folds == 0) return position * number(array_at(a) + 2);
    int64_t offset = 0;
    for (int f = folds - 1; f >= 0; --f) {
      const int at = fold_at(f);
      const int64_t rest = position < 0 ? 0 : divider(at).divide(position);
      offset += (position - rest * number(at + 2)) * number(at + 3);
      position = rest;
    }
    return offset;
  }

  // First half of resolving a point: loads its mask and its first index, but does not use them, so that the loads of
  // several points can be in flight.
  GS_HD PointState look(int64_t flat) const {
    PointState spot;
    int64_t mask_offset = 0;
    int64_t index_at = 0;
    walk(flat, rank, [&](int at, int64_t c) {
      spot.dense += c * number(at + kDense);
      spot.indexed += c * number(at + kIndexed);
      if (mask != nullptr) mask_offset += c * number(at + kMask);
      if (arrays > 0) index_at += c * number(at + kIndex);
    });
    if (mask != nullptr) spot.mask = load_shared<1>(mask + mask_offset);
    if (arrays > 0) spot.raw = raw_index(0, index_at);
    return spot;
  }

  // Second half: computes the point's offset on the indexed side. Returns false at a bad index.
  GS_HD bool settle(int64_t flat, PointState& spot) const {
    if (spot.mask == 0) {
      spot.indexed = kNowhere;
      return true;
    }
    for (int a = 0; a < arrays; ++a) {
      const uint64_t raw = a == 0 ? spot.raw : raw_index(a, offset_of(kIndex + a, flat));
      const int64_t at = position(a, index_of(a, raw));
      if (at == kNowhere) {
        spot.indexed = kNowhere;
        return rule.fills();
      }
      spot.indexed += step_to(a, at);
    }
    return true;
  }
};

}  // namespace gs::device
