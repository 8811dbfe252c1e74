// decisions.cpp: lists the decisions about a plan, for explain.
#include "backends/cpu/decisions.h"

#include <string>
#include <utility>

#include "backends/cpu/column_tiles.h"
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/parallel_scatter.h"
#include "backends/cpu/plan_form.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/slot_counts.h"
#include "backends/cpu/tiling.h"
#include "core/reductions.h"

namespace gs::cpu {
namespace {

Decision by(const char* name, std::string chosen, const Comparison& comparison) {
  return {name, std::move(chosen), comparison.quantity, comparison.amount, comparison.threshold, comparison.value};
}

Decision without(const char* name, std::string chosen, const char* reason) {
  return {name, std::move(chosen), nullptr, 0, nullptr, 0, reason};
}

const char* word(bool chosen) {
  return chosen ? "yes" : "no";
}

Decision threads_decision(const Tuning& tuning, const Plan& plan, Direction direction, int available) {
  const int threads =
      may_meet(plan, direction) ? scatter_threads(plan, tuning, available) : cut(plan, tuning, available).threads;
  const Comparison comparison = sharing(plan, tuning);
  if (available == 1) return without("threads", "1", "the call may use one");
  if (threads == 1 && comparison.is_met()) return without("threads", "1", "the work cannot be divided");
  return by("threads", std::to_string(threads), comparison);
}

// A reduction does not stream to its targets, and does not prefetch those that have totals apart from them.
constexpr const char* kReduces = "values are combined with their targets";

bool counts_units(const Plan& plan, const Tuning& tuning, const Combine& combine) {
  if (combines_directly(combine)) return false;
  return pays_to_count(plan, tuning, appliers_of(kernels("baseline")).counted(combine));  // the same for every level
}

Decision prefetch_decision(const Tuning& tuning, const Plan& plan, const Job& job) {
  const char* const obstacle = obstacle_to_prefetch(job);
  if (obstacle != nullptr) return without("prefetch", "no", obstacle);
  return by("prefetch", word(job.ahead != Ahead::none), fetching(plan, tuning, job));
}

Decision combined_prefetch(const Tuning& tuning, const Plan& plan, const Job& job, const Combine& combine) {
  if (!combines_directly(combine) || !fetches_combined(plan, job)) return without("prefetch", "no", kReduces);
  if (obstacle_to_prefetch(job) != nullptr || job.ahead == Ahead::runs) return prefetch_decision(tuning, plan, job);
  const Comparison fetching = fetching_combined(plan, tuning);
  return by("prefetch", word(fetching.is_met()), fetching);
}

Decision stream_decision(const Tuning& tuning, const Plan& plan, const Job& job, bool reduces) {
  const char* const obstacle = reduces ? kReduces : obstacle_to_streaming(job);
  if (obstacle != nullptr) return without("stream", "no", obstacle);
  return by("stream", word(job.stream), streaming(plan, tuning, job.scatter ? Direction::scatter : Direction::gather));
}

Decision gather_decision(const Tuning& tuning, const Job& job) {
  return by("gather instructions", word(job.gathers), gathering(tuning, job));
}

// The column tiles of a plan, or of its walk: the former divide a scatter before it is walked.
ColumnTiling column_tiling_for(const Plan& plan, const Plan& walk, const Tuning& tuning, Direction direction,
                               const Combine& combine) {
  if (direction == Direction::gather) return column_tiling_of(walk, tuning);
  const bool reduces = combine.reduce != Reduce::set;
  if (!may_meet(plan, direction) || (reduces && !combines_directly(combine))) return {};
  return column_tiling_of_scatter(plan, tuning, reduces);
}

}  // namespace

std::vector<Decision> decisions_of(const Tuning& tuning, const Plan& plan, Direction direction, const Combine& combine,
                                   int available) {
  std::vector<Decision> all;
  if (plan.space.count() == 0) return all;
  const std::optional<Tiling> tiling = may_meet(plan, direction) ? tiling_of_scatter(plan, tuning, combine, available)
                                                                 : tiling_of(plan, tuning, direction);
  const Plan& walk = tiling ? tiling->plan : plan;
  Prepared prepared;
  Buffers no_memory;
  no_memory.index.resize(plan.index.size(), nullptr);
  prepare(walk, no_memory, direction, tuning, prepared);
  const bool reduces = direction == Direction::scatter && combine.reduce != Reduce::set;
  all.push_back(threads_decision(tuning, plan, direction, available));
  const bool is_short = form_of(walk, tuning, direction, prepared.job) == Form::short_move;  // it has no further choice
  const ColumnTiling columns = column_tiling_for(plan, walk, tuning, direction, combine);
  if (columns.columns > 0) {
    all.push_back(columns.far ? by("column tiles", "yes", *columns.far)
                              : without("column tiles", "yes", "columns share sets of the caches"));
  } else if (tiling && tiling->is_tiled) {
    all.push_back(without("packed tiles", "yes", "the last axis is not the fast one of every array"));
  } else {
    const Job& job = prepared.job;
    const bool combines = reduces && !counts_units(plan, tuning, combine);
    if (is_short && job.ahead != Ahead::none) {
      all.push_back(without("prefetch", "no", "few points"));
    } else {
      all.push_back(combines ? combined_prefetch(tuning, walk, job, combine) : prefetch_decision(tuning, plan, job));
    }
  }
  all.push_back(stream_decision(tuning, plan, prepared.job, reduces));
  if (prepared.job.form == Form::vectors && !is_short) all.push_back(gather_decision(tuning, prepared.job));
  return all;
}

}  // namespace gs::cpu
