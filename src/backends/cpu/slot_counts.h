// slot_counts.h: the memory in which a reduction counts the values of each unit, or keeps whether it has one, for one
// window of the units at a time.
#pragma once

#include <optional>

#include "backends/backend.h"
#include "backends/cpu/kernels/job.h"
#include "backends/cpu/partitioned_scatter.h"
#include "backends/cpu/records.h"
#include "backends/cpu/tuning.h"

namespace gs::cpu {

// Whether the totals of the units are kept in their targets. Means need units that are so long that a count for all
// their items costs little, and so few values that 32 bits count them; others a flag of one byte, unless each unit is
// an item and the records of all items are few and short.
bool pays_to_count(const Plan& plan, const Tuning& tuning, const CountedUnits& units);

// Whether each unit is one item, and the items of the targets are the slots.
bool slots_are_items(const Plan& plan);

// Whether one window holds the counts or flags of all units, so that no point needs to be compared with its range.
bool has_one_window(const Plan& plan, const Tuning& tuning, const CountedUnits& units, int64_t pieces);

// The counts of the piece of each unit that begins at `byte`; they lie `offset` counts further.
SlotCounts piece_of(const SlotCounts& counts, int64_t byte, int64_t offset);

class CountMemory {
 public:
  // Throws std::bad_alloc. Threads may share the bytes of each unit, in so many pieces.
  CountMemory(const Plan& plan, const Tuning& tuning, const Buffers& buffers, const CountedUnits& units,
              const Combine& combine, int64_t pieces);
  CountMemory(const CountMemory&) = delete;
  CountMemory& operator=(const CountMemory&) = delete;

  int64_t slots() const { return slots_; }
  int64_t window() const { return window_; }  // slots in memory at a time
  // The window of the slots from `first` on, in which no slot has a value yet, and its addresses.
  SlotCounts counts_from(int64_t first);
  AddressRange range_from(int64_t first) const;

 private:
  SlotCounts counts_;
  Address start_;
  int64_t pitch_, slots_, window_;
  bool any_target_;  // whether the rule lets no point lie outside of all slots
  bool clean_;       // whether all counts are 0
  std::optional<Records> memory_;
};

}  // namespace gs::cpu
