// plan_cache.cpp: see plan_cache.h.
#include "bindings/plan_cache.h"

namespace gs {

void PlanKey::add(const ArrayView& view) {
  add(view.item);
  for (int axis = 0; axis < view.rank(); ++axis) {
    add(view.extent[axis]);
    add(view.stride[axis]);
  }
}

bool PlanKey::set(const Request& request, const Operands& operands) {
  if (operands.indices.size() != 1 || operands.mask.given || operands.fill.given || operands.out.given) return false;
  const IndexView& index = operands.indices[0].view;
  const ArrayView& input = operands.input.view;
  if (input.rank() > kMaxRank || index.rank() > kMaxRank) return false;
  // Each part has a fixed place or says its length, so that no two calls have the same words.
  add(static_cast<int64_t>(request.planner) | static_cast<int64_t>(request.match) << 8 |
      static_cast<int64_t>(request.rule.bounds) << 16 | static_cast<int64_t>(request.rule.negative) << 24 |
      static_cast<int64_t>(index.type) << 32 | static_cast<int64_t>(input.rank()) << 40 |
      static_cast<int64_t>(index.rank()) << 48 | static_cast<int64_t>(request.axis.has_value()) << 56);
  add(request.axis.value_or(0));
  add(request.batch_dims);
  add(input);
  add(index);
  return true;
}

}  // namespace gs
