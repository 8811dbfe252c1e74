// grouping.cpp: reads the ids of a call of `group`, and returns the order of its points and the offsets of its groups.
#include "bindings/operators/grouping.h"

#include <string>

#include "bindings/arguments/arguments.h"
#include "bindings/arguments/big_integers.h"
#include "bindings/arguments/keywords.h"
#include "bindings/arguments/to_python.h"
#include "bindings/arguments/tuples.h"
#include "bindings/operators/execute.h"
#include "bindings/python_context.h"
#include "bindings/python_errors.h"
#include "calls/make_plan.h"
#include "core/checked.h"
#include "core/error.h"
#include "host/progress.h"
#include "segments/group.h"

namespace gs {
namespace {

constexpr int64_t kFewPoints = 4096;  // take less time than a release of the GIL by all threads saves

// The plan of a gather of one item for each group: its index array are the ids.
Plan plan_of_groups(const OperatorRequest& request, Operands& operands, int64_t groups) {
  operands.input.view.extent = Dims{groups};
  operands.input.view.stride = Dims{operands.input.view.item};
  return plan_for(request, operands);
}

// Runs one part of a call; throws if it was interrupted.
template <class Work>
Outcome run_part(bool keep_lock, Work&& work) {
  Outcome outcome = Outcome::done;
  run_work(keep_lock, [&](const RunOptions& options) { outcome = work(options); });
  if (outcome == Outcome::interrupted) throw py::error_already_set();
  return outcome;
}

// group(op, ids, num_groups, bounds, negative, mask, like) -> (order, offsets, kept, shape of the ids). `order` is None
// if it is the positions from 0 on; `num_groups` None is the largest id + 1. Both arrays have the library of `like`, an
// array of int64 in host memory.
py::object group(const py::str& op, const py::object& ids, const py::object& num_groups, const py::object& bounds,
                 const py::object& negative, const py::object& mask, const py::object& like) {
  PyObject* answer = guarded(std::string(op).c_str(), [&]() -> py::object {
    OperatorRequest request;
    request.op = op;
    request.axis = 0;
    request.rule = parse_rule(bounds.ptr(), negative.ptr(), Direction::scatter);
    Operands operands;
    RawOperands raw{like, ids};
    raw.mask = mask;
    adopt_all(request, raw, operands);
    if (operands.device_call) throw DTypeError("ids and mask must lie in host memory, and one of them is on a GPU");
    int64_t groups = num_groups.is_none() ? 1 : num_groups.cast<int64_t>();
    Plan plan = plan_of_groups(request, operands, groups);
    const Buffers buffers = buffers_of(request, views_of(operands), nullptr, nullptr);
    const bool keep_lock = plan.index_space.count() < kFewPoints;
    host::ProgressParts parts(num_groups.is_none() ? 3 : 2);
    if (num_groups.is_none()) {
      run_part(keep_lock,
               [&](const RunOptions& options) { return find_groups(host_backend(), plan, buffers, options, groups); });
      checked_mul(groups, int64_t{sizeof(int64_t)});
      plan = plan_of_groups(request, operands, groups);
      parts.next();
    }
    resolve_wide(request, operands);
    plan.rule = request.rule;
    Grouping grouping(host_backend(), plan);
    if (run_part(keep_lock, [&](const RunOptions& options) { return grouping.read(buffers, options); }) ==
        Outcome::bad_index) {
      std::optional<BadIndex> bad;
      run_work(keep_lock,
               [&](const RunOptions& options) { bad = host_backend().first_outside(plan, buffers, options); });
      if (!bad) throw std::runtime_error(kUnstable);
      raise_out_of_bounds(op, plan, *bad, Moment::now, value_as_written(request, operands, plan, *bad));
    }
    parts.next();
    Result offsets(operands, Dims{groups + 1});
    std::optional<Result> order;
    if (!grouping.in_order()) order.emplace(operands, Dims{grouping.kept()});
    run_part(keep_lock, [&](const RunOptions& options) {
      return grouping.sort(order ? reinterpret_cast<int64_t*>(order->data()) : nullptr,
                           reinterpret_cast<int64_t*>(offsets.data()), options);
    });
    return py::make_tuple(order ? order->take() : py::none(), offsets.take(), grouping.kept(),
                          to_tuple(plan.index_shape));
  });
  if (answer == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(answer);
}

}  // namespace

void bind_grouping(py::module_& module) {
  module.def("group", &group, py::arg("op"), py::arg("ids"), py::arg("num_groups"), py::arg("bounds"),
             py::arg("negative"), py::arg("mask"), py::arg("like"));
}

}  // namespace gs
