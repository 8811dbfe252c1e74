// scatter_run.cpp: divides the points of a scatter between threads so that each target belongs to one thread. That
// thread takes the points of the target in order. If the indexed side has a stride along an axis of the space, every
// thread gets slices of that axis, or tiles of columns (target_tiles.h). A few very long units are cut into pieces.
// Otherwise every thread has a range of targets. The schedule says which. Where neighbouring points have neighbouring
// targets, a thread with a range skips blocks of others (target_spans.h); else a few threads each read all points, and
// for more the points are divided first (partitioned_scatter.h).
#include "backends/cpu/scatter_run.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>

#include "backends/cpu/packed_tiles.h"
#include "backends/cpu/partitioned_scatter.h"
#include "backends/cpu/slot_counts.h"
#include "backends/cpu/target_tiles.h"
#include "backends/cpu/trace.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

struct ScatterRound {
  const Scatter* scatter;
  const std::vector<TaskPart>* parts;
  PieceSum sum;
  int64_t first;
  int64_t last;
  std::vector<int64_t> next = {};  // with spans: of each part, the first block that is left
  std::atomic<bool> bad = false;
};

// Sets what a scatter adds to a job. `owns_all`: the thread that runs the job takes all points.
void add_sum(const Scatter& scatter, const Plan& plan, const PieceSum& sum, bool owns_all, Job& job) {
  job.to.sum = sum;
  settle(*scatter.schedule, plan, *scatter.tuning, job);
  job.to.marks = scatter.marks;
  job.form = form_of_part(*scatter.schedule, plan, job, owns_all, sum.apply_elements != nullptr);
}

bool run_job(const Scatter& scatter, const PieceSum& sum, const Plan& plan, const TaskPart& part, Job& job,
             int64_t first, int64_t last) {
  const bool owns_all = part.own.low == 0 && part.own.high == UINT64_MAX;
  add_sum(scatter, plan, sum, owns_all, job);
  SlotCounts counts;
  job.to.own_low = std::max<Address>(part.own.low, 1);
  job.to.own_high = part.own.high;
  job.to.own_all = owns_all;
  if (part.axis < 0 && part.end > 0) {  // a piece
    job.unit = part.end - part.begin;
    job.dense += part.begin;
    job.indexed += part.begin;
    job.packed = false;
    if (job.to.sum.counts != nullptr) {
      counts = piece_of(*job.to.sum.counts, part.begin, part.piece * sum.counts_of_piece);
      job.to.sum.counts = &counts;
    }
  }
  trace(job);
  return scatter.schedule->kernels->run(job, first, last);
}

bool run_range(const Scatter& scatter, const PieceSum& sum, const Plan& plan, const Buffers& buffers,
               const TaskPart& part, int64_t first, int64_t last) {
  const Schedule& schedule = *scatter.schedule;
  if (&plan == schedule.plan && !schedule.tiling) {  // the job of all points is prepared
    Job job = schedule.prepared.job;
    return run_job(scatter, sum, plan, part, job, first, last);
  }
  Prepared prepared;
  prepare(plan, buffers, Direction::scatter, *scatter.tuning, prepared);
  return run_job(scatter, sum, plan, part, prepared.job, first, last);
}

// Whether points may be written without a look at the range of their targets: records and counts are those of a range.
bool may_own_all(const PieceSum& sum) {
  return sum.totals.record == nullptr && sum.counts == nullptr;
}

// Whether the points of a part may move tile by tile. A tile may join points to longer units. That is right only if one
// thread moves all points of a target, and wrong for records and counts, which are those of the shorter units.
bool may_tile(const PieceSum& sum, const TaskPart& part) {
  const bool owns_all = part.own.low == 0 && part.own.high == UINT64_MAX;
  return owns_all && may_own_all(sum);
}

// Moves the points [first, last) in the order of their tiling, if they have one.
bool run_points(const ScatterRound& round, const Plan& plan, const Buffers& buffers, const TaskPart& part,
                int64_t first, int64_t last) {
  Buffers range = buffers;
  std::optional<Tiling> own;
  const Schedule& schedule = *round.scatter->schedule;
  const Tiling* tiling = nullptr;
  if (&plan == schedule.plan && last - first == plan.space.count() && schedule.strategy != Strategy::column_tiles) {
    if (schedule.tiling) tiling = &*schedule.tiling;
  } else if (may_tile(round.sum, part)) {  // a part has its own
    const std::optional<Plan> rows = whole_rows(plan, range, first, last);
    if (rows) own = tiling_of(*rows, *round.scatter->tuning, Direction::scatter);
    if (own) tiling = &*own;
  }
  if (tiling == nullptr) return run_range(*round.scatter, round.sum, plan, buffers, part, first, last);
  const Tuning tuning = tuning_of_parts(tiling->plan, *round.scatter->tuning);
  Scatter scatter = *round.scatter;
  scatter.tuning = &tuning;
  trace("packed tiles");
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
    if (!scatter_tile(*scatter.schedule->kernels, part.tiling, *scatter.schedule->plan, *scatter.buffers, number,
                      points))
      return false;
  }
  return true;
}

