// plan_form.cpp: decides between the forms of one job and those of whole plans.
#include "backends/cpu/plan_form.h"

#include "backends/cpu/column_tiles.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/tiling.h"

namespace gs::cpu {
namespace {

bool is_short_job(const Plan& plan, const Tuning& tuning, const Job& job) {
  if (job.scatter && job.ahead != Ahead::none) return false;  // far targets are prefetched
  if (job.general || job.form == Form::blocks || job.rank != 1) return false;
  if (plan.kind != PlanKind::elements || plan.masked || !(plan.rule == Rule{}) || !has_elements_form(plan, job))
    return false;
  const IndexArray& index = plan.index[0];
  if (index.step != plan.unit || (index.type != IndexType::i64 && index.type != IndexType::i32)) return false;
  // At most as many points as one thread takes by default, even if the user sets a higher threshold: a longer call
  // needs prefetches, and polls for Ctrl-C.
  const int64_t count = plan.space.count();
  return count > 0 && count < kSerialPoints && cut(plan, tuning, 2).threads == 1;
}

}  // namespace

Form form_of(const Plan& plan, const Tuning& tuning, Direction direction, const Job& job) {
  if (direction == Direction::gather && column_tiling_of(plan, tuning).columns > 0) return Form::column_tiles;
  return is_short_job(plan, tuning, job) ? Form::short_move : job.form;
}

bool is_short_scatter(const Plan& plan, const Tuning& tuning) {
  if (plan.space.count() >= kSerialPoints || plan.index.size() != 1) return false;  // without a job
  Prepared prepared;
  Buffers no_memory;
  no_memory.index = {nullptr};
  prepare(plan, no_memory, Direction::scatter, tuning, prepared);
  return is_short_job(plan, tuning, prepared.job);
}

Form form_of(const Plan& plan, const Tuning& tuning, Direction direction) {
  const std::optional<Tiling> tiling = tiling_of(plan, tuning, direction);
  const Plan& walk = tiling ? tiling->plan : plan;
  Prepared prepared;
  Buffers no_memory;
  no_memory.index.resize(plan.index.size(), nullptr);
  prepare(walk, no_memory, direction, tuning, prepared);
  const Form form = form_of(walk, tuning, direction, prepared.job);
  return tiling && tiling->is_tiled && form != Form::column_tiles ? Form::packed_tiles : form;
}

}  // namespace gs::cpu
