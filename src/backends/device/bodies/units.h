// units.h: the body that moves whole units in words of 1 to 16 bytes; neighbouring threads move neighbouring words.
#pragma once

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

// Numbers the words of all units consecutively: the division of a word's number by the words of a unit gives the point.
// So one unit of a gigabyte keeps as many threads busy as many small units, and the threads of a warp share the index
// of their unit in one load. `Winner`: a scatter in which only the last point of a target writes (scatter_bodies.h);
// with void every point writes.
template <int kWord, class Winner>
struct MoveUnits {
  static constexpr bool kWins = !std::is_void_v<Winner>;
  static constexpr const char* kName = kWins ? "winners" : "units";
  static constexpr uint64_t kVariant = kWord + (kWins ? 100 * sizeof(std::conditional_t<kWins, Winner, int>) : 0);
  static constexpr int kInFlight = kWord == 16 ? 2 : 4;  // words that a thread loads together

  PackedPlan table = {};
  Direction direction = Direction::gather;
  Status* status = nullptr;  // null: the rule forbids nothing
  int64_t words = 0;         // words of one unit
  int64_t work = 0;          // words of all units
  Divider by_words = {};
  const Winner* winner = nullptr;
  Slots slots = {};

  GS_HD void operator()(Thread thread) const {
    const bool gathers = direction == Direction::gather;
    for (int64_t first = thread.number; first < work; first += kInFlight * thread.count) {
      PointState spot[kInFlight] = {};
      GS_UNROLL
      for (int i = 0; i < kInFlight; ++i) {
        const int64_t w = first + i * thread.count;
        if (w < work) spot[i] = table.look(by_words.divide(w));
      }
      Word<kWord> word[kInFlight] = {};
      bool moves[kInFlight];
      GS_UNROLL
      for (int i = 0; i < kInFlight; ++i) {
        const int64_t w = first + i * thread.count;
        moves[i] = w < work && find(w, spot[i]);
        if (!moves[i]) continue;
        const int64_t flat = by_words.divide(w);
        const int64_t at = (w - flat * words) * kWord;
        if (!gathers) {
          word[i] = load_stream<kWord>(table.dense + spot[i].dense + at);
        } else if (spot[i].indexed == kNowhere) {
          word[i] = padding<kWord>(table, flat, at);
        } else {
          word[i] = load_shared<kWord>(table.indexed + spot[i].indexed + at);
        }
      }
      GS_UNROLL
      for (int i = 0; i < kInFlight; ++i) {
        if (!moves[i]) continue;
        const int64_t w = first + i * thread.count;
        const int64_t at = (w - by_words.divide(w) * words) * kWord;
        if (gathers) {
          store_stream<kWord>(table.dense + spot[i].dense + at, word[i]);
        } else {
          store_plain<kWord>(table.indexed + spot[i].indexed + at, word[i]);
        }
      }
    }
  }

 private:
  // Resolves the point of word `w`. Returns true if the word is to be moved.
  GS_HD bool find(int64_t w, PointState& spot) const {
    const int64_t flat = by_words.divide(w);
    if (!table.settle(flat, spot)) {
      if (status != nullptr && w == flat * words) status->report(flat);
      return false;
    }
    if (direction == Direction::gather) return true;
    if (spot.indexed == kNowhere) return false;
    if constexpr (kWins) {
      const int64_t slot = slots.at(spot.indexed);
      return slot >= 0 && winner[slot] == static_cast<Winner>(flat + 1);
    }
    return true;
  }
};

}  // namespace gs::device
