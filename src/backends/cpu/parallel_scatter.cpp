// parallel_scatter.cpp: divides a scatter or a reduction between threads so that each target belongs to one thread.
// That thread takes the points of the target in order. If the indexed side has a stride along an axis of the space,
// every thread gets slices of that axis, or tiles of columns (target_tiles.h). A few very long units are cut into
// pieces. Otherwise every thread has a range of targets: a few threads each read all points, for more the points are
// divided first (partitioned_scatter.h).
#include "backends/cpu/parallel_scatter.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <vector>

#include "backends/cpu/form.h"
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/marked_targets.h"
#include "backends/cpu/move_points.h"
#include "backends/cpu/packed_tiles.h"
#include "backends/cpu/partitioned_scatter.h"
#include "backends/cpu/records.h"
#include "backends/cpu/scatter_parts.h"
#include "backends/cpu/slot_counts.h"
#include "backends/cpu/target_tiles.h"
#include "core/reductions.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

// The fields of a job that a reduction sets.
struct Sum {
  Apply apply = nullptr;
  ApplyElements apply_elements = nullptr;
  Window totals;
  const SlotCounts* counts = nullptr;
  int64_t counts_of_piece = 0;  // each piece of the units has counts of its own
  bool stream = true;
};

struct Scatter {
  Run run;
  const Tuning* tuning;
  const Plan* plan;
  const Buffers* buffers;
  RunOptions options;
  int threads;
  TargetMarks marks = {};
};

struct ScatterRound {
  const Scatter* scatter;
  const std::vector<TaskPart>* parts;
  Sum sum;
  int64_t first;
  int64_t last;
  std::atomic<bool> bad = false;
};

// Sets what a scatter adds to the job that `prepare` made. `owns_all`: the thread that runs the job takes all points.
void prepare_scatter(const Scatter& scatter, const Plan& plan, const Buffers& buffers, const Sum& sum, bool owns_all,
                     bool in_pieces, Prepared& prepared) {
  prepare(plan, buffers, Direction::scatter, *scatter.tuning, prepared);
  Job& job = prepared.job;
  job.apply = sum.apply;
  job.apply_elements = sum.apply_elements;
  job.totals = sum.totals;
  job.counts = sum.counts;
  job.stream = job.stream && sum.stream;
  if (job.totals.record != nullptr) job.ahead = Ahead::none;  // the targets are read at the end only
  const bool combines = job.apply != nullptr && job.totals.record == nullptr && job.counts == nullptr;
  if (combines && job.ahead == Ahead::units && !fetching_combined(plan, *scatter.tuning).is_met()) {
    job.ahead = Ahead::none;
  }
  job.marks = scatter.marks;
  job.form = form_of_scatter(plan, job,
                             {owns_all, in_pieces, job.apply != nullptr,
                              job.totals.record != nullptr || job.counts != nullptr, job.apply_elements != nullptr});
}

bool run_range(const Scatter& scatter, const Sum& sum, const Plan& plan, const Buffers& buffers, const TaskPart& part,
               int64_t first, int64_t last) {
  Prepared prepared;
  const bool owns_all = part.own.low == 0 && part.own.high == UINT64_MAX;
  const bool in_pieces = part.axis < 0 && part.end > 0;
  prepare_scatter(scatter, plan, buffers, sum, owns_all, in_pieces, prepared);
  Job& job = prepared.job;
  SlotCounts counts;
  job.own_low = std::max<Address>(part.own.low, 1);
  job.own_high = part.own.high;
  job.own_all = owns_all;
  if (in_pieces) {
    job.unit = part.end - part.begin;
    job.dense += part.begin;
    job.indexed += part.begin;
    job.packed = false;
    if (job.counts != nullptr) {
      counts = piece_of(*job.counts, part.begin, part.piece * sum.counts_of_piece);
      job.counts = &counts;
    }
  }
  return scatter.run(job, first, last);
}

// Whether the points of a part may move tile by tile. A tile may join points to longer units. That is right only if one
// thread moves all points of a target, and wrong for records and counts, which are those of the shorter units.
bool may_tile(const Sum& sum, const TaskPart& part) {
  const bool owns_all = part.own.low == 0 && part.own.high == UINT64_MAX;
  return owns_all && sum.totals.record == nullptr && sum.counts == nullptr;
}

