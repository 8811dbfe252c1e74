// describe.cpp: names the kernel of a schedule and lists its decisions.
#include "backends/cpu/describe.h"

#include <optional>
#include <utility>

#include "backends/cpu/form.h"
#include "backends/cpu/prepare.h"

namespace gs::cpu {
namespace {

constexpr const char* kByIndex = "decided from the index";
constexpr const char* kOutOfOrder = "tiles of the result are not written in order";
// A reduction does not stream to its targets, and does not prefetch those that have totals apart from them.
constexpr const char* kReduces = "values are combined with their targets";

Decision by(const char* name, std::string chosen, const Comparison& comparison) {
  return {name, std::move(chosen), comparison.quantity, comparison.amount, comparison.threshold, comparison.value};
}

Decision without(const char* name, std::string chosen, const char* reason) {
  return {name, std::move(chosen), nullptr, 0, nullptr, 0, reason};
}

const char* word(bool chosen) {
  return chosen ? "yes" : "no";
}

Decision threads_decision(const Schedule& schedule, int available) {
  const bool is_move = schedule.strategy == Strategy::chunks || schedule.direction == Direction::gather;
  const Comparison comparison = sharing(is_move ? schedule.walk() : *schedule.plan, *schedule.tuning);
  const std::string threads = std::to_string(schedule.threads);
  if (available == 1) return without("threads", threads, "the call may use one");
  if (schedule.threads > 1 && !comparison.is_met()) return without("threads", threads, "each packs tiles of its own");
  if (schedule.threads == 1 && comparison.is_met()) return without("threads", threads, "the work cannot be divided");
  return by("threads", threads, comparison);
}

// How a scatter keeps points of one target in order; none for others.
std::optional<Decision> targets_decision(const Schedule& schedule) {
  if (schedule.marks == Marks::first) return without("targets", "marked", "the last point of each moves");
  if (schedule.strategy == Strategy::parts) {
    return without("targets", schedule.in_pieces() ? "in pieces" : "in slices", "each belongs to one thread");
  }
  if (schedule.strategy != Strategy::ranges) return {};
  return without("targets", "in ranges", "the index decides which points a thread reads");
}

Decision tiles_decision(const Schedule& schedule) {
  if (!schedule.columns.far) return without("column tiles", "yes", "columns share sets of the caches");
  const bool by_index = schedule.otherwise != Strategy::nothing;  // a far target may be written row by row
  return by("column tiles", by_index ? kByIndex : "yes", *schedule.columns.far);
}

Decision prefetch_decision(const Schedule& schedule) {
  const Plan& walk = schedule.walk();
  const Job& job = schedule.prepared.job;
  const bool prefetches = job.ahead != Ahead::none;
  if (schedule.totals == Totals::records) return without("prefetch", "no", kReduces);
  const bool combines = schedule.reduces() && schedule.totals == Totals::targets;
  if (combines && !fetches_combined(walk, job)) return without("prefetch", "no", kReduces);
  if (schedule.no_prefetch != nullptr) return without("prefetch", "no", schedule.no_prefetch);
  if (schedule.strategy == Strategy::short_move && prefetches) return without("prefetch", "no", "few points");
  if (combines && job.ahead != Ahead::runs)
    return by("prefetch", word(prefetches), fetching_combined(walk, *schedule.tuning));
  return by("prefetch", word(prefetches), fetching(walk, *schedule.tuning, job));
}

Decision stream_decision(const Schedule& schedule) {
  const Job& job = schedule.prepared.job;
  if (schedule.reduces()) return without("stream", "no", kReduces);
  const Comparison comparison = streaming(schedule.walk(), *schedule.tuning, schedule.direction);
  if (schedule.strategy == Strategy::packed_tiles && schedule.direction == Direction::gather) {
    if (comparison.is_met() && !schedule.stream) return without("stream", "no", kOutOfOrder);
    return by("stream", word(schedule.stream), comparison);
  }
  const char* const obstacle = obstacle_to_streaming(job);
  return obstacle != nullptr ? without("stream", "no", obstacle) : by("stream", word(job.stream), comparison);
}

}  // namespace

std::string kernel_of(const Schedule& schedule) {
  return std::string(schedule.kernels->level) + " " + form_name(schedule.walk(), schedule.form);
}

std::vector<Decision> decisions_of(const Schedule& schedule, int available) {
  std::vector<Decision> all;
  if (schedule.strategy == Strategy::nothing) return all;
  all.push_back(threads_decision(schedule, available));
  if (const std::optional<Decision> targets = targets_decision(schedule)) all.push_back(*targets);
  if (schedule.strategy == Strategy::column_tiles) {
    all.push_back(tiles_decision(schedule));
  } else if (schedule.form == Form::packed_tiles) {
    all.push_back(without("packed tiles", "yes", "the last axis is not the fast one of every array"));
  } else {
    all.push_back(prefetch_decision(schedule));
  }
  all.push_back(stream_decision(schedule));
  if (schedule.form == Form::vectors)
    all.push_back(by("gather instructions", word(schedule.prepared.job.gathers),
                     gathering(*schedule.tuning, schedule.prepared.job)));
  return all;
}

}  // namespace gs::cpu
