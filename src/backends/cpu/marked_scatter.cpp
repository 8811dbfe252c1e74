// marked_scatter.cpp: moves the rows that win their targets, and copies the rows of a base that no point replaces.
#include "backends/cpu/marked_scatter.h"

#include "backends/cpu/marked_targets.h"
#include "backends/cpu/move_points.h"
#include "backends/cpu/scatter_run.h"
#include "host/progress.h"

namespace gs::cpu {
namespace {

// Marks the targets first. The rows that win their targets are then read in order: no two of them meet.
Outcome scatter_winners(const Schedule& schedule, MarkedTargets& marked, const Buffers& buffers,
                        bool (*interrupted)()) {
  const Plan& plan = *schedule.plan;
  host::ProgressParts steps(2);
  const Outcome outcome = marked.mark(*schedule.kernels, *schedule.tuning, plan, buffers,
                                      {schedule.threads, interrupted}, KeepTargets::yes);
  if (outcome != Outcome::done) return outcome;
  steps.next();
  const Plan rows = marked.plan_of(plan);
  Schedule moved;
  decide_marked(schedule, rows, moved);
  bind(rows, marked.buffers_of(buffers), *moved.tuning, moved.prepared);
  return move_points(*moved.kernels, moved.prepared.job, moved.cut, interrupted);
}

}  // namespace

Outcome scatter_marked(Schedule& schedule, const Buffers& buffers, const RunOptions& options) {
  MarkedTargets marked(*schedule.plan, buffers.indexed);
  if (schedule.base != Base::unmarked) return scatter_winners(schedule, marked, buffers, options.interrupted);
  host::ProgressParts steps(2);
  Outcome outcome;
  if (schedule.marks == Marks::along) {
    Scatter scatter(schedule, buffers, options);
    scatter.marks = marked.marks();
    outcome = run_direct(scatter);
  } else {
    outcome = scatter_winners(schedule, marked, buffers, options.interrupted);
  }
  steps.next();
  if (outcome != Outcome::done) return outcome;
  return marked.copy_others(*schedule.kernels, *schedule.tuning, *schedule.plan, buffers, options);
}

}  // namespace gs::cpu
