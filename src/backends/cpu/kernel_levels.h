// kernel_levels.h: declares the kernels of each instruction set level.
#pragma once

#include <string_view>

#include "backends/cpu/kernels/job.h"

namespace gs::cpu {

// The kernels of level "baseline", "v3" or "v4"; null for a level that this build does not contain. Whether the
// processor supports the level is in host::info().
Run kernels(std::string_view level);

// The level that the kernels were compiled for, from the code that was compiled with them.
const char* level_of(Run kernels);

// The kernels of reductions of one level.
struct Appliers {
  Apply (*units)(const Combine& combine, ApplyStep stage, Keep keep);
  ApplyElements (*elements)(const Combine& combine, ApplyStep stage, Keep keep);
  Sweep (*sweep)(const Combine& combine, ApplyStep stage, Keep keep);
  int64_t (*record_bytes)(const Combine& combine, Keep keep);
  CountedUnits (*counted)(const Combine& combine);  // null steps where totals cannot be kept in the targets
};
Appliers appliers_of(Run kernels);
CheckIndices check_of(Run kernels);
WriteChanged write_changed_of(Run kernels);
FindIndexSpan index_span_of(Run kernels);
ColumnKernels columns_of(Run kernels);
// All functions are null if the level has none for the type and the unit.
ShortMove short_move_of(Run kernels, IndexType type, int64_t unit);

}  // namespace gs::cpu
