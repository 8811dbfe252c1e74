// units.h: the body that moves whole units in words of 1 to 16 bytes; neighbouring lanes move neighbouring words.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backends/device/bodies/packed_plan.h"
#include "backends/device/bodies/slots.h"
#include "backends/device/bodies/thread.h"

namespace gs::device {

// The word of padding that belongs at byte `at_byte` of a unit. The padding repeats one item.
template <int kWord>
GS_HD Word<kWord> padding(const PackedPlan& table, int64_t flat, int64_t at_byte) {
  Word<kWord> word = {};
  if (table.fill == nullptr) return word;
  const std::byte* fill = table.fill + table.offset_of(kFill, flat);
  if (table.item == kWord && is_aligned(fill, kWord)) return load_shared<kWord>(fill);
  int64_t phase = at_byte % table.item;
  uint64_t half[2] = {0, 0};
  GS_UNROLL
  for (int b = 0; b < kWord; ++b) {
    half[b / 8] |= uint64_t{load_shared<1>(fill + phase)} << (8 * (b % 8));
    if (++phase == table.item) phase = 0;
  }
  if constexpr (kWord == 16) {
    word = {half[0], half[1]};
  } else {
    word = static_cast<Word<kWord>>(half[0]);
  }
  return word;
}

// Every lane resolves the points of some parts of units; then the lanes of the warp move the words of all these parts
// together, neighbouring lanes neighbouring words. So an index is resolved once for each part, and a unit of a gigabyte
// keeps as many warps busy as many small ones. `Winner`: a scatter in which only the last point of a target writes
// (scatter_bodies.h); with void every point writes.
// The numbers were the best of two to four on an H200.
template <int kWord, class Winner>
struct MoveUnits {
  static constexpr bool kWins = !std::is_void_v<Winner>;
  static constexpr const char* kName = kWins ? "winners" : "units";
  static constexpr uint64_t kVariant = kWord + (kWins ? 100 * sizeof(std::conditional_t<kWins, Winner, int>) : 0);
  static constexpr int kGroups = 2;                  // parts that a lane resolves in one turn of its warp
  static constexpr int kParts = kGroups * kLanes;    // parts of one turn
  static constexpr int kSteps = kWord == 4 ? 2 : 1;  // words of each group that a lane loads together
  static constexpr int kBlocksAtOnce = 4;
  static constexpr int kMostWords = 64;  // of a part

  PackedPlan table = {};
  Direction direction = Direction::gather;
  Status* status = nullptr;  // null: the rule forbids nothing
  int64_t words = 0;         // words of one unit
  int64_t parts = 0;         // parts of one unit
  int64_t work = 0;          // parts of all units
  int32_t part_words = 1;    // words of one part; the last part of a unit may have fewer
  Divider by_parts = {};
  Divider by_part_words = {};
  const Winner* winner = nullptr;
  Slots slots = {};
  const uint32_t* repeats = nullptr;  // 0 there: every point has a slot of its own, and all of them write

  // Divides units into parts that are as long as it takes to resolve few indices, and as short as it takes to give
  // work to `warps` warps.
  void divide(int64_t warps) {
    words = table.unit / kWord;
    const int64_t share = table.count * words / (warps * kParts);
    const int64_t wanted = std::clamp<int64_t>(share, 1, std::min<int64_t>(words, kMostWords));
    parts = (words + wanted - 1) / wanted;
    part_words = static_cast<int32_t>((words + parts - 1) / parts);
    work = table.count * parts;
    by_parts = Divider(parts);
    by_part_words = Divider(part_words);
  }

  GS_HD void operator()(Warp warp) const {
    for (int64_t first = warp.number() * kParts; first < work; first += warp.count() * kParts) move(warp, first);
  }

 private:
  // The parts that the lanes resolved: where each begins, and how many words it has.
  struct ResolvedParts {
    Lanes<const std::byte*> from;  // null: padding
    Lanes<std::byte*> to;
    Lanes<int32_t> length;  // 0: there is nothing to move
  };

  GS_HD void move(Warp warp, int64_t first) const {
    ResolvedParts group[kGroups];
    warp.each([&](int lane) {
      PointState spot[kGroups] = {};
      GS_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        const int64_t number = first + g * kLanes + lane;
        if (number < work) spot[g] = table.look(by_parts.divide(number));
      }
      GS_UNROLL
      for (int g = 0; g < kGroups; ++g) resolve(first + g * kLanes + lane, spot[g], group[g], lane);
    });
    for (int32_t step = 0; step < part_words; step += kSteps) {
      warp.each([&](int lane) { move_words(group, first, step * kLanes + lane); });
    }
  }

  // Moves word `begin` of the words of every group, and those that are kLanes further on.
  GS_HD void move_words(const ResolvedParts* group, int64_t first, int32_t begin) const {
    const bool gathers = direction == Direction::gather;
    Word<kWord> word[kSteps][kGroups] = {};
    std::byte* to[kSteps][kGroups] = {};
    GS_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      const auto w = static_cast<uint32_t>(begin + s * kLanes);
      const auto lane = static_cast<int32_t>(by_part_words.divide_short(w));
      const int32_t in_part = static_cast<int32_t>(w) - lane * part_words;
      GS_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        const std::byte* const from = group[g].from.of(lane % kLanes);
        std::byte* const target = group[g].to.of(lane % kLanes);
        const int32_t length = group[g].length.of(lane % kLanes);
        if (lane >= kLanes || in_part >= length) continue;
        to[s][g] = target + in_part * kWord;
        if (from == nullptr) {
          word[s][g] = pad(first + g * kLanes + lane, in_part);
        } else if (gathers) {
          word[s][g] = load_shared<kWord>(from + in_part * kWord);
        } else {
          word[s][g] = load_stream<kWord>(from + in_part * kWord);
        }
      }
    }
    GS_UNROLL
    for (int s = 0; s < kSteps; ++s) {
      GS_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        if (to[s][g] == nullptr) continue;
        if (gathers) {
          store_stream<kWord>(to[s][g], word[s][g]);
        } else {
          store_plain<kWord>(to[s][g], word[s][g]);
        }
      }
    }
  }

  GS_HD Word<kWord> pad(int64_t number, int32_t in_part) const {
    const int64_t flat = by_parts.divide(number);
    return padding<kWord>(table, flat, ((number - flat * parts) * part_words + in_part) * kWord);
  }

  GS_HD void resolve(int64_t number, PointState& spot, ResolvedParts& group, int lane) const {
    if (number >= work) return;
    const int64_t flat = by_parts.divide(number);
    const int64_t begin = (number - flat * parts) * part_words;
    if (!table.settle(flat, spot)) {
      if (status != nullptr && begin == 0) status->report(flat);
      return;
    }
    std::byte* const dense = table.dense + spot.dense + begin * kWord;
    std::byte* const indexed = spot.indexed == kNowhere ? nullptr : table.indexed + spot.indexed + begin * kWord;
    const bool gathers = direction == Direction::gather;
    if (!gathers && indexed == nullptr) return;
    if constexpr (kWins) {
      const int64_t slot = slots.at(spot.indexed);
      if (slot < 0) return;
      const bool all_write = repeats != nullptr && *repeats == 0;
      if (!all_write && winner[slot] != static_cast<Winner>(flat + 1)) return;
    }
    const int64_t rest = words - begin;
    group.from.own(lane) = gathers ? indexed : dense;
    group.to.own(lane) = gathers ? dense : indexed;
    group.length.own(lane) = rest < part_words ? static_cast<int32_t>(rest) : part_words;
  }
};

}  // namespace gs::device
