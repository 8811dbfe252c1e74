// deferred_check.cpp: finds the bad index of a call that has ended before its indices were checked.
#include "calls/deferred_check.h"

namespace gs {

LocatedIndex locate(const DeferredCheck& check, int64_t first, const Backend& backend, const RunOptions& options) {
  const Plan& plan = check.plan;
  if (const std::optional<BadIndex> bad = backend.first_outside(plan, check.buffers, options)) return {*bad, true};
  const int64_t point = check.is_reversed ? plan.space.count() - 1 - first : first;
  const IndexArray& array = plan.index[0];
  const int64_t flat = index_position(plan, point * plan.unit_items());
  return {{flat, 1, array.extent, array.axis, array.type, 0}, false};
}

}  // namespace gs