// Moves the points [first, last) in the order of their tiling, if they have one.
bool run_points(const ScatterRound& round, const Plan& plan, const Buffers& buffers, const TaskPart& part,
                int64_t first, int64_t last) {
  Buffers range = buffers;
  std::optional<Tiling> tiling;
  const std::optional<Plan> rows = whole_rows(plan, range, first, last);
  if (rows && may_tile(round.sum, part)) tiling = tiling_of(*rows, *round.scatter->tuning, Direction::scatter);
  if (!tiling) return run_range(*round.scatter, round.sum, plan, buffers, part, first, last);
  const Tuning tuning = tuning_of_parts(tiling->plan, *round.scatter->tuning);
  Scatter scatter = *round.scatter;
  scatter.tuning = &tuning;
  TilePacker tile(*tiling, range, Direction::scatter);
  for (int64_t number = 0; number < tiling->tiles; ++number) {
    tile.load(number);
    if (!run_range(scatter, round.sum, tile.plan(), tile.buffers(), part, 0, tile.plan().space.count())) return false;
  }
  return true;
}

bool run_tiles(const ScatterRound& round, const TaskPart& part) {
  const auto move = [](const void* context, const Plan& plan, const Buffers& buffers) {
    return run_points(*static_cast<const ScatterRound*>(context), plan, buffers, TaskPart{}, 0, plan.space.count());
  };
  const Scatter& scatter = *round.scatter;
  for (int64_t number = part.begin; number < part.end; ++number) {
    const MovePoints points{move, &round};
    if (!scatter_tile(scatter.run, part.tiling, *scatter.plan, *scatter.buffers, number, points)) return false;
  }
  return true;
}

bool run_part(void* context, int64_t chunk) {
  auto& round = *static_cast<ScatterRound*>(context);
  const TaskPart& part = (*round.parts)[static_cast<std::size_t>(chunk)];
  const Plan& plan = *round.scatter->plan;
  bool good = false;
  if (part.tiling.columns > 0) {
    good = run_tiles(round, part);
  } else if (part.axis < 0) {
    good = run_points(round, plan, *round.scatter->buffers, part, round.first, round.last);
  } else {
    Buffers buffers = *round.scatter->buffers;
    const Plan slice = sliced(plan, buffers, part.axis, part.begin, part.end);
    const int64_t last = std::min(round.last, slice.space.count());
    good = round.first >= last || run_points(round, slice, buffers, part, round.first, last);
  }
  if (!good) round.bad.store(true, std::memory_order_relaxed);
  return good;
}

// Slices of the outermost axis are many work chunks, and the thread pool polls for Ctrl-C between them. Other parts are
// few: all of them advance through their points in rounds, and Ctrl-C is polled between two rounds.
Outcome run_parts(Scatter scatter, const std::vector<TaskPart>& parts, const Sum& sum) {
  const bool many = parts[0].axis == 0 || parts[0].tiling.columns > 0;
  int64_t count = scatter.plan->space.count();
  Tuning tuning;
  if (parts[0].axis >= 0) {  // the first slice is the longest
    count = count / scatter.plan->space.extent(parts[0].axis) * (parts[0].end - parts[0].begin);
    tuning = tuning_of_parts(*scatter.plan, *scatter.tuning);
    scatter.tuning = &tuning;
  }
  int64_t step = count;
  if (!many && scatter.options.interrupted != nullptr) {
    const int64_t by_bytes = kRoundBytes / std::max<int64_t>(scatter.plan->unit, 1);
    step = std::max<int64_t>(std::min(scatter.tuning->round_points, by_bytes), 1);
    const int64_t row = scatter.plan->space.rank() > 0 ? count / scatter.plan->space.extent(0) : 1;
    if (step > row) step -= step % row;  // whole rows, which tiles can be made of
  }
  ScatterRound round{&scatter, &parts, sum, 0, 0};
  host::InterruptPoller poller(scatter.options.interrupted);
  for (int64_t first = 0; first < count; first += step) {
    round.first = first;
    round.last = std::min(first + step, count);
    const host::Task task{static_cast<int64_t>(parts.size()), run_part, &round, many ? &poller : nullptr};
    const bool done = host::run_task(scatter.threads, task);
    if (round.bad.load()) return Outcome::bad_index;
    if (!done) return Outcome::interrupted;
    if (round.last < count && !poller.proceed(round.last, count)) return Outcome::interrupted;
  }
  return Outcome::done;
}

std::vector<TaskPart> slices_of(const Scatter& scatter, AddressRange own) {
  return slices(*scatter.plan, *scatter.tuning, scatter.threads, own);
}

std::vector<TaskPart> pieces_of(const Scatter& scatter, AddressRange own) {
  return pieces(*scatter.plan, *scatter.tuning, scatter.threads, own);
}

// Whether each thread has a range of targets.
bool goes_by_ranges(const Scatter& scatter) {
  return scatter.threads > 1 && slices_of(scatter, {}).empty() && pieces_of(scatter, {}).empty();
}

std::vector<Address> samples_of(const Scatter& scatter) {
  if (!goes_by_ranges(scatter)) return {};
  return sample_targets(*scatter.plan, *scatter.buffers, scatter.threads);
}

