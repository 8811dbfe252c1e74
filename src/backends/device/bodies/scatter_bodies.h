// scatter_bodies.h: the bodies by which the last of several duplicates writes its target: by marks or by sorting.
#pragma once

#include <cstdint>

#include "backends/device/bodies/packed_plan.h"
#include "backends/device/bodies/slots.h"
#include "backends/device/bodies/thread.h"
#include "backends/device/bodies/units.h"

namespace gs::device {

// Finds out whether any two points have the same slot, by one bit for each slot. `seen` and `repeats` hold zeros before
// the launch.
struct FindSharedSlots {
  static constexpr const char* kName = "find shared slots";
  static constexpr uint64_t kVariant = 0;

  PackedPlan table = {};
  Slots slots = {};
  uint32_t* seen = nullptr;
  uint32_t* repeats = nullptr;  // becomes 1 if there are
  Status* status = nullptr;

  GS_HD void operator()(Thread thread) const {
    for (int64_t flat = thread.number; flat < table.count; flat += thread.count) {
      PointState spot = table.look(flat);
      if (!table.settle(flat, spot)) {
        if (status != nullptr) status->report(flat);
        continue;
      }
      const int64_t slot = spot.indexed == kNowhere ? -1 : slots.at(spot.indexed);
      if (slot < 0 || read_now(repeats) != 0) continue;
      const uint32_t bit = uint32_t{1} << (slot % 32);
      if ((atomic_or(seen + slot / 32, bit) & bit) != 0) atomic_or(repeats, 1);
    }
  }
};

// Stores at every slot the number of the slot's last point, plus one. `winner` holds zeros before the launch.
template <class Winner>
struct MarkWinners {
  static constexpr const char* kName = "mark winners";
  static constexpr uint64_t kVariant = sizeof(Winner);

  PackedPlan table = {};
  Slots slots = {};
  Winner* winner = nullptr;
  Status* status = nullptr;
  const uint32_t* repeats = nullptr;  // 0 there: every point has a slot of its own, and no winners are needed

  GS_HD void operator()(Thread thread) const {
    if (repeats != nullptr && *repeats == 0) return;
    for (int64_t flat = thread.number; flat < table.count; flat += thread.count) {
      PointState spot = table.look(flat);
      if (!table.settle(flat, spot)) {
        if (status != nullptr) status->report(flat);
        continue;
      }
      const int64_t slot = spot.indexed == kNowhere ? -1 : slots.at(spot.indexed);
      if (slot >= 0) atomic_max(winner + slot, static_cast<Winner>(flat + 1));
    }
  }
};

// Writes the slot and the number of every point, which are then sorted by slot. Points that are nowhere sort last.
struct MakeKeys {
  static constexpr const char* kName = "make keys";
  static constexpr uint64_t kVariant = 0;

  PackedPlan table = {};
  Slots slots = {};
  uint64_t* keys = nullptr;
  uint64_t* points = nullptr;
  Status* status = nullptr;

  GS_HD void operator()(Thread thread) const {
    for (int64_t flat = thread.number; flat < table.count; flat += thread.count) {
      PointState spot = table.look(flat);
      const bool good = table.settle(flat, spot);
      if (!good && status != nullptr) status->report(flat);
      const int64_t slot = !good || spot.indexed == kNowhere ? -1 : slots.at(spot.indexed);
      keys[flat] = static_cast<uint64_t>(slot < 0 ? slots.count : slot);
      points[flat] = static_cast<uint64_t>(flat);
    }
  }
};

// The points in the order of their slots; the points of one slot are in ascending order.
struct Sorted {
  const uint64_t* keys = nullptr;
  const uint64_t* points = nullptr;
  int64_t count = 0;
  uint64_t nowhere = 0;  // keys from this one on are not slots

  GS_HD bool is_there(int64_t i) const { return keys[i] < nowhere; }
  GS_HD bool begins(int64_t i) const { return i == 0 || keys[i - 1] != keys[i]; }
  GS_HD bool ends(int64_t i) const { return i + 1 == count || keys[i + 1] != keys[i]; }
  GS_HD int64_t slot(int64_t i) const { return static_cast<int64_t>(keys[i]); }
  GS_HD int64_t point(int64_t i) const { return static_cast<int64_t>(points[i]); }
};

// The last point of every slot writes its unit, word by word.
template <int kWord>
struct WriteLast {
  static constexpr const char* kName = "sorted";
  static constexpr uint64_t kVariant = kWord;

  PackedPlan table = {};
  Slots slots = {};
  Sorted sorted = {};
  int64_t words = 0;  // words of one unit
  int64_t work = 0;   // words of all units
  Divider by_words = {};

  GS_HD void operator()(Thread thread) const {
    for (int64_t w = thread.number; w < work; w += thread.count) {
      const int64_t i = by_words.divide(w);
      if (!sorted.is_there(i) || !sorted.ends(i)) continue;
      const int64_t at = (w - i * words) * kWord;
      store_plain<kWord>(table.indexed + slots.offset(sorted.slot(i)) + at,
                         load_stream<kWord>(table.dense + table.offset_of(kDense, sorted.point(i)) + at));
    }
  }
};

// Finds the lowest point whose slot an earlier point has: it is the second point of a run of equal slots.
struct FindRepeats {
  static constexpr const char* kName = "find repeats";
  static constexpr uint64_t kVariant = 0;

  Sorted sorted = {};
  Status* status = nullptr;   // the second points of all runs are reported here
  int64_t second = -1;        // the second point of one run, known from an earlier launch
  uint64_t* first = nullptr;  // gets the first point of that run

  GS_HD void operator()(Thread thread) const {
    for (int64_t i = thread.number; i + 1 < sorted.count; i += thread.count) {
      if (!sorted.is_there(i) || !sorted.begins(i) || sorted.ends(i)) continue;
      if (status != nullptr) status->report(sorted.point(i + 1));
      if (sorted.point(i + 1) == second) *first = sorted.points[i];
    }
  }
};

}  // namespace gs::device
