// form.cpp: decides and names the form of one job.
#include "backends/cpu/form.h"

namespace gs::cpu {

bool has_elements_form(const Plan& plan, const Job& job) {
  // A scatter may write one value along a whole run.
  const bool one_value = job.scatter && job.stride[(job.rank - 1) * job.operands + kDense] == 0;
  if (!is_element(job.unit) || !(job.packed || one_value) || job.short_runs || job.general) return false;
  if (job.masked && !job.scatter && job.rule.bounds == Bounds::clip) return false;
  if (job.masked && job.stride[(job.rank - 1) * job.operands + kMask] != 1) return false;
  if (job.indices != 1 || job.folds != 0 || job.rule.bounds == Bounds::wrap) return false;
  if (job.nowhere != Nowhere::never && job.nowhere != (job.scatter ? Nowhere::skip : Nowhere::read_one)) return false;
  const IndexArray& index = plan.index[0];
  if (index.extent == 0 || index.extent >= UINT32_MAX || index.step < 0 || index.step > UINT32_MAX) return false;
  if (job.scatter && index.step == 0) return false;
  return job.stride[(job.rank - 1) * job.operands + kIndex] == index_size(index.type);
}

namespace {

// Whether the `vectors` path can run the job: a gather of 4 or 8 bytes whose positions, in units, are 32-bit numbers.
bool runs_vectors(const Plan& plan, const Tuning& tuning, const Job& job) {
  if (!tuning.vectors || job.general || job.scatter || (job.unit != 4 && job.unit != 8)) return false;
  if (job.indices != 1 || job.folds != 0 || job.rule.bounds == Bounds::wrap) return false;
  if (job.nowhere != Nowhere::never && job.nowhere != Nowhere::read_one) return false;
  const IndexArray& index = plan.index[0];
  const int64_t* const inner = job.stride + (job.rank - 1) * job.operands;
  const int64_t length = job.extent[job.rank - 1];
  if (inner[kDense] != job.unit && job.count > 1) return false;
  if (inner[kIndex] != index_size(index.type) || (job.masked && inner[kMask] != 1)) return false;
  if (inner[kIndexed] != 0 && inner[kIndexed] != job.unit) return false;
  if (job.rank > 1 && length < kShortVectorRun) return false;
  const int64_t units = index.step / job.unit;
  if (index.extent <= 0 || units <= 0 || index.step != units * job.unit || (units & (units - 1)) != 0) return false;
  const int64_t most = INT32_MAX - (inner[kIndexed] == 0 ? 0 : length);  // positions plus the coordinate along the run
  return index.extent <= most / units;
}

// Whether the job gathers from a lookup table of at most 256 bytes or words by 8-bit indices.
bool runs_byte_table(const Plan& plan, const Tuning& tuning, const Job& job) {
  if (!tuning.byte_tables || job.general || job.scatter) return false;
  if (job.unit != 1 && job.unit != 4) return false;
  if (job.indices != 1 || job.folds != 0 || job.masked || job.rule.bounds == Bounds::wrap) return false;
  if (job.nowhere != Nowhere::never && job.nowhere != Nowhere::read_one) return false;
  const IndexArray& index = plan.index[0];
  if (index.extent < 1 || index.extent > 256 || index.step != job.unit) return false;
  if (index.type != IndexType::u8 && index.type != IndexType::i8) return false;
  const bool counts = job.rule.negative == Negative::from_end;
  if (index.type == IndexType::i8 && (job.rule.bounds == Bounds::clip || (!counts && index.extent > 128))) return false;
  const int64_t* const inner = job.stride + (job.rank - 1) * job.operands;
  if (job.count > 1 && (inner[kDense] != job.unit || inner[kIndex] != 1 || inner[kIndexed] != 0)) return false;
  return job.extent[job.rank - 1] >= tuning.byte_run;
}

}  // namespace

Form form_of_job(const Plan& plan, const Tuning& tuning, const Job& job) {
  if (runs_byte_table(plan, tuning, job)) return Form::byte_table;
  if (runs_vectors(plan, tuning, job)) return Form::vectors;
  return has_elements_form(plan, job) ? Form::elements : Form::blocks;
}

bool has_slots(const Plan& plan) {
  if (plan.index.size() != 1 || plan.index[0].step <= 0) return false;
  const int64_t step = plan.index[0].step;
  for (int axis = 0; axis < plan.space.rank(); ++axis) {
    if (plan.space.stride(kIndexed, axis) % step != 0) return false;
  }
  const Span span = indexed_span(plan);
  return (span.high - span.low) / step < UINT32_MAX - 1;
}

Form form_of_scatter(const Plan& plan, const Job& job, const ScatterForm& scatter) {
  if (job.form != Form::elements || scatter.in_pieces) return Form::blocks;
  // The elements form selects points by their positions, and finds totals by them. That is right only if positions
  // alone give the targets.
  const bool has_offset = job.stride[(job.rank - 1) * job.operands + kIndexed] != 0;
  if (!scatter.owns_all && !has_slots(plan)) return Form::blocks;
  if (has_offset && (!scatter.owns_all || scatter.has_totals)) return Form::blocks;
  if (scatter.has_totals && plan.index.size() == 1 && plan.index[0].step != plan.item) return Form::blocks;
  if (scatter.reduces && (!scatter.has_kernel || plan.unit != plan.item)) return Form::blocks;
  return Form::elements;
}

std::string form_name(const Plan& plan, Form form) {
  switch (form) {
    case Form::elements: return plan.kind == PlanKind::axis ? "axis" : "elements";
    case Form::vectors: return "vectors";
    case Form::byte_table: return "byte table";
    case Form::short_move: return "short";
    case Form::column_tiles: return "column tiles";
    case Form::packed_tiles: return "packed tiles";
    case Form::blocks: break;
  }
  // The kind of a plan of small units says which special form it is for; blocks serve what that form does not.
  const bool is_small = plan.kind == PlanKind::elements || plan.kind == PlanKind::axis;
  return is_small ? "blocks" : kind_name(plan.kind);
}

}  // namespace gs::cpu
