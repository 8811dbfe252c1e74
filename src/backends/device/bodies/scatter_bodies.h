// scatter_bodies.h: which point writes where several meet at one target: the last one, by marks or by sorting.
#pragma once

#include <cstdint>

#include "backends/device/bodies/packed_plan.h"
#include "backends/device/bodies/slots.h"
#include "backends/device/bodies/thread.h"
#include "backends/device/bodies/units.h"

namespace gs::device {

// Leaves the number of its last point, plus one, at every slot that has one; `winner` is all zero before.
template <class Winner>
struct MarkWinners {
  static constexpr const char* kName = "mark winners";
  static constexpr uint64_t kVariant = sizeof(Winner);

  PackedPlan table = {};
  Slots slots = {};
  Winner* winner = nullptr;
  Status* status = nullptr;

  GS_HD void operator()(Thread thread) const {
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

// The slot and the number of every point, to be sorted by slot; points that go nowhere come last.
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

// Points in the order of their slots, those of one slot in theirs.
struct Sorted {
  const uint64_t* keys = nullptr;
  const uint64_t* points = nullptr;
  int64_t count = 0;
  uint64_t nowhere = 0;  // keys from here on are none

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
  int64_t words = 0;  // of a unit
  int64_t work = 0;
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

// The lowest point whose slot an earlier point has: that is the second of a run.
struct FindRepeats {
  static constexpr const char* kName = "find repeats";
  static constexpr uint64_t kVariant = 0;

  Sorted sorted = {};
  Status* status = nullptr;   // gets all seconds
  int64_t second = -1;        // a known one, of which ..
  uint64_t* first = nullptr;  // .. the point before is wanted

  GS_HD void operator()(Thread thread) const {
    for (int64_t i = thread.number; i + 1 < sorted.count; i += thread.count) {
      if (!sorted.is_there(i) || !sorted.begins(i) || sorted.ends(i)) continue;
      if (status != nullptr) status->report(sorted.point(i + 1));
      if (sorted.point(i + 1) == second) *first = sorted.points[i];
    }
  }
};

}  // namespace gs::device
