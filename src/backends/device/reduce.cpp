// reduce.cpp: see reduce.h.
#include "backends/device/reduce.h"

#include "backends/device/choose_kernel.h"
#include "backends/device/launch.h"
#include "backends/device/sorted_points.h"
#include "backends/device/uploaded_plan.h"

namespace gs::device {
namespace {

// The number of the body that computes in a dtype; -1 where there is none.
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

  const bool any_order =
      combine.reduce == Reduce::add || combine.reduce == Reduce::min || combine.reduce == Reduce::max;
  const int atomic = kernel_of(combine.number, AtomicBodies());
  if (atomic >= 0 && any_order && combine.include_self && body.aligned) {
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

}  // namespace gs::device