// Moves some points of the blocks that have targets in the range of a part. Where their indices may change, the range
// is looked at again, so that no other thread writes to the same targets.
bool run_spans(ScatterRound& round, std::size_t number) {
  const Scatter& scatter = *round.scatter;
  const TaskPart& part = (*round.parts)[number];
  const bool stays = may_own_all(round.sum) && scatter.buffers->owns_index;
  const auto move = [&](int64_t first, int64_t last, bool all) {
    const TaskPart& owner = all && stays ? TaskPart{} : part;
    return run_range(scatter, round.sum, *scatter.schedule->plan, *scatter.buffers, owner, first, last);
  };
  return scatter.spans->for_each_run(part.own, round.next[number], round.last - round.first, move);
}

bool run_part(void* context, int64_t chunk) {
  auto& round = *static_cast<ScatterRound*>(context);
  const auto number = static_cast<std::size_t>(chunk);
  const TaskPart& part = (*round.parts)[number];
  const Plan& plan = *round.scatter->schedule->plan;
  bool good = false;
  if (part.tiling.columns > 0) {
    good = run_tiles(round, part);
  } else if (round.scatter->spans != nullptr) {
    good = run_spans(round, number);
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

// The points that move between two polls of Ctrl-C.
int64_t points_of_round(const Scatter& scatter) {
  const Plan& plan = *scatter.schedule->plan;
  if (scatter.options.interrupted == nullptr) return std::max<int64_t>(plan.space.count(), 1);
  const int64_t by_bytes = kRoundBytes / std::max<int64_t>(plan.unit, 1);
  return std::max<int64_t>(std::min(scatter.tuning->round_points, by_bytes), 1);
}

// Each part moves the points of its own blocks, as many in each round: Ctrl-C is polled between two rounds.
Outcome run_parts_by_spans(const Scatter& scatter, const std::vector<TaskPart>& parts, const PieceSum& sum) {
  ScatterRound round{&scatter, &parts, sum, 0, points_of_round(scatter), std::vector<int64_t>(parts.size(), 0)};
  host::InterruptPoller poller(scatter.options.interrupted);
  const int64_t blocks = scatter.spans->blocks() * static_cast<int64_t>(parts.size());
  for (int64_t done = 0; done < blocks;) {
    host::run_task(scatter.schedule->threads, {static_cast<int64_t>(parts.size()), run_part, &round});
    if (round.bad.load()) return Outcome::bad_index;
    done = std::accumulate(round.next.begin(), round.next.end(), int64_t{0});
    if (done < blocks && !poller.proceed(done, blocks)) return Outcome::interrupted;
  }
  return Outcome::done;
}

// Slices of the outermost axis are many work chunks, and the thread pool polls for Ctrl-C between them. Other parts are
// few: all of them advance through their points in rounds, and Ctrl-C is polled between two rounds.
Outcome run_parts(Scatter scatter, const std::vector<TaskPart>& parts, const PieceSum& sum) {
  const bool many = parts[0].axis == 0 || parts[0].tiling.columns > 0;
  const Space& space = scatter.schedule->plan->space;
  int64_t count = space.count();
  std::optional<Tuning> tuning;
  if (parts[0].axis >= 0) {  // the first slice is the longest
    count = count / space.extent(parts[0].axis) * (parts[0].end - parts[0].begin);
    scatter.tuning = &tuning.emplace(tuning_of_parts(*scatter.schedule->plan, *scatter.tuning));
  }
  int64_t step = many ? count : std::min(points_of_round(scatter), count);
  if (step < count && space.rank() > 0) {
    const int64_t row = count / space.extent(0);
    if (step > row) step -= step % row;  // whole rows, which tiles can be made of
  }
  ScatterRound round{&scatter, &parts, sum, 0, 0};
  host::InterruptPoller poller(scatter.options.interrupted);
  for (int64_t first = 0; first < count; first += step) {
    round.first = first;
    round.last = std::min(first + step, count);
    const host::Task task{static_cast<int64_t>(parts.size()), run_part, &round, many ? &poller : nullptr};
    const bool done = host::run_task(scatter.schedule->threads, task);
    if (round.bad.load()) return Outcome::bad_index;
    if (!done) return Outcome::interrupted;
    if (round.last < count && !poller.proceed(round.last, count)) return Outcome::interrupted;
  }
  return Outcome::done;
}

std::vector<TaskPart> parts_between(const std::vector<Address>& bounds) {
  std::vector<TaskPart> parts;
  for (std::size_t r = 0; r + 1 < bounds.size(); ++r) parts.push_back({{bounds[r], bounds[r + 1]}});
  return parts;
}

Outcome run_by_ranges(const Scatter& scatter, AddressRange own, const Targets& targets, const PieceSum& sum) {
  const Schedule& schedule = *scatter.schedule;
  if (!targets.spans.empty()) {  // the refinement: the index says whether blocks of points have few ranges
    const std::vector<Address> bounds = bounds_of_ranges(targets.samples, own, schedule.threads * kPartsPerThread);
    if (targets.spans.divide(bounds)) {
      Scatter by_spans = scatter;
      trace("ranges by spans");
      by_spans.spans = &targets.spans;
      return run_parts_by_spans(by_spans, parts_between(bounds), sum);
    }
  }
  if (schedule.filter == Filter::read_all) {
    trace("ranges, all read");
    return run_parts(scatter, parts_between(bounds_of_ranges(targets.samples, own, schedule.threads)), sum);
  }
  trace("ranges, partitioned");
  Job job = schedule.prepared.job;
  add_sum(scatter, *schedule.plan, sum, false, job);
  trace(job);
  const PartitionedRun partitioned{schedule.kernels, &job, schedule.plan, scatter.tuning, own, targets.samples};
  return run_partitioned(partitioned, {schedule.threads, scatter.options.interrupted});
}

// Runs the points by rounds, parts or ranges.
Outcome run_divided(const Scatter& scatter, Strategy strategy, AddressRange own, const Targets& targets,
                    const PieceSum& sum) {
  if (targets.spans.interrupted()) return Outcome::interrupted;
  if (strategy == Strategy::rounds) {
    trace("rounds");
    return run_parts(scatter, {TaskPart{own}}, sum);
  }
  if (strategy == Strategy::ranges) return run_by_ranges(scatter, own, targets, sum);
  std::vector<TaskPart> parts = scatter.schedule->parts;
  for (TaskPart& part : parts) part.own = own;
  trace(scatter.schedule->in_pieces() ? "pieces" : "slices");
  return run_parts(scatter, parts, sum);
}

// How a scatter that may be divided by tiles of columns is divided: the index says whether it follows rows.
Strategy refined(const Scatter& scatter) {
  const Schedule& schedule = *scatter.schedule;
  if (schedule.strategy != Strategy::column_tiles) return schedule.strategy;
  return follows_rows(schedule.columns, *schedule.plan, *scatter.buffers) ? schedule.otherwise : schedule.strategy;
}

}  // namespace

Scatter::Scatter(Schedule& decided, const Buffers& memory, const RunOptions& run_options)
    : schedule(&decided), tuning(decided.tuning), buffers(&memory), options(run_options) {
  if (!decided.tiling) bind(*decided.plan, memory, *decided.tuning, decided.prepared);
}

int64_t span_points_of(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                       const RunOptions& options) {
  if (!is_element(plan.unit)) return 0;  // indices are a small part of what moves
  if (!goes_by_ranges(tuning, plan, options.threads)) return 0;
  return paying_span_points(kernels, tuning, plan, buffers);
}

Targets::Targets(const Scatter& scatter, Strategy strategy) {
  if (strategy != Strategy::ranges) return;
  const Schedule& schedule = *scatter.schedule;
  samples = sample_targets(*schedule.plan, *scatter.buffers, schedule.threads);
  spans = TargetSpans(*schedule.kernels, *schedule.tuning, *schedule.plan, *scatter.buffers,
                      {schedule.threads, scatter.options.interrupted});
}

Outcome run_own(const Scatter& scatter, AddressRange own, const Targets& targets, const PieceSum& sum) {
  return run_divided(scatter, scatter.schedule->strategy, own, targets, sum);
}

Outcome run_direct(const Scatter& scatter) {
  const Schedule& schedule = *scatter.schedule;
  const Plan& plan = *schedule.plan;
  const PieceSum sum{{schedule.apply, schedule.apply_elements, {}, nullptr}, 0};
  const Strategy strategy = refined(scatter);
  if (strategy == Strategy::column_tiles) {
    trace("column tiles");
    return run_parts(scatter, tiles(plan, schedule.columns), sum);
  }
  const bool one_round = scatter.options.interrupted == nullptr || plan.space.count() <= schedule.tuning->round_points;
  if (strategy != Strategy::rounds || !one_round) {
    return run_divided(scatter, strategy, {}, Targets(scatter, strategy), sum);
  }
  trace("one round");
  ScatterRound round{&scatter, nullptr, sum, 0, plan.space.count(), {}};
  const bool good = run_points(round, plan, *scatter.buffers, TaskPart{}, round.first, round.last);
  return good ? Outcome::done : Outcome::bad_index;
}

}  // namespace gs::cpu
