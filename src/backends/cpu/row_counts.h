// row_counts.h: the memory in which a reduction counts the values of each row, for one window of the rows at a time.
#pragma once

#include <optional>

#include "backends/backend.h"
#include "backends/cpu/kernels/job.h"
#include "backends/cpu/partitioned_scatter.h"
#include "backends/cpu/records.h"
#include "backends/cpu/tuning.h"

namespace gs::cpu {

// Whether units are so long that one count for all their items costs little, and 32 bits count their values.
bool pays_to_count_rows(const Plan& plan, const Tuning& tuning);

// The counts of the piece of each unit that begins at `byte`; they lie `offset` counts further.
RowCounts piece_of(const RowCounts& counts, int64_t byte, int64_t offset);

class CountMemory {
 public:
  // Throws std::bad_alloc. Threads may share the bytes of each unit, in so many pieces.
  CountMemory(const Plan& plan, const Tuning& tuning, const Buffers& buffers, const CountedRows& rows,
              const Combine& combine, int64_t pieces);
  CountMemory(const CountMemory&) = delete;
  CountMemory& operator=(const CountMemory&) = delete;

  int64_t slots() const { return slots_; }
  int64_t window() const { return window_; }  // slots in memory at a time
  // The window of the slots from `first` on, in which no slot has a value yet, and its addresses.
  RowCounts counts_from(int64_t first);
  AddressRange range_from(int64_t first) const;

 private:
  RowCounts counts_;
  Address start_;
  int64_t pitch_, slots_, window_, bytes_;
  bool any_target_;  // whether the rule lets no point lie outside of all slots
  bool clean_;       // whether all counts are 0
  std::optional<Records> memory_;
};

}  // namespace gs::cpu
