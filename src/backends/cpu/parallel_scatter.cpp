// parallel_scatter.cpp: scatters and reductions in the order of their steps: marks, windows of totals, pieces, counts.
#include "backends/cpu/parallel_scatter.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "backends/cpu/form.h"
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/marked_targets.h"
#include "backends/cpu/move_points.h"
#include "backends/cpu/plan_form.h"
#include "backends/cpu/records.h"
#include "backends/cpu/scatter_run.h"
#include "backends/cpu/slot_counts.h"
#include "backends/cpu/target_tiles.h"
#include "core/reductions.h"
#include "host/interrupt_poller.h"
#include "host/progress.h"

namespace gs::cpu {
namespace {

// Runs a reduction with running totals for one window of targets at a time.
Outcome reduce_in_windows(const Scatter& scatter, const Appliers& appliers, const Combine& combine) {
  const Plan& plan = *scatter.plan;
  const Span span = indexed_span(plan);
  const int64_t slots = (span.high - span.low) / plan.item;
  const int64_t per_unit = plan.unit_items();
  const int64_t window = std::min(slots, std::max(scatter.tuning->totals_window, per_unit));
  const bool many = counts_are_long(plan, *scatter.tuning, combine);
  const bool dense = !many && is_dense(plan, slots);
  const Keep keep = many ? Keep::long_count : dense && sums_suffice(combine) ? Keep::nothing : Keep::count;
  const int64_t record = appliers.record_bytes(combine, keep);
  const int64_t held = window + per_unit;  // the last unit may begin in the window and end behind it
  const int64_t bytes = held * (record + (keep == Keep::nothing ? plan.item : 0));
  const Targets targets(scatter);
  const Address start = reinterpret_cast<Address>(scatter.buffers->indexed) + static_cast<Address>(span.low);
  Sum sum;
  sum.stream = false;
  Records records(bytes, !dense);
  host::InterruptPoller poller(scatter.options.interrupted);
  host::ProgressParts windows((slots + window - 1) / std::max<int64_t>(window, 1));
  for (int64_t first = 0; first < slots; first += window, windows.next()) {
    if (!dense && first > 0) records.clear();
    const int64_t here = std::min(window, slots - first);
    const int64_t reached = std::min(here + per_unit - 1, slots - first);
    const Address low = start + static_cast<Address>(first * plan.item);
    const Address high = low + static_cast<Address>(here * plan.item);
    sum.totals = {records.data(), low, combine.include_self, dense};
    if (keep == Keep::nothing) sum.totals.before = records.data() + held * record;
    if (dense)
      sweep_records(scatter.threads, appliers.sweep(combine, ApplyStep::accumulate, keep), sum.totals, reached, record,
                    plan.item);
    sum.apply = appliers.units(combine, ApplyStep::accumulate, keep);
    sum.apply_elements = appliers.elements(combine, ApplyStep::accumulate, keep);
    const AddressRange own = has_one_window(plan, *scatter.tuning) ? AddressRange{} : AddressRange{low, high};
    Outcome outcome = run_own(scatter, own, targets, sum);
    if (outcome != Outcome::done) return outcome;
    if (dense) {
      sweep_records(scatter.threads, appliers.sweep(combine, ApplyStep::finish, keep), sum.totals, reached, record,
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
Outcome reduce_in_pieces(const Scatter& scatter, const Appliers& appliers, const Combine& combine) {
  const int64_t most = scatter.tuning->totals_window * scatter.plan->item;
  if (scatter.plan->unit <= most) return reduce_in_windows(scatter, appliers, combine);
  for (int64_t begin = 0; begin < scatter.plan->unit; begin += most) {
    Plan plan = *scatter.plan;
    Buffers buffers = *scatter.buffers;
    plan.unit = std::min(most, plan.unit - begin);
    buffers.dense += begin;
    buffers.indexed += begin;
    Scatter piece = scatter;
    piece.plan = &plan;
    piece.buffers = &buffers;
    if (const Outcome outcome = reduce_in_windows(piece, appliers, combine); outcome != Outcome::done) return outcome;
  }
  return Outcome::done;
}

// Runs a reduction whose totals are kept in the targets, with one count or flag for each unit.
Outcome reduce_counted(const Scatter& scatter, const CountedUnits& units, const Combine& combine) {
  const int64_t shares =
      scatter.threads == 1 ? 1 : std::max<int64_t>(static_cast<int64_t>(pieces_of(scatter, {}).size()), 1);
  CountMemory memory(*scatter.plan, *scatter.tuning, *scatter.buffers, units, combine, shares);
  const Targets targets(scatter);
  host::InterruptPoller poller(scatter.options.interrupted);
  Sum sum;
  sum.stream = false;
  sum.counts_of_piece = memory.window();
  if (slots_are_items(*scatter.plan)) sum.apply_elements = units.elements;
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

// Marks the targets first. The rows that win their targets are then read in order: no two of them meet.
Outcome scatter_marked(const Scatter& scatter, MarkedTargets& marked) {
  const RunOptions options{scatter.threads, scatter.options.interrupted};
  host::ProgressParts steps(2);
  const Outcome outcome =
      marked.mark(scatter.run, *scatter.tuning, *scatter.plan, *scatter.buffers, options, KeepTargets::yes);
  if (outcome != Outcome::done) return outcome;
  steps.next();
  const Plan plan = marked.plan_of(*scatter.plan);
  const Buffers buffers = marked.buffers_of(*scatter.buffers);
  Scatter moved = scatter;
  moved.plan = &plan;
  moved.buffers = &buffers;
  return run_apart(moved);
}

}  // namespace

int scatter_threads(const Plan& plan, const Tuning& tuning, int available) {
  const Buffers nothing;
  return scatter_of(nullptr, tuning, plan, nothing, {available, nullptr}).threads;
}

std::optional<Tiling> tiling_of_scatter(const Plan& plan, const Tuning& tuning, const Combine& combine, int available) {
  const Buffers nothing;
  if (combine.reduce != Reduce::set && !combines_directly(combine)) return std::nullopt;
  if (goes_by_ranges(scatter_of(nullptr, tuning, plan, nothing, {available, nullptr}))) return std::nullopt;
  return tiling_of(plan, tuning, Direction::scatter);
}

Form form_of_parallel_scatter(Run run, const Plan& plan, const Tuning& tuning, const Combine& combine, int available) {
  Buffers no_memory;
  no_memory.index.resize(plan.index.size(), nullptr);
  Prepared prepared;
  prepare(plan, no_memory, Direction::scatter, tuning, prepared);
  const Scatter scatter = scatter_of(run, tuning, plan, no_memory, {available, nullptr});
  ScatterForm form;
  const bool by_slices = scatter.threads > 1 && !slices_of(scatter, {}).empty();
  form.in_pieces = scatter.threads > 1 && !by_slices && !pieces_of(scatter, {}).empty();
  form.owns_all = scatter.threads == 1 || by_slices || form.in_pieces;
  form.reduces = combine.reduce != Reduce::set;
  if (!form.reduces && is_short_scatter(plan, tuning)) return Form::short_move;
  form.has_totals = form.reduces && !combines_directly(combine);
  const Keep keep = counts_are_long(plan, tuning, combine) ? Keep::long_count : Keep::count;
  const ApplyStep step = form.has_totals ? ApplyStep::accumulate : ApplyStep::direct;
  const std::optional<Tiling> tiling = tiling_of_scatter(plan, tuning, combine, available);
  const bool is_direct = !form.has_totals;
  if (is_direct && column_tiling_of_scatter(plan, tuning, form.reduces).columns > 0) return Form::column_tiles;
  if (tiling && tiling->is_tiled) return Form::packed_tiles;
  const CountedUnits units = appliers_of(run).counted(combine);
  const bool counts = form.has_totals && pays_to_count(plan, tuning, units);
  form.has_kernel = !form.reduces || (counts ? units.elements != nullptr && slots_are_items(plan)
                                             : appliers_of(run).elements(combine, step, keep) != nullptr);
  if (form.has_totals && !has_one_window(plan, tuning)) form.owns_all = false;  // a window is a range of the targets
  return form_of_scatter(plan, prepared.job, form);
}

Outcome scatter_with(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                     const RunOptions& options) {
  if (is_short_scatter(plan, tuning)) return move_short(run, plan, buffers, Direction::scatter);
  const Scatter scatter = scatter_of(run, tuning, plan, buffers, options);
  if (!goes_by_ranges(scatter) || !pays_to_mark(plan, tuning)) return run_direct(scatter, {});
  MarkedTargets marked(plan, buffers.indexed);
  return scatter_marked(scatter, marked);
}

std::optional<Outcome> begin_with_base(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                                       const RunOptions& options) {
  const Span span = indexed_span(plan);
  if (!may_meet(plan, Direction::scatter) || !pays_to_mark(plan, tuning) || span.low != 0 ||
      span.high != buffers.base_bytes || plan.bytes_moved() < tuning.serial_row_bytes) {
    const Outcome copied = copy_base(run, tuning, buffers, options);
    return copied == Outcome::done ? std::nullopt : std::optional(copied);
  }
  Scatter scatter = scatter_of(run, tuning, plan, buffers, options);
  MarkedTargets marked(plan, buffers.indexed);
  if (scatter.threads == 1) scatter.marks = marked.marks();
  host::ProgressParts steps(2);
  const Outcome outcome = scatter.threads == 1 ? run_direct(scatter, {}) : scatter_marked(scatter, marked);
  steps.next();
  return outcome == Outcome::done ? marked.copy_others(run, tuning, plan, buffers, options) : outcome;
}

Outcome reduce_with(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, const Combine& combine,
                    const RunOptions& options) {
  if (plan.space.count() == 0) return Outcome::done;
  const Scatter scatter = scatter_of(run, tuning, plan, buffers, options);
  const Appliers appliers = appliers_of(run);
  if (!combines_directly(combine)) {
    const CountedUnits units = appliers.counted(combine);
    if (pays_to_count(plan, tuning, units)) return reduce_counted(scatter, units, combine);
    return reduce_in_pieces(scatter, appliers, combine);
  }
  Sum sum;
  sum.stream = false;
  sum.apply = appliers.units(combine, ApplyStep::direct, Keep::count);
  sum.apply_elements = appliers.elements(combine, ApplyStep::direct, Keep::count);
  return run_direct(scatter, sum);
}

}  // namespace gs::cpu
