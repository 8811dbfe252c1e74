// reduce.cpp: submits the launches of a reduction: by atomics, or by runs of equal targets.
#include "backends/device/reduce.h"

#include "backends/device/choose_kernel.h"
#include "backends/device/launch.h"
#include "backends/device/sorted_points.h"
#include "backends/device/uploaded_plan.h"

namespace gs::device {
namespace {

// The number of the body that computes in a dtype; -1 if there is none.
template <template <class> class Body, class... T>
int kernel_of(Number number, BodyList<Body<T>...>) {
  return visit_number(number, []<class Wanted>() {
    if constexpr ((std::is_same_v<Wanted, T> || ...)) {
      return kernel_number<Body<Wanted>>();
    } else {
      return -1;
    }
  });
}

// The number of the body that combines by atomic operations, in any order; -1 if the order matters, or if there is no
// such operation. `word`: the alignment that all addresses share.
int atomic_kernel(const Plan& plan, const Combine& combine, int word) {
  const bool any_order =
      combine.reduce == Reduce::add || combine.reduce == Reduce::min || combine.reduce == Reduce::max;
  if (!any_order || !combine.include_self || word < plan.item) return -1;
  return kernel_of(combine.number, AtomicBodies());
}

}  // namespace

void reduce(Machine& machine, const Plan& plan, const Buffers& buffers, const Combine& combine, Status* status) {
  if (plan.space.count() == 0) return;
  Combination body;
  body.status = status;
  body.items = plan.unit_items();
  body.work = plan.space.count() * body.items;
  body.by_items = Divider(body.items);
  body.reduce = combine.reduce;
  body.include_self = combine.include_self;
  body.aligned = common_word(plan, buffers) >= plan.item;

  const int atomic = atomic_kernel(plan, combine, common_word(plan, buffers));
  if (atomic >= 0) {
    const UploadedPlan table(machine, plan, buffers);
    body.table = *table;
    return launch_as(machine, atomic, body, body.work);
  }
  const int runs = kernel_of(combine.number, RunBodies());
  if (plan.is_one_to_one()) {
    const UploadedPlan table(machine, plan, buffers);
    body.table = *table;
    return launch_as(machine, runs, body, body.work);
  }
  const SortedPoints points(machine, plan, buffers, status);
  body.table = points.table();
  body.slots = points.slots();
  body.sorted = points.sorted();
  launch_as(machine, runs, body, body.work);
}

std::string kernel_name(const Plan& plan, const Combine& combine) {
  const bool is_atomic = atomic_kernel(plan, combine, common_word(plan, Buffers())) >= 0;
  return is_atomic ? CombineAtomically<int32_t>::kName : CombineRuns<int32_t>::kName;
}

}  // namespace gs::device
