// schedule.cpp: decides how a call runs, from its plan, the tuning of the host and the number of threads.
#include "backends/cpu/schedule.h"

#include <algorithm>

#include "backends/cpu/form.h"
#include "backends/cpu/marked_targets.h"
#include "backends/cpu/records.h"
#include "backends/cpu/slot_counts.h"
#include "core/reductions.h"

namespace gs::cpu {
namespace {

// Whether a job moves a few small units along one axis under the default rule; two of them may have one target.
bool is_short(const Plan& plan, const Tuning& tuning, const Job& job) {
  if (job.scatter && job.ahead != Ahead::none) return false;  // far targets are prefetched
  if (job.general || job.form == Form::blocks || job.rank != 1) return false;
  // At most as many points as one thread takes by default, even if the user sets a higher threshold: a longer call
  // needs prefetches, and polls for Ctrl-C.
  if (job.count >= Tuning{}.serial_points) return false;
  if (plan.kind != PlanKind::elements || plan.masked || !(plan.rule == Rule{}) || !has_elements_form(plan, job))
    return false;
  const IndexArray& index = plan.index[0];
  if (index.step != plan.unit || (index.type != IndexType::i64 && index.type != IndexType::i32)) return false;
  return cut(plan, tuning, 2).threads == 1;
}

// Whether the results of a tile lie side by side along runs that are not short.
bool writes_in_order(const Tiling& tiling, const Job& job) {
  const int last = tiling.plan.space.rank() - 1;
  const int64_t run = tiling.tile[last];
  return job.packed && !tiling.packed[kDense] && (run >= kShortRun || run == tiling.plan.space.extent(last));
}

// Gathers, and scatters whose points have different targets.
void decide_move(const ThreadCount& threads, Schedule& schedule) {
  const Tuning& tuning = *schedule.tuning;
  schedule.tiling = tiling_of(*schedule.plan, tuning, schedule.direction);
  const Plan& walk = schedule.walk();
  const Job& job = schedule.prepared.job;
  lay_out(walk, schedule.direction, tuning, schedule.prepared);
  schedule.no_prefetch = obstacle_to_prefetch(job);
  if (schedule.direction == Direction::gather) schedule.columns = column_tiling_of(walk, tuning);
  const bool is_tiled = schedule.tiling && schedule.tiling->is_tiled;
  if (schedule.columns.columns > 0) {
    schedule.strategy = Strategy::column_tiles;
    schedule.form = Form::column_tiles;
    schedule.threads = static_cast<int>(std::min<int64_t>(threads, tiles_of(walk.space, schedule.columns)));
    schedule.stream = streaming(walk, tuning, schedule.direction).is_met();
    return;
  }
  if (is_short(walk, tuning, job)) {
    schedule.strategy = Strategy::short_move;
    schedule.form = Form::short_move;
    return;
  }
  schedule.cut = cut(walk, tuning, threads);
  schedule.threads = schedule.cut.threads;
  schedule.strategy = is_tiled ? Strategy::packed_tiles : Strategy::chunks;
  schedule.form = is_tiled ? Form::packed_tiles : job.form;
  if (is_tiled && schedule.direction == Direction::gather && writes_in_order(*schedule.tiling, job)) {
    schedule.stream = streaming(walk, tuning, schedule.direction).is_met();
  }
}

// Divides the points of a scatter between its threads: `parts` are those of Strategy::parts.
Strategy divided(const Tuning& tuning, const Plan& plan, int threads, std::vector<TaskPart>& parts) {
  if (threads == 1) return Strategy::rounds;
  parts = slices(plan, tuning, threads, {});
  if (parts.empty()) parts = pieces(plan, tuning, threads, {});
  return parts.empty() ? Strategy::ranges : Strategy::parts;
}

void divide(Schedule& schedule) {
  schedule.strategy = divided(*schedule.tuning, *schedule.plan, schedule.threads, schedule.parts);
  schedule.filter = schedule.threads <= kReadAllThreads ? Filter::read_all : Filter::partition;
}

// Where the totals are kept, and the functions that combine values with them.
void decide_totals(Schedule& schedule) {
  if (!schedule.reduces()) return;
  const Plan& plan = *schedule.plan;
  const Combine& combine = schedule.combine;
  const Appliers& appliers = schedule.kernels->appliers;
  if (combines_directly(combine)) {
    schedule.apply = appliers.units(combine, ApplyStep::direct, Keep::count);
    schedule.apply_elements = appliers.elements(combine, ApplyStep::direct, Keep::count);
    return;
  }
  schedule.counted = appliers.counted(combine);
  if (pays_to_count(plan, *schedule.tuning, schedule.counted)) {
    schedule.totals = schedule.counted.count == nullptr ? Totals::flags : Totals::counts;
    if (slots_are_items(plan)) schedule.apply_elements = schedule.counted.elements;
    return;
  }
  schedule.totals = Totals::records;
  const Span span = indexed_span(plan);
  const bool many = counts_are_long(plan, *schedule.tuning, combine);
  schedule.sweeps = !many && is_dense(plan, (span.high - span.low) / plan.item);
  schedule.keep = many ? Keep::long_count : schedule.sweeps && sums_suffice(combine) ? Keep::nothing : Keep::count;
  schedule.apply_elements = appliers.elements(combine, ApplyStep::accumulate, schedule.keep);
}

// Whether each thread writes all targets that its points have: ranges of them, and windows of totals, are filters.
bool owns_all(const Schedule& schedule) {
  if (schedule.strategy == Strategy::ranges) return false;
  if (schedule.totals == Totals::targets) return true;
  if (schedule.totals == Totals::records) return has_one_window(*schedule.plan, *schedule.tuning);
  const int64_t pieces = schedule.in_pieces() ? static_cast<int64_t>(schedule.parts.size()) : 1;
  return has_one_window(*schedule.plan, *schedule.tuning, schedule.counted, pieces);
}

void decide_form(Schedule& schedule) {
  settle(schedule, schedule.walk(), *schedule.tuning, schedule.prepared.job);
  schedule.form = form_of_part(schedule, schedule.walk(), schedule.prepared.job, owns_all(schedule),
                               schedule.apply_elements != nullptr);
}

// Whether a scatter into fresh memory copies only those rows of its base that it does not write.
bool pays_to_keep_base(const Tuning& tuning, const Plan& plan, int64_t base_bytes) {
  const Span span = indexed_span(plan);
  return pays_to_mark(plan, tuning) && span.low == 0 && span.high == base_bytes &&
         plan.bytes_moved() >= tuning.serial_row_bytes;
}

// Scatters whose points may share targets, and reductions.
void decide_scatter(const ThreadCount& threads, int64_t base_bytes, Schedule& schedule) {
  const Tuning& tuning = *schedule.tuning;
  const Plan& plan = *schedule.plan;
  const Job& job = schedule.prepared.job;
  lay_out(plan, Direction::scatter, tuning, schedule.prepared);
  schedule.no_prefetch = obstacle_to_prefetch(job);
  if (!schedule.reduces() && is_short(plan, tuning, job)) {
    schedule.strategy = Strategy::short_move;
    schedule.form = Form::short_move;
    return;
  }
  schedule.threads = cut(plan, tuning, threads).threads;
  decide_totals(schedule);
  if (base_bytes >= 0 && pays_to_keep_base(tuning, plan, base_bytes)) {
    schedule.base = Base::unmarked;
    schedule.marks = schedule.threads == 1 ? Marks::along : Marks::first;
    schedule.strategy = schedule.threads == 1 ? Strategy::rounds : Strategy::chunks;
    return decide_form(schedule);
  }
  divide(schedule);
  if (schedule.strategy == Strategy::ranges && !schedule.reduces() && pays_to_mark(plan, tuning)) {
    schedule.marks = Marks::first;
    schedule.strategy = Strategy::chunks;
    return decide_form(schedule);
  }
  if (schedule.totals != Totals::targets) return decide_form(schedule);
  schedule.columns = column_tiling_of_scatter(plan, tuning, schedule.reduces());
  if (schedule.columns.columns > 0) {
    settle(schedule, plan, tuning, schedule.prepared.job);
    schedule.otherwise = schedule.strategy;
    schedule.strategy = Strategy::column_tiles;
    schedule.form = Form::column_tiles;
    return;
  }
  if (schedule.strategy != Strategy::ranges) schedule.tiling = tiling_of(plan, tuning, Direction::scatter);
  if (schedule.tiling) {
    lay_out(schedule.walk(), Direction::scatter, tuning, schedule.prepared);
    schedule.no_prefetch = obstacle_to_prefetch(job);
  }
  decide_form(schedule);
  if (schedule.tiling && schedule.tiling->is_tiled) schedule.form = Form::packed_tiles;
}

}  // namespace

void decide(const Kernels& kernels, const Tuning& tuning, const Plan& plan, Direction direction, const Combine& combine,
            const ThreadCount& threads, Schedule& schedule, int64_t base_bytes) {
  schedule.kernels = &kernels;
  schedule.tuning = &tuning;
  schedule.plan = &plan;
  schedule.direction = direction;
  schedule.combine = combine;
  if (base_bytes >= 0) schedule.base = Base::copied;
  if (plan.space.count() == 0) return;
  if (direction == Direction::gather || (!schedule.reduces() && plan.is_one_to_one())) {
    decide_move(threads, schedule);
  } else {
    decide_scatter(threads, base_bytes, schedule);
  }
}

void decide_items(const Schedule& whole, const Plan& items, Schedule& schedule) {
  schedule.kernels = whole.kernels;
  schedule.tuning = whole.tuning;
  schedule.plan = &items;
  schedule.direction = whole.direction;
  schedule.combine = whole.combine;
  schedule.threads = whole.threads;
  lay_out(items, Direction::scatter, *whole.tuning, schedule.prepared);
  decide_totals(schedule);
  divide(schedule);
  decide_form(schedule);
}

void decide_marked(const Schedule& whole, const Plan& rows, Schedule& schedule) {
  schedule.kernels = whole.kernels;
  schedule.tuning = whole.tuning;
  schedule.plan = &rows;
  schedule.direction = Direction::scatter;
  lay_out(rows, Direction::scatter, *whole.tuning, schedule.prepared);
  schedule.cut = cut(rows, *whole.tuning, whole.threads);
  schedule.threads = schedule.cut.threads;
  schedule.strategy = Strategy::chunks;
  schedule.form = schedule.prepared.job.form;
}

bool goes_by_ranges(const Tuning& tuning, const Plan& plan, const ThreadCount& threads) {
  std::vector<TaskPart> parts;
  return divided(tuning, plan, cut(plan, tuning, threads).threads, parts) == Strategy::ranges;
}

void settle(const Schedule& schedule, const Plan& plan, const Tuning& tuning, Job& job) {
  if (!schedule.reduces()) return;
  job.stream = false;
  if (schedule.totals == Totals::records) job.ahead = Ahead::none;  // the targets are read at the end only
  if (schedule.totals != Totals::targets || job.ahead != Ahead::units) return;
  if (!fetching_combined(plan, tuning).is_met()) job.ahead = Ahead::none;
}

Form form_of_part(const Schedule& schedule, const Plan& plan, const Job& job, bool owns_all, bool has_kernel) {
  return form_of_scatter(
      plan, job, {owns_all, schedule.in_pieces(), schedule.reduces(), schedule.totals != Totals::targets, has_kernel});
}

}  // namespace gs::cpu
