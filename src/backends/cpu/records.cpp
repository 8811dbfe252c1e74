// records.cpp: whether a reduction needs a record for every slot, and long counts; sweeps over records.
#include "backends/cpu/records.h"

#include <algorithm>

#include "backends/cpu/prepare.h"
#include "host/thread_pool.h"

namespace gs::cpu {

bool is_dense(const Plan& plan, int64_t slots) {
  if (slots / kSparseSlots > plan.space.count() * plan.unit_items()) return false;
  double targets = static_cast<double>(plan.unit_items());
  for (int axis = 0; axis < plan.space.rank(); ++axis) {
    if (plan.space.stride(kIndexed, axis) != 0) targets *= static_cast<double>(plan.space.extent(axis));
  }
  for (const IndexArray& index : plan.index) targets *= static_cast<double>(index.extent);
  return targets == static_cast<double>(slots);  // exact below 2^53, far more than fit into memory
}

bool has_one_window(const Plan& plan, const Tuning& tuning) {
  const Span span = indexed_span(plan);
  return (span.high - span.low) / plan.item <= tuning.totals_window && plan.rule.bounds != Bounds::unchecked;
}

bool counts_are_long(const Plan& plan, const Tuning& tuning, const Combine& combine) {
  return combine.reduce == Reduce::mean && plan.space.count() > tuning.short_counts;
}

void sweep_records(int threads, Sweep sweep, const Window& totals, int64_t slots, int64_t record, int64_t item) {
  struct SweepWork {
    Sweep sweep;
    Window totals;
    int64_t slots, record, item;
  } work{sweep, totals, slots, record, item};
  const auto run = [](void* context, int64_t chunk) {
    const auto& all = *static_cast<SweepWork*>(context);
    const int64_t begin = chunk * kMaxChunkPoints;
    Window part = all.totals;
    part.record += begin * all.record;
    if (part.before != nullptr) part.before += begin * all.item;
    part.first += static_cast<Address>(begin * all.item);
    all.sweep(part, std::min(kMaxChunkPoints, all.slots - begin));
    return true;
  };
  host::run_task(threads, {(slots + kMaxChunkPoints - 1) / kMaxChunkPoints, run, &work});
}

}  // namespace gs::cpu
