// records.cpp: whether a reduction needs a record for every slot, and long counts.
#include "backends/cpu/records.h"

namespace gs::cpu {

bool is_gapless(const Plan& plan, int64_t slots) {
  double targets = static_cast<double>(plan.unit_items());
  for (int axis = 0; axis < plan.space.rank(); ++axis) {
    if (plan.space.stride(kIndexed, axis) != 0) targets *= static_cast<double>(plan.space.extent(axis));
  }
  for (const IndexArray& index : plan.index) targets *= static_cast<double>(index.extent);
  return targets == static_cast<double>(slots);  // exact below 2^53, far more than fit into memory
}

bool counts_are_long(const Plan& plan, const Tuning& tuning, const Combine& combine) {
  return combine.reduce == Reduce::mean && plan.space.count() > tuning.short_counts;
}

}  // namespace gs::cpu
