// elements.h: the body that gathers small units along a contiguous axis; every thread writes one word of the result.
#pragma once

#include <cstdint>
#include <cstring>

#include "backends/device/bodies/packed_plan.h"
#include "backends/device/bodies/thread.h"

namespace gs::device {

// For plans of the kinds `elements` and `axis` whose addresses are all multiples of the unit. A row of the result is
// cut where its addresses are multiples of a word, so that every part but the first and the last is stored as a whole
// word.
template <int kUnit>
struct MoveElements {
  static constexpr const char* kName = "elements";
  static constexpr uint64_t kVariant = kUnit;
  static constexpr int kEach = kUnit == 1 ? 8 : 16 / kUnit;  // more than 8 indices per thread need too many registers
  static constexpr int kBytes = kEach * kUnit;

  PackedPlan table = {};
  Status* status = nullptr;  // null: the rule forbids nothing
  int64_t row = 0;           // points of the innermost axis
  int64_t pieces = 0;        // words that one row may touch
  int64_t work = 0;          // words of all rows
  Divider by_pieces = {};

  GS_HD void operator()(Thread thread) const {
    for (int64_t w = thread.number; w < work; w += thread.count) move_piece(w);
  }

 private:
  GS_HD void move_piece(int64_t w) const {
    const int64_t number = by_pieces.divide(w);
    std::byte* dense = table.dense;
    const std::byte* source = table.indexed;
    const std::byte* index = reinterpret_cast<const std::byte*>(table.word(table.array_at(0)));
    int64_t mask_offset = 0;
    int64_t fill_offset = 0;
    table.walk(number, table.rank - 1, [&](int at, int64_t c) {
      dense += c * table.number(at + kDense);
      source += c * table.number(at + kIndexed);
      index += c * table.number(at + kIndex);
      if (table.mask != nullptr) mask_offset += c * table.number(at + kMask);
      if (table.fill != nullptr) fill_offset += c * table.number(at + kFill);
    });
    const auto ahead = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dense) % kBytes / kUnit);
    const int64_t begin = (w - number * pieces) * kEach - ahead;
    const int64_t first = begin < 0 ? 0 : begin;
    const int64_t last = begin + kEach < row ? begin + kEach : row;
    if (first >= last) return;
    const bool whole = last - first == kEach;

    uint64_t bits[kEach] = {};
    load_indices(index, begin, first, last, bits);
    const int64_t step = table.number(table.array_at(0) + 2);
    const int64_t advance = table.stride(kIndexed, table.rank - 1);
    Word<kUnit> words[kEach] = {};
    if (whole && table.mask == nullptr) {  // the usual case: all loads are issued before the first result is used
      const int64_t size = table.number(table.array_at(0) + 1);
      const int64_t from_end = table.from_end_of(0);
      bool inside = true;
      GS_UNROLL
      for (int i = 0; i < kEach; ++i) {
        inside = inside && is_inside(gs::from_end(static_cast<int64_t>(bits[i]), from_end), size);
      }
      if (inside) {
        GS_UNROLL
        for (int i = 0; i < kEach; ++i) {
          const int64_t position = gs::from_end(static_cast<int64_t>(bits[i]), from_end);
          words[i] = load_shared<kUnit>(source + position * step + (begin + i) * advance);
        }
        return store_piece(dense + begin * kUnit, words);
      }
    }
    uint32_t skipped = 0;
    GS_UNROLL
    for (int i = 0; i < kEach; ++i) {
      const int64_t at = begin + i;
      if (!whole && (at < first || at >= last)) continue;
      const bool masked = table.mask != nullptr && load_shared<1>(table.mask + mask_offset + at) == 0;
      const int64_t position = masked ? kNowhere : table.position(0, bits[i]);
      if (position != kNowhere) {
        words[i] = load_shared<kUnit>(source + position * step + at * advance);
      } else if (!masked && !table.rule.fills()) {
        skipped |= 1u << i;
        if (status != nullptr) status->report(number * row + at);
      } else if (table.fill != nullptr) {
        words[i] = load_anywhere<kUnit>(table.fill + fill_offset + at * table.stride(kFill, table.rank - 1));
      }
    }
    if (whole && skipped == 0) return store_piece(dense + begin * kUnit, words);
    GS_UNROLL
    for (int i = 0; i < kEach; ++i) {
      const int64_t at = begin + i;
      if (at >= first && at < last && (skipped >> i & 1) == 0) store_plain<kUnit>(dense + at * kUnit, words[i]);
    }
  }

  GS_HD static void store_piece(std::byte* target, const Word<kUnit>* words) {
    Word<kBytes> all;
    std::memcpy(static_cast<void*>(&all), words, kBytes);
    store_stream<kBytes>(target, all);
  }

  // Loads several indices with one load of up to 16 bytes, if all of them exist and are aligned to it.
  GS_HD void load_indices(const std::byte* index, int64_t begin, int64_t first, int64_t last, uint64_t* bits) const {
    const auto form = static_cast<uint32_t>(table.word(table.array_at(0) + 3));
    const int size = 1 << (form & 3);
    const int bytes = size * kEach < 16 ? size * kEach : 16;
    if (last - first == kEach && is_aligned(index + begin * size, bytes)) {
      const std::byte* at = index + begin * size;
      switch (form & 7) {
        case 0: return load_together<int8_t>(at, bits);
        case 1: return load_together<int16_t>(at, bits);
        case 2: return load_together<int32_t>(at, bits);
        case 4: return load_together<uint8_t>(at, bits);
        case 5: return load_together<uint16_t>(at, bits);
        case 6: return load_together<uint32_t>(at, bits);
        default: return load_together<uint64_t>(at, bits);
      }
    }
    GS_UNROLL
    for (int i = 0; i < kEach; ++i) {
      if (begin + i >= first && begin + i < last) bits[i] = load_raw_index(form, index + (begin + i) * size);
    }
    GS_UNROLL
    for (int i = 0; i < kEach; ++i) bits[i] = extended_index(form, bits[i]);
  }

  template <class Index>
  GS_HD static void load_together(const std::byte* at, uint64_t* bits) {
    constexpr int kSize = sizeof(Index);
    constexpr int kLoad = kSize * kEach < 16 ? kSize * kEach : 16;
    constexpr int kIndices = kLoad / kSize;
    GS_UNROLL
    for (int part = 0; part < kEach / kIndices; ++part) {
      const Word<kLoad> word = load_stream<kLoad>(at + part * kLoad);
      Index indices[kIndices];
      std::memcpy(indices, &word, kLoad);
      GS_UNROLL
      for (int i = 0; i < kIndices; ++i) {
        bits[part * kIndices + i] = pinned(static_cast<uint64_t>(static_cast<int64_t>(indices[i])));
      }
    }
  }
};

}  // namespace gs::device