Outcome run_by_ranges(const Scatter& scatter, AddressRange own, const std::vector<Address>& samples, const Sum& sum) {
  if (scatter.threads <= kReadAllThreads) {
    const std::vector<Address> bounds = bounds_of_ranges(samples, own, scatter.threads);
    std::vector<TaskPart> parts;
    for (std::size_t r = 0; r + 1 < bounds.size(); ++r) parts.push_back({{bounds[r], bounds[r + 1]}});
    return run_parts(scatter, parts, sum);
  }
  Prepared prepared;
  prepare_scatter(scatter, *scatter.plan, *scatter.buffers, sum, false, false, prepared);
  const PartitionedRun partitioned{scatter.run, &prepared.job, scatter.plan, scatter.tuning, own, samples};
  return run_partitioned(partitioned, {scatter.threads, scatter.options.interrupted});
}

// Moves points of which no two have one target.
Outcome run_apart(const Scatter& scatter) {
  Prepared prepared;
  prepare(*scatter.plan, *scatter.buffers, Direction::scatter, *scatter.tuning, prepared);
  return move_points(scatter.run, *scatter.tuning, *scatter.plan, prepared.job,
                     {scatter.threads, scatter.options.interrupted});
}

// Runs the points whose targets begin in `own`.
Outcome run_own(const Scatter& scatter, AddressRange own, const std::vector<Address>& samples, const Sum& sum) {
  if (scatter.threads == 1) return run_parts(scatter, {TaskPart{own}}, sum);
  if (goes_by_ranges(scatter)) return run_by_ranges(scatter, own, samples, sum);
  std::vector<TaskPart> parts = slices_of(scatter, own);
  return run_parts(scatter, parts.empty() ? pieces_of(scatter, own) : parts, sum);
}

// Runs the whole scatter; in one round on the calling thread if there is one thread and Ctrl-C need not be polled.
Outcome run_direct(const Scatter& scatter, const Sum& sum) {
  const ColumnTiling tiling = column_tiling_of_scatter(*scatter.plan, *scatter.tuning, sum.apply != nullptr);
  if (tiling.columns > 0 && !follows_rows(tiling, *scatter.plan, *scatter.buffers)) {
    return run_parts(scatter, tiles(*scatter.plan, tiling), sum);
  }
  const bool one_round =
      scatter.options.interrupted == nullptr || scatter.plan->space.count() <= scatter.tuning->round_points;
  if (scatter.threads > 1 || !one_round) return run_own(scatter, {}, samples_of(scatter), sum);
  ScatterRound round{&scatter, nullptr, sum, 0, scatter.plan->space.count(), {}};
  const bool good = run_points(round, *scatter.plan, *scatter.buffers, TaskPart{}, round.first, round.last);
  return good ? Outcome::done : Outcome::bad_index;
}

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
  const std::vector<Address> samples = samples_of(scatter);
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
    Outcome outcome = run_own(scatter, own, samples, sum);
    if (outcome != Outcome::done) return outcome;
    if (dense) {
      sweep_records(scatter.threads, appliers.sweep(combine, ApplyStep::finish, keep), sum.totals, reached, record,
                    plan.item);
    } else {
      sum.apply = appliers.units(combine, ApplyStep::finish, keep);
      sum.apply_elements = nullptr;
      outcome = run_own(scatter, own, samples, sum);
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
  const std::vector<Address> samples = samples_of(scatter);
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
      const Outcome outcome = run_own(scatter, memory.range_from(first), samples, sum);
      if (outcome != Outcome::done) return outcome;
    }
    if (!poller.proceed()) return Outcome::interrupted;
  }
  return Outcome::done;
}

// Marks the targets first. The rows that win their targets are then read in order: no two of them meet.
Outcome scatter_marked(const Scatter& scatter, MarkedTargets& marked) {
  const RunOptions options{scatter.threads, scatter.options.interrupted};
  const Outcome outcome =
      marked.mark(scatter.run, *scatter.tuning, *scatter.plan, *scatter.buffers, options, KeepTargets::yes);
  if (outcome != Outcome::done) return outcome;
  const Plan plan = marked.plan_of(*scatter.plan);
  const Buffers buffers = marked.buffers_of(*scatter.buffers);
  Scatter moved = scatter;
  moved.plan = &plan;
  moved.buffers = &buffers;
  return run_apart(moved);
}

Scatter scatter_of(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  return {run, &tuning, &plan, &buffers, options, cut(plan, tuning, options.threads).threads};
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
  const Outcome outcome = scatter.threads == 1 ? run_direct(scatter, {}) : scatter_marked(scatter, marked);
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
