// level.h: defines what an instruction set level offers: one object of functions that were compiled for it.
#pragma once

#include "backends/column_kernels.h"
#include "backends/cpu/kernels/job.h"
#include "backends/gradient_kernels.h"
#include "backends/group_kernels.h"

namespace gs::cpu {

// Moves single units along one contiguous axis by one contiguous index array, under the rule `raise` and `from_end`,
// without further decisions. All functions return false if an index lies outside; points before it may have moved.
struct ShortMove {
  using Move = bool (*)(std::byte* dense, std::byte* indexed, const std::byte* index, int64_t count, int64_t extent);
  Move gather = nullptr;
  Move scatter = nullptr;  // in ascending order
  bool (*allows)(const std::byte* index, int64_t count, int64_t extent) = nullptr;
};

// Rows of a tile, packed before and after a scatter to it, and where they belong.
struct ChangedTile {
  std::byte* target;
  int64_t step;  // from a row to the next one there
  const std::byte* before;
  const std::byte* after;
  int64_t rows;
  int64_t bytes;  // of a row
};

// Checks the indices of the points [first, last) under the rule `raise`; their positions are the sums of the resolved
// indices times their steps. Writes them to `positions`, which belongs to point 0, as numbers of `bytes` bytes (2 or
// 4), unless it is null (then `bytes` is 0), and adds those to `span` unless that is null. Returns false if the rule
// forbids an index.
using CheckIndices = bool (*)(const Job& job, int64_t first, int64_t last, std::byte* positions, int bytes,
                              IndexSpan* span);

// The span of n (at least 1) indices.
using FindIndexSpan = IndexSpan (*)(const std::byte* index, IndexType type, int64_t n);

// The kernels of reductions.
struct Appliers {
  Apply (*units)(const Combine& combine, ApplyStep stage, Keep keep);
  ApplyElements (*elements)(const Combine& combine, ApplyStep stage, Keep keep);
  Sweep (*sweep)(const Combine& combine, ApplyStep stage, Keep keep);
  int64_t (*record_bytes)(const Combine& combine, Keep keep);
  CountedUnits (*counted)(const Combine& combine);  // null steps where totals cannot be kept in the targets
};

struct Kernels {
  const char* level;
  // Moves the points [first, last) in ascending order. Returns false if the rule forbids an index; it is unspecified
  // how many of the other points are moved then.
  bool (*run)(const Job& job, int64_t first, int64_t last);
  CheckIndices check;
  FindIndexSpan index_span;
  // All functions are null if the level has none for the type and the unit.
  ShortMove (*short_move)(IndexType type, int64_t unit);
  // Writes the words of 1, 2, 4 or 8 bytes that differ, and touches no others: they may belong to other threads.
  void (*write_changed)(const ChangedTile& tile, int64_t word);
  Appliers appliers;
  const ColumnKernels* columns;
  const GradientKernels* (*gradients)(Number number);  // null for a dtype without
  const GroupKernels& (*groups)(int key_bytes);
};

}  // namespace gs::cpu
