// totals.cpp: windows of records, flags or counts, and pieces of units that are longer than a window.
#include "backends/cpu/totals.h"

#include <algorithm>

#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/records.h"
#include "backends/cpu/scatter_run.h"
#include "backends/cpu/slot_counts.h"
#include "backends/cpu/trace.h"
#include "host/interrupt_poller.h"
#include "host/progress.h"

namespace gs::cpu {
namespace {

// Runs a reduction with running totals for one window of targets at a time.
Outcome reduce_in_windows(const Scatter& scatter) {
  const Schedule& schedule = *scatter.schedule;
  const Plan& plan = *schedule.plan;
  const Combine& combine = schedule.combine;
  const Keep keep = schedule.keep;
  const Appliers& appliers = schedule.kernels->appliers;
  const Span span = indexed_span(plan);
  const int64_t slots = (span.high - span.low) / plan.item;
  const int64_t per_unit = plan.unit_items();
  const int64_t window = std::min(slots, std::max(schedule.tuning->totals_window, per_unit));
  const int64_t record = appliers.record_bytes(combine, keep);
  trace(schedule.sweeps ? "records, swept" : "records");
  const int64_t held = window + per_unit;  // the last unit may begin in the window and end behind it
  const int64_t bytes = held * (record + (keep == Keep::nothing ? plan.item : 0));
  const Targets targets(scatter, schedule.strategy);
  const Address start = reinterpret_cast<Address>(scatter.buffers->indexed) + static_cast<Address>(span.low);
  PieceSum sum;
  Records records(bytes, !schedule.sweeps);
  host::InterruptPoller poller(scatter.options.interrupted);
  host::ProgressParts windows((slots + window - 1) / std::max<int64_t>(window, 1));
  for (int64_t first = 0; first < slots; first += window, windows.next()) {
    if (!schedule.sweeps && first > 0) records.clear();
    const int64_t here = std::min(window, slots - first);
    const int64_t reached = std::min(here + per_unit - 1, slots - first);
    const Address low = start + static_cast<Address>(first * plan.item);
    const Address high = low + static_cast<Address>(here * plan.item);
    sum.totals = {records.data(), low, combine.include_self, schedule.sweeps};
    if (keep == Keep::nothing) sum.totals.before = records.data() + held * record;
    if (schedule.sweeps)
      sweep_records(schedule.threads, appliers.sweep(combine, ApplyStep::accumulate, keep), sum.totals, reached, record,
                    plan.item);
    sum.apply = appliers.units(combine, ApplyStep::accumulate, keep);
    sum.apply_elements = schedule.apply_elements;
    const AddressRange own = has_one_window(plan, *schedule.tuning) ? AddressRange{} : AddressRange{low, high};
    Outcome outcome = run_own(scatter, own, targets, sum);
    if (outcome != Outcome::done) return outcome;
    if (schedule.sweeps) {
      sweep_records(schedule.threads, appliers.sweep(combine, ApplyStep::finish, keep), sum.totals, reached, record,
                    plan.item);
    } else {
      sum.apply = appliers.units(combine, ApplyStep::finish, keep);
      sum.apply_elements = nullptr;
      outcome = run_own(scatter, own, targets, sum);
      if (outcome != Outcome::done) return outcome;
    }
    if (!poller.proceed()) return Outcome::interrupted;
  }
  return Outcome::done;
}

// Reduces units that are longer than a window piece by piece.
Outcome reduce_in_pieces(Schedule& schedule, const Buffers& buffers, const RunOptions& options) {
  const Plan& plan = *schedule.plan;
  const int64_t most = schedule.tuning->totals_window * plan.item;
  if (plan.unit <= most) return reduce_in_windows(Scatter(schedule, buffers, options));
  trace("pieces of long units");
  for (int64_t begin = 0; begin < plan.unit; begin += most) {
    Plan items = plan;
    Buffers own = buffers;
    items.unit = std::min(most, plan.unit - begin);
    own.dense += begin;
    own.indexed += begin;
    Schedule piece;
    decide_items(schedule, items, piece);
    if (const Outcome outcome = reduce_in_windows(Scatter(piece, own, options)); outcome != Outcome::done)
      return outcome;
  }
  return Outcome::done;
}

// Runs a reduction whose totals are kept in the targets, with one count or flag for each unit.
Outcome reduce_counted(const Scatter& scatter) {
  const Schedule& schedule = *scatter.schedule;
  const CountedUnits& units = schedule.counted;
  const int64_t pieces = schedule.in_pieces() ? static_cast<int64_t>(schedule.parts.size()) : 1;
  CountMemory memory(*schedule.plan, *schedule.tuning, *scatter.buffers, units, schedule.combine, pieces);
  const Targets targets(scatter, schedule.strategy);
  host::InterruptPoller poller(scatter.options.interrupted);
  PieceSum sum;
  sum.counts_of_piece = memory.window();
  trace(units.count == nullptr ? "flags" : "counts");
  sum.apply_elements = schedule.apply_elements;
  host::ProgressParts windows((memory.slots() + memory.window() - 1) / std::max<int64_t>(memory.window(), 1));
  for (int64_t first = 0; first < memory.slots(); first += memory.window(), windows.next()) {
    const SlotCounts counts = memory.counts_from(first);
    sum.counts = &counts;
    for (const Apply apply : {units.count, units.combine}) {
      if (apply == nullptr) continue;
      sum.apply = apply;
      const Outcome outcome = run_own(scatter, memory.range_from(first), targets, sum);
      if (outcome != Outcome::done) return outcome;
    }
    if (!poller.proceed()) return Outcome::interrupted;
  }
  return Outcome::done;
}

}  // namespace

Outcome reduce_apart(Schedule& schedule, const Buffers& buffers, const RunOptions& options) {
  if (schedule.totals == Totals::records) return reduce_in_pieces(schedule, buffers, options);
  return reduce_counted(Scatter(schedule, buffers, options));
}

}  // namespace gs::cpu
