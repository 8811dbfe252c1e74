// level.cpp: gathers the kernels of a level in one object. Compiled once for every instruction set level, in a
// namespace of its own.
#include "backends/cpu/kernels/level.h"

namespace gs::cpu::GS_ISA {

bool run(const Job& job, int64_t first, int64_t last);
bool check(const Job& job, int64_t first, int64_t last, std::byte* positions, int bytes, IndexSpan* span);
IndexSpan index_span(const std::byte* index, IndexType type, int64_t n);
ShortMove short_move(IndexType type, int64_t unit);
void write_changed(const ChangedTile& tile, int64_t word);
Apply applier(const Combine& combine, ApplyStep stage, Keep keep);
ApplyElements element_applier(const Combine& combine, ApplyStep stage, Keep keep);
Sweep sweeper(const Combine& combine, ApplyStep stage, Keep keep);
int64_t record_bytes(const Combine& combine, Keep keep);
CountedUnits counted_units(const Combine& combine);
extern const ColumnKernels columns;
const GradientKernels* gradients(Number number);
const GroupKernels& groups(int key_bytes);

extern const Kernels kLevel;
constinit const Kernels kLevel = {GS_ISA_NAME,
                                  run,
                                  check,
                                  index_span,
                                  short_move,
                                  write_changed,
                                  {applier, element_applier, sweeper, record_bytes, counted_units},
                                  &columns,
                                  gradients,
                                  groups};

}  // namespace gs::cpu::GS_ISA
