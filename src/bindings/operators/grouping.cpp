// grouping.cpp: reads the ids of a call of `group`, and returns the order of its points and the offsets of its groups.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <string>

#include "bindings/arguments/arguments.h"
#include "bindings/arguments/big_integers.h"
#include "bindings/arguments/keywords.h"
#include "bindings/arguments/tuples.h"
#include "bindings/operators/execute.h"
#include "bindings/operators/grouping.h"
#include "bindings/python_context.h"
#include "bindings/python_errors.h"
#include "core/checked.h"
#include "core/error.h"
#include "host/progress.h"
#include "host/scratch.h"
#include "segments/group.h"

namespace gs {
namespace {

constexpr int64_t kShortCall = 4096;  // points and groups that take less time than a release of the GIL
constexpr int kMostAttempts = 32;     // another thread may change an id between the run and the search for a bad one

using Positions = host::Scratch<int64_t>;

// What a call has found; `bad` if the rule forbids an id.
struct Grouped {
  int64_t groups = -1;
  int64_t kept = 0;
  bool in_order = false;
  Positions order, offsets;
  std::optional<Plan> plan;
  std::optional<BadIndex> bad;
};

// The plan of a gather of one item for each group: its index array are the ids.
Plan plan_of_groups(const OperatorRequest& request, Operands& operands, int64_t groups) {
  checked_mul(groups, int64_t{sizeof(int64_t)});
  operands.input.view.extent = Dims{groups};
  operands.input.view.stride = Dims{operands.input.view.item};
  return plan_for(request, operands);
}

Outcome group_once(const Plan& plan, const Buffers& buffers, const RunOptions& options, Grouped& found) {
  host::ProgressParts parts(2);
  Grouping grouping(plan);
  Outcome outcome = grouping.read(buffers, options);
  if (outcome != Outcome::done) return outcome;
  parts.next();
  found.kept = grouping.kept();
  found.in_order = grouping.in_order();
  found.offsets = Positions(plan.index[0].extent + 1);
  if (!found.in_order) found.order = Positions(found.kept);
  return grouping.sort(found.order.get(), found.offsets.get(), options);
}

// Runs without the GIL.
void run_group(OperatorRequest& request, Operands& operands, const RunOptions& options, Grouped& found) {
  const bool counts_groups = found.groups < 0;
  host::ProgressParts parts(counts_groups ? 2 : 1);
  const Buffers buffers = buffers_of(request, views_of(operands), nullptr, nullptr);
  if (counts_groups) {
    if (find_groups(plan_of_groups(request, operands, 1), buffers, options, found.groups) != Outcome::done) return;
    parts.next();
  }
  found.plan = plan_of_groups(request, operands, found.groups);
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (group_once(*found.plan, buffers, options, found) != Outcome::bad_index) return;
    found.bad = host_backend().first_outside(*found.plan, buffers, options);
    if (found.bad || (options.interrupted != nullptr && options.interrupted())) return;
  }
  throw std::runtime_error(kUnstable);
}

py::object to_ndarray(Positions&& positions, int64_t count) {
  npy_intp extent = count;
  auto array = py::reinterpret_steal<py::object>(
      PyArray_SimpleNewFromData(1, &extent, NPY_INT64, static_cast<void*>(positions.get())));
  if (!array) throw py::error_already_set();
  PyObject* owner = PyCapsule_New(positions.get(), nullptr,
                                  [](PyObject* capsule) { host::release(PyCapsule_GetPointer(capsule, nullptr)); });
  if (owner == nullptr) throw py::error_already_set();
  positions.leave();
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()), owner) < 0) throw py::error_already_set();
  return array;
}

// group(op, ids, num_groups, bounds, negative, mask, like) -> (order, offsets, kept, shape of the ids). `order` is None
// if it is the positions from 0 on; `num_groups` None is the largest id + 1. `like` is an array of int64 in host
// memory.
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
    Grouped found;
    if (!num_groups.is_none()) found.groups = num_groups.cast<int64_t>();
    Plan plan = plan_of_groups(request, operands, std::max<int64_t>(found.groups, 1));
    if (has_wide(operands)) {  // the search for groups reads no Python object
      if (found.groups < 0) throw ShapeError("ids beyond int64 need num_groups");
      plan = plan_of_groups(request, operands, found.groups);
      resolve_wide(request, operands);
    }
    const bool keep_lock = found.groups >= 0 && plan.index_space.count() + found.groups < kShortCall;
    run_work(keep_lock, [&](const RunOptions& options) { run_group(request, operands, options, found); });
    if (found.bad) {
      raise_out_of_bounds(op, *found.plan, *found.bad, Moment::now,
                          value_as_written(request, operands, *found.plan, *found.bad));
    }
    py::object offsets = to_ndarray(std::move(found.offsets), found.groups + 1);
    py::object order = found.in_order ? py::none() : to_ndarray(std::move(found.order), found.kept);
    return py::make_tuple(order, offsets, found.kept, to_tuple(found.plan->index_shape));
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
