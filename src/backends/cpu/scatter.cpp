// scatter.cpp: see scatter.h. Each thread owns a range of addresses, looks at all points in order and writes to its own
// range only; or, where a few units are very long, owns a range of bytes of every unit. So the order in which a target
// meets its values is that of the points, whoever runs.
#include "backends/cpu/scatter.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "backends/cpu/thread_pool.h"
#include "core/combine_point.h"

namespace gs::cpu {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kAskEvery = std::chrono::milliseconds(10);

// The part of the targets, or of every unit, that one task writes to.
struct Part {
  Address low = 1;
  Address high = UINT64_MAX;
  int64_t begin = 0;  // bytes of the unit
  int64_t bytes = 0;  // 0: all
};

struct Round {
  Run run;
  const Job* job;
  const std::vector<Part>* parts;
  int64_t first;
  int64_t last;
  std::atomic<bool> bad = false;
};

bool run_part(void* context, int64_t chunk) {
  auto& round = *static_cast<Round*>(context);
  const Part& part = (*round.parts)[static_cast<std::size_t>(chunk)];
  Job job = *round.job;
  job.own_low = part.low;
  job.own_high = part.high;
  if (part.bytes > 0) {
    job.unit = part.bytes;
    job.dense += part.begin;
    job.indexed += part.begin;
    job.packed = false;
  }
  const bool good = round.run(job, round.first, round.last);
  if (!good) round.bad.store(true, std::memory_order_relaxed);
  return good;
}

// All points, in rounds: the parts of one round run side by side.
Outcome run_rounds(Run run, const Job& job, const std::vector<Part>& parts, const Tuning& tuning,
                   const RunOptions& options) {
  const int64_t by_bytes = kRoundBytes / std::max<int64_t>(job.unit, 1);
  const int64_t step = std::max<int64_t>(std::min(tuning.round_points, by_bytes), 1);
  auto asked = Clock::now();
  for (int64_t first = 0; first < job.count; first += step) {
    Round round{run, &job, &parts, first, std::min(first + step, job.count)};
    const auto count = static_cast<int64_t>(parts.size());
    run_task(static_cast<int>(count), {count, run_part, nullptr, &round});
    if (round.bad.load()) return Outcome::bad_index;
    if (options.interrupted == nullptr || Clock::now() - asked < kAskEvery) continue;
    if (options.interrupted()) return Outcome::interrupted;
    asked = Clock::now();
  }
  return Outcome::done;
}

// Targets of points that lie evenly among all: only a guess where the work is, so nothing is said of bad indices.
std::vector<Address> sample(const Plan& plan, const Buffers& buffers, int count) {
  const PlanView view = view_of(plan, buffers);
  std::vector<Address> targets;
  for (int i = 0; i < count; ++i) {
    const auto flat = static_cast<int64_t>((static_cast<double>(i) + 0.5) / count * static_cast<double>(view.count));
    const PointOffsets at = locate(view, std::min(flat, view.count - 1));
    if (at.indexed != kNowhere)
      targets.push_back(reinterpret_cast<Address>(buffers.indexed) + static_cast<Address>(at.indexed));
  }
  std::sort(targets.begin(), targets.end());
  return targets;
}

// Cuts [low, high) where equally many of the sampled targets lie in every range.
std::vector<Part> ranges(const std::vector<Address>& targets, Address low, Address high, int count) {
  const auto first = std::lower_bound(targets.begin(), targets.end(), low);
  const auto last = std::lower_bound(first, targets.end(), high);
  std::vector<Part> parts;
  Address begin = low;
  for (int i = 1; i < count; ++i) {
    const auto middle = first + (last - first) * i / count;
    const Address end = middle == last ? high : *middle;
    if (end <= begin) continue;
    parts.push_back({begin, end});
    begin = end;
  }
  if (begin < high) parts.push_back({begin, high});
  return parts;
}

// A few units so long that threads share each of them.
std::vector<Part> pieces(const Plan& plan, const Tuning& tuning, int threads) {
  std::vector<Part> parts;
  if (plan.unit < 2 * tuning.min_piece_bytes || plan.space.count() >= int64_t{threads} * kChunksPerThread) return parts;
  const int64_t piece = std::max((plan.unit / threads + 63) / 64 * 64, tuning.min_piece_bytes);
  for (int64_t begin = 0; begin < plan.unit; begin += piece) {
    parts.push_back({1, UINT64_MAX, begin, std::min(piece, plan.unit - begin)});
  }
  return parts;
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
template <class T>
using Memory = std::unique_ptr<T, Free>;

// Reductions with running totals, one window of the targets at a time.
Outcome reduce_in_windows(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, Job& job,
                          Apply accumulate, Apply finish, int threads, const RunOptions& options) {
  const Span span = indexed_span(plan);
  const int64_t slots = (span.high - span.low) / plan.item;
  const int64_t window = std::min(slots, std::max(tuning.totals_window, plan.unit / plan.item));
  const auto room = static_cast<std::size_t>(window + plan.unit / plan.item);  // the last unit may begin in the window
  const Memory<std::byte> sum(static_cast<std::byte*>(std::malloc(room * kWidestNumber)));
  if (!sum) throw std::bad_alloc();
  const auto targets = threads > 1 ? sample(plan, buffers, threads * kSamplesPerShare) : std::vector<Address>();
  const Address start = reinterpret_cast<Address>(buffers.indexed) + static_cast<Address>(span.low);
  for (int64_t first = 0; first < slots; first += window) {
    const Memory<int64_t> hits(static_cast<int64_t*>(std::calloc(room, sizeof(int64_t))));
    if (!hits) throw std::bad_alloc();
    const Address low = start + static_cast<Address>(first * plan.item);
    const Address high = low + static_cast<Address>(std::min(window, slots - first) * plan.item);
    job.totals = {sum.get(), hits.get(), low};
    const std::vector<Part> parts = ranges(targets, low, high, threads);
    for (const Apply apply : {accumulate, finish}) {
      job.apply = apply;
      const Outcome outcome = run_rounds(run, job, parts, tuning, options);
      if (outcome != Outcome::done) return outcome;
    }
  }
  return Outcome::done;
}

// Alone, or in parts that threads share.
Outcome run_shared(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, const Job& job, int threads,
                   const RunOptions& options) {
  if (threads == 1 && (options.interrupted == nullptr || job.count <= tuning.round_points)) {
    return run(job, 0, job.count) ? Outcome::done : Outcome::bad_index;
  }
  std::vector<Part> parts = pieces(plan, tuning, threads);
  if (parts.empty() && threads == 1) parts = {Part{}};
  if (parts.empty()) parts = ranges(sample(plan, buffers, threads * kSamplesPerShare), 1, UINT64_MAX, threads);
  return run_rounds(run, job, parts, tuning, options);
}

}  // namespace

bool is_shared_by_range(const Plan& plan, Direction direction) {
  return direction == Direction::scatter && !plan.is_one_to_one();
}

int shares(const Plan& plan, const Tuning& tuning, int available) {
  const int threads = cut(plan, tuning, available).threads;
  return plan.unit <= 16 ? std::min(threads, kMaxElementShares) : threads;
}

Outcome scatter_by_range(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                         const RunOptions& options) {
  Prepared prepared;
  prepare(plan, buffers, Direction::scatter, tuning, prepared);
  return run_shared(run, tuning, plan, buffers, prepared.job, shares(plan, tuning, options.threads), options);
}

Outcome reduce_with(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, const Combine& combine,
                    const RunOptions& options) {
  if (plan.space.count() == 0) return Outcome::done;
  Prepared prepared;
  prepare(plan, buffers, Direction::scatter, tuning, prepared);
  Job& job = prepared.job;
  job.stream = false;
  job.include_self = combine.include_self;
  const Applier applier = applier_of(run);
  const int threads = shares(plan, tuning, options.threads);
  if (combines_directly(combine)) {
    job.apply = applier(combine, Stage::direct);
    return run_shared(run, tuning, plan, buffers, job, threads, options);
  }
  return reduce_in_windows(run, tuning, plan, buffers, job, applier(combine, Stage::accumulate),
                           applier(combine, Stage::finish), threads, options);
}

}  // namespace gs::cpu
