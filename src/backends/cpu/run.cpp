// run.cpp: runs each strategy. What a call does is decided in schedule.cpp; here only refinements look at the data.
#include "backends/cpu/run.h"

#include "backends/cpu/column_tiles.h"
#include "backends/cpu/early_check.h"
#include "backends/cpu/marked_scatter.h"
#include "backends/cpu/marked_targets.h"
#include "backends/cpu/move_points.h"
#include "backends/cpu/packed_tiles.h"
#include "backends/cpu/scatter_run.h"
#include "backends/cpu/totals.h"
#include "backends/cpu/trace.h"

namespace gs::cpu {
namespace {

// Whether a gather has a bad index that is found before the first write.
bool ends_early(const Schedule& schedule, const Buffers& buffers, const RunOptions& options) {
  if (schedule.direction != Direction::gather || options.is_checked) return false;
  if (!finds_outside_early(*schedule.kernels, *schedule.tuning, *schedule.plan, buffers, options)) return false;
  trace("found a bad index early");
  return true;
}

Outcome run_scatter(Schedule& schedule, const Buffers& buffers, const RunOptions& options) {
  if (schedule.totals != Totals::targets) return reduce_apart(schedule, buffers, options);
  return run_direct(Scatter(schedule, buffers, options));
}

Outcome run_strategy(Schedule& schedule, const Buffers& buffers, const RunOptions& options) {
  const Tuning& tuning = *schedule.tuning;
  switch (schedule.strategy) {
    case Strategy::nothing: return Outcome::done;
    case Strategy::short_move: return move_short(*schedule.kernels, *schedule.plan, buffers, schedule.direction);
    case Strategy::chunks:
      if (ends_early(schedule, buffers, options)) return Outcome::bad_index;
      bind(schedule.walk(), buffers, tuning, schedule.prepared);
      return move_points(*schedule.kernels, schedule.prepared.job, schedule.cut, options.interrupted);
    case Strategy::packed_tiles:
      if (ends_early(schedule, buffers, options)) return Outcome::bad_index;
      trace("packed tiles");
      return move_packed_tiles(*schedule.kernels, tuning, *schedule.tiling, buffers, schedule.direction,
                               schedule.stream, schedule.threads, options.interrupted);
    case Strategy::column_tiles:
      if (schedule.direction == Direction::scatter) return run_scatter(schedule, buffers, options);
      trace("column tiles");
      return gather_column_tiles(*schedule.kernels, tuning, schedule.walk(), buffers, schedule.columns, schedule.stream,
                                 {schedule.threads, options.interrupted});
    case Strategy::rounds:
    case Strategy::parts:
    case Strategy::ranges: break;
  }
  return run_scatter(schedule, buffers, options);
}

}  // namespace

Outcome run(Schedule& schedule, const Buffers& buffers, const RunOptions& options) {
  if (schedule.base == Base::copied) {
    const Outcome copied = copy_base(*schedule.kernels, *schedule.tuning, buffers, options);
    if (copied != Outcome::done) return copied;
  }
  if (schedule.marks != Marks::none) return scatter_marked(schedule, buffers, options);
  return run_strategy(schedule, buffers, options);
}

Outcome move_with(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                  Direction direction, const RunOptions& options) {
  Schedule schedule;
  const int64_t base_bytes = buffers.base == nullptr ? -1 : buffers.base_bytes;
  decide(kernels, tuning, plan, direction, {}, options.threads, schedule, base_bytes);
  return run(schedule, buffers, options);
}

Outcome reduce_with(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                    const Combine& combine, const RunOptions& options) {
  Schedule schedule;
  decide(kernels, tuning, plan, Direction::scatter, combine, options.threads, schedule);
  return run(schedule, buffers, options);
}

}  // namespace gs::cpu
