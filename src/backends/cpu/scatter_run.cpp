// scatter_run.cpp: divides the points of a scatter between threads so that each target belongs to one thread. That
// thread takes the points of the target in order. If the indexed side has a stride along an axis of the space, every
// thread gets slices of that axis, or tiles of columns (target_tiles.h). A few very long units are cut into pieces.
// Otherwise every thread has a range of targets. Where neighbouring points have neighbouring targets, it skips blocks
// of others (target_spans.h); else a few threads each read all points, and for more the points are divided first
// (partitioned_scatter.h).
#include "backends/cpu/scatter_run.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>

#include "backends/cpu/form.h"
#include "backends/cpu/move_points.h"
#include "backends/cpu/packed_tiles.h"
#include "backends/cpu/slot_counts.h"
#include "backends/cpu/target_tiles.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

struct ScatterRound {
  const Scatter* scatter;
  const std::vector<TaskPart>* parts;
  Sum sum;
  int64_t first;
  int64_t last;
  std::vector<int64_t> next = {};  // with spans: of each part, the first block that is left
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

// Whether points may be written without a look at the range of their targets: records and counts are those of a range.
bool may_own_all(const Sum& sum) {
  return sum.totals.record == nullptr && sum.counts == nullptr;
}

// Whether the points of a part may move tile by tile. A tile may join points to longer units. That is right only if one
// thread moves all points of a target, and wrong for records and counts, which are those of the shorter units.
bool may_tile(const Sum& sum, const TaskPart& part) {
  const bool owns_all = part.own.low == 0 && part.own.high == UINT64_MAX;
  return owns_all && may_own_all(sum);
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

// Moves some points of the blocks that have targets in the range of a part. Where their indices may change, the range
// is looked at again, so that no other thread writes to the same targets.
bool run_spans(ScatterRound& round, std::size_t number) {
  const Scatter& scatter = *round.scatter;
  const TaskPart& part = (*round.parts)[number];
  const bool stays = may_own_all(round.sum) && scatter.buffers->owns_index;
  const auto move = [&](int64_t first, int64_t last, bool all) {
    const TaskPart& owner = all && stays ? TaskPart{} : part;
    return run_range(scatter, round.sum, *scatter.plan, *scatter.buffers, owner, first, last);
  };
  return scatter.spans->for_each_run(part.own, round.next[number], round.last - round.first, move);
}

bool run_part(void* context, int64_t chunk) {
  auto& round = *static_cast<ScatterRound*>(context);
  const auto number = static_cast<std::size_t>(chunk);
  const TaskPart& part = (*round.parts)[number];
  const Plan& plan = *round.scatter->plan;
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
  if (scatter.options.interrupted == nullptr) return std::max<int64_t>(scatter.plan->space.count(), 1);
  const int64_t by_bytes = kRoundBytes / std::max<int64_t>(scatter.plan->unit, 1);
  return std::max<int64_t>(std::min(scatter.tuning->round_points, by_bytes), 1);
}

// Each part moves the points of its own blocks, as many in each round: Ctrl-C is polled between two rounds.
Outcome run_parts_by_spans(const Scatter& scatter, const std::vector<TaskPart>& parts, const Sum& sum) {
  ScatterRound round{&scatter, &parts, sum, 0, points_of_round(scatter), std::vector<int64_t>(parts.size(), 0)};
  host::InterruptPoller poller(scatter.options.interrupted);
  const int64_t blocks = scatter.spans->blocks() * static_cast<int64_t>(parts.size());
  for (int64_t done = 0; done < blocks;) {
    host::run_task(scatter.threads, {static_cast<int64_t>(parts.size()), run_part, &round});
    if (round.bad.load()) return Outcome::bad_index;
    done = std::accumulate(round.next.begin(), round.next.end(), int64_t{0});
    if (done < blocks && !poller.proceed(done, blocks)) return Outcome::interrupted;
  }
  return Outcome::done;
}

// Slices of the outermost axis are many work chunks, and the thread pool polls for Ctrl-C between them. Other parts are
// few: all of them advance through their points in rounds, and Ctrl-C is polled between two rounds.
Outcome run_parts(Scatter scatter, const std::vector<TaskPart>& parts, const Sum& sum) {
  const bool many = parts[0].axis == 0 || parts[0].tiling.columns > 0;
  int64_t count = scatter.plan->space.count();
  std::optional<Tuning> tuning;
  if (parts[0].axis >= 0) {  // the first slice is the longest
    count = count / scatter.plan->space.extent(parts[0].axis) * (parts[0].end - parts[0].begin);
    scatter.tuning = &tuning.emplace(tuning_of_parts(*scatter.plan, *scatter.tuning));
  }
  int64_t step = many ? count : std::min(points_of_round(scatter), count);
  if (step < count && scatter.plan->space.rank() > 0) {
    const int64_t row = count / scatter.plan->space.extent(0);
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

std::vector<TaskPart> parts_between(const std::vector<Address>& bounds) {
  std::vector<TaskPart> parts;
  for (std::size_t r = 0; r + 1 < bounds.size(); ++r) parts.push_back({{bounds[r], bounds[r + 1]}});
  return parts;
}

Outcome run_by_ranges(const Scatter& scatter, AddressRange own, const Targets& targets, const Sum& sum) {
  if (!targets.spans.empty()) {
    const std::vector<Address> bounds = bounds_of_ranges(targets.samples, own, scatter.threads * kPartsPerThread);
    if (targets.spans.divide(bounds)) {
      Scatter by_spans = scatter;
      by_spans.spans = &targets.spans;
      return run_parts_by_spans(by_spans, parts_between(bounds), sum);
    }
  }
  if (scatter.threads <= kReadAllThreads) {
    return run_parts(scatter, parts_between(bounds_of_ranges(targets.samples, own, scatter.threads)), sum);
  }
  Prepared prepared;
  prepare_scatter(scatter, *scatter.plan, *scatter.buffers, sum, false, false, prepared);
  const PartitionedRun partitioned{scatter.run, &prepared.job, scatter.plan, scatter.tuning, own, targets.samples};
  return run_partitioned(partitioned, {scatter.threads, scatter.options.interrupted});
}

}  // namespace

Scatter scatter_of(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  return {run, &tuning, &plan, &buffers, options, cut(plan, tuning, options.threads).threads};
}

std::vector<TaskPart> slices_of(const Scatter& scatter, AddressRange own) {
  return slices(*scatter.plan, *scatter.tuning, scatter.threads, own);
}

std::vector<TaskPart> pieces_of(const Scatter& scatter, AddressRange own) {
  return pieces(*scatter.plan, *scatter.tuning, scatter.threads, own);
}

bool goes_by_ranges(const Scatter& scatter) {
  return scatter.threads > 1 && slices_of(scatter, {}).empty() && pieces_of(scatter, {}).empty();
}

int64_t span_points_of(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                       const RunOptions& options) {
  if (!is_element(plan.unit)) return 0;  // indices are a small part of what moves
  if (!goes_by_ranges(scatter_of(run, tuning, plan, buffers, options))) return 0;
  return paying_span_points(run, tuning, plan, buffers);
}

Targets::Targets(const Scatter& scatter) {
  if (!goes_by_ranges(scatter)) return;
  samples = sample_targets(*scatter.plan, *scatter.buffers, scatter.threads);
  spans = TargetSpans(scatter.run, *scatter.tuning, *scatter.plan, *scatter.buffers,
                      {scatter.threads, scatter.options.interrupted});
}

Outcome run_apart(const Scatter& scatter) {
  Prepared prepared;
  prepare(*scatter.plan, *scatter.buffers, Direction::scatter, *scatter.tuning, prepared);
  return move_points(scatter.run, *scatter.tuning, *scatter.plan, prepared.job,
                     {scatter.threads, scatter.options.interrupted});
}

Outcome run_own(const Scatter& scatter, AddressRange own, const Targets& targets, const Sum& sum) {
  if (targets.spans.interrupted()) return Outcome::interrupted;
  if (scatter.threads == 1) return run_parts(scatter, {TaskPart{own}}, sum);
  if (goes_by_ranges(scatter)) return run_by_ranges(scatter, own, targets, sum);
  std::vector<TaskPart> parts = slices_of(scatter, own);
  return run_parts(scatter, parts.empty() ? pieces_of(scatter, own) : parts, sum);
}

Outcome run_direct(const Scatter& scatter, const Sum& sum) {
  const ColumnTiling tiling = column_tiling_of_scatter(*scatter.plan, *scatter.tuning, sum.apply != nullptr);
  if (tiling.columns > 0 && !follows_rows(tiling, *scatter.plan, *scatter.buffers)) {
    return run_parts(scatter, tiles(*scatter.plan, tiling), sum);
  }
  const bool one_round =
      scatter.options.interrupted == nullptr || scatter.plan->space.count() <= scatter.tuning->round_points;
  if (scatter.threads > 1 || !one_round) return run_own(scatter, {}, Targets(scatter), sum);
  ScatterRound round{&scatter, nullptr, sum, 0, scatter.plan->space.count(), {}};
  const bool good = run_points(round, *scatter.plan, *scatter.buffers, TaskPart{}, round.first, round.last);
  return good ? Outcome::done : Outcome::bad_index;
}

}  // namespace gs::cpu
