// run.cpp: runs one call of an operator: adopts and borrows the arguments, makes the plan and executes it.
#include "bindings/run.h"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "bindings/big_integers.h"
#include "bindings/execute.h"
#include "bindings/keywords.h"
#include "bindings/overlap.h"
#include "bindings/plan_object.h"
#include "bindings/python_errors.h"
#include "bindings/to_python.h"
#include "core/error.h"
#include "core/reductions.h"
#include "host/host_info.h"
#include "plans/checks.h"
#include "plans/tiles.h"

namespace gs {
namespace {

std::atomic<int> process_threads{0};
constexpr long kMostThreads = 1024;  // the maximum of GS_NUM_THREADS as well

PyObject* limits_variable() {
  static PyObject* const variable = [] {
    const py::tuple none;
    PyObject* made = PyContextVar_New("gatherscatter.thread_limits", none.ptr());
    if (made == nullptr) throw py::error_already_set();
    return made;
  }();
  return variable;
}

// The limit of the innermost open block of this context; 0 if there is none.
int limit_of_context() {
  PyObject* found = nullptr;
  if (PyContextVar_Get(limits_variable(), nullptr, &found) != 0) throw py::error_already_set();
  const auto blocks = py::reinterpret_steal<py::object>(found);
  // Python code can set the variable to any object.
  if (!PyTuple_CheckExact(found)) throw py::type_error("thread_limits holds " + shown(blocks) + ", expected a tuple");
  for (Py_ssize_t i = PyTuple_GET_SIZE(found); i-- > 0;) {
    PyObject* block = PyTuple_GET_ITEM(found, i);
    if (PyList_Check(block) && PyList_GET_SIZE(block) == 0) continue;
    PyObject* limit = PyList_Check(block) ? PyList_GET_ITEM(block, 0) : nullptr;
    int overflow = 0;
    const long count = limit != nullptr && PyLong_CheckExact(limit) ? PyLong_AsLongAndOverflow(limit, &overflow) : 0;
    if (count >= 1 && count <= kMostThreads && overflow == 0) return static_cast<int>(count);
    throw py::type_error("thread_limits holds " + shown(blocks) + ", expected lists of one number from 1 to " +
                         std::to_string(kMostThreads));
  }
  return 0;
}

// Runs a gather. With `check_first`, all indices are checked before the first write, so that a bad one leaves nothing
// half written. Throws for a bad index.
void move(const Request& request, const Plan& plan, const Operands& operands, const Buffers& buffers,
          bool check_first) {
  const bool nothing_to_move = plan.space.count() == 0;
  if (nothing_to_move && (!plan.can_fail() || plan.index_space.count() == 0)) return;
  check_may_wait(operands, plan);
  if (defers(operands, plan)) {
    DeviceCall& call = *operands.device_call;
    run_work(false, [&](const RunOptions&) {
      call.deferred_check = DeferredCheck{call.queue().move_later(plan, buffers, Direction::gather), plan, buffers};
    });
    return;
  }
  const Backend& backend = backend_of(operands);
  const bool keep_lock = !operands.device_call && keeps_lock(plan);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    Outcome outcome = Outcome::done;
    std::optional<BadIndex> bad;
    run_work(keep_lock, [&](const RunOptions& options) {
      if ((check_first || nothing_to_move) && plan.can_fail() && backend.any_outside(plan, buffers, options)) {
        outcome = Outcome::bad_index;
      }
      if (outcome == Outcome::done && !signalled()) {
        outcome = move_checked(operands, check_first, plan, buffers, Direction::gather, options);
      }
      if (outcome == Outcome::bad_index && !signalled()) bad = backend.first_outside(plan, buffers, options);
    });
    if (bad) {  // the plan is copied, because Python code runs below and may release its owner
      const py::object written = value_as_written(request, operands, plan, *bad);
      raise_out_of_bounds(request.op, Plan(plan), *bad, Moment::now, written);
    }
    if (outcome == Outcome::done) return;
  }
  throw std::runtime_error("the index array kept changing while it was used");
}

// Writes into the `out` of the caller. If it overlaps an argument, the result is as if it had been copied first.
py::object execute_into(const Request& request, const Plan& plan, const Operands& operands) {
  check_out(operands);
  const ArrayView& out = operands.out.view;
  int64_t shared_bytes = 0;
  const auto add_overlap = [&](const Operand& operand) {
    if (operand.given && overlap(operand.view, out)) shared_bytes += std::max<int64_t>(bytes_of(operand.view), 1);
  };
  add_overlap(operands.input);
  for (const Operand& index : operands.indices) add_overlap(index);
  add_overlap(operands.mask);
  add_overlap(operands.fill);

  if (shared_bytes == 0) {
    move(request, plan, operands, buffers_of(request, operands, out.data, operands.input.view.data), true);
    release_streams(request, operands);
  } else if (shared_bytes < bytes_of(out)) {
    Detached own(operands);
    own.detach(out, true);
    move(request, make_plan(request, own.operands), own.operands,
         buffers_of(request, own.operands, out.data, own.operands.input.view.data), true);
    release_streams(request, own.operands);
  } else {
    Operands separate = operands;
    separate.out = Operand{};
    const Backend& backend = backend_of(operands);
    const TemporaryCopy fresh(backend, out);
    if (operands.device_call) copy_view(backend, out, fresh.view);  // points of deferred errors keep their values
    move(request, make_plan(request, separate), separate,
         buffers_of(request, separate, fresh.view.data, operands.input.view.data), false);
    copy_view(backend, fresh.view, out);
    if (operands.device_call) operands.device_call->is_synchronized = false;
    release_streams(request, operands);
  }
  return return_out(operands);
}

// Splits an array of coordinates into index arrays, one for each entry of its last axis. There may be at most `most`.
std::vector<IndexView> split_coordinates(const IndexView& all, int most) {
  const int last = all.rank() - 1;
  if (last < 0) throw ShapeError("indices is a scalar, expected an array whose last axis holds coordinates");
  if (all.extent[last] > most) {
    throw ShapeError("indices of shape " + to_string(all.extent) + " hold coordinates of " +
                     std::to_string(all.extent[last]) + " axes, the array has " + std::to_string(most) +
                     " after batch_dims");
  }
  std::vector<IndexView> views(static_cast<std::size_t>(all.extent[last]), all);
  for (std::size_t a = 0; a < views.size(); ++a) {
    if (all.data != nullptr) views[a].data += static_cast<int64_t>(a) * all.stride[last];
    views[a].extent.resize(last);
    views[a].stride.resize(last);
  }
  return views;
}

Plan plan_points(const Request& request, const Operands& operands, const Extras& extras) {
  const ArrayView& input = operands.input.view;
  if (request.coordinates) {
    const IndexView& all = operands.indices[0].view;
    if (request.batch_dims < 0 || request.batch_dims > input.rank()) {
      throw ShapeError("batch_dims " + std::to_string(request.batch_dims) + " is not in [0, " +
                       std::to_string(input.rank()) + "], the rank of the input");
    }
    const auto batch = static_cast<int>(request.batch_dims);
    const std::vector<IndexView> views = split_coordinates(all, input.rank() - batch);
    Dims points = all.extent;
    points.resize(all.rank() - 1);
    return at_points(input, views, points, request.batch_dims, request.rule, extras);
  }
  std::vector<IndexView> views;
  for (const Operand& index : operands.indices) views.push_back(index.view);
  return at_points(input, views, {}, request.batch_dims, request.rule, extras);
}

// The name of the argument with the values that the operator writes.
std::string source_name(const Request& request) {
  constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"scatter_nd", "updates"},    {"tile_scatter", "value"}, {"put", "v"},
      {"put_along_axis", "values"}, {"putmask", "values"},     {"place", "vals"}};
  for (const auto& [op, name] : kNames) {
    if (op == request.name()) return name;
  }
  return "src";
}

}  // namespace

void set_number(Request& request, const Operands& operands) {
  if (request.combine.reduce == Reduce::set) return;
  request.combine.number = number_of(operands.input.type);
  if (has_reduction(request.combine)) return;
  const char* const names[] = {"", "add", "mul", "min", "max", "mean"};
  throw DTypeError(
      "input has dtype " + operands.input.type.name() + ", which reduce='" +
      names[static_cast<int>(request.combine.reduce)] +
      "' does not support: it takes bool, integers, floats of 8 to 64 bits with a sign and complex numbers (add, mul, "
      "mean), all in the byte order of this machine");
}

void adopt_all(const Request& request, const RawOperands& raw, Operands& operands) {
  adopt(request.op, Role::data, raw.input, operands.input);
  if (request.planner == Planner::elementwise) {
    operands.indices.resize(0);
  } else if (request.planner == Planner::at_points && !request.coordinates) {
    const auto indices = py::reinterpret_borrow<py::tuple>(raw.indices);
    operands.indices.resize(indices.size());
    for (std::size_t a = 0; a < indices.size(); ++a) adopt(request.op, Role::index, indices[a], operands.indices[a]);
  } else {
    operands.indices.resize(1);
    adopt(request.op, Role::index, raw.indices, operands.indices[0]);
  }
  adopt(request.op, Role::fill, raw.fill, operands.fill);
  adopt(request.op, Role::mask, raw.mask, operands.mask);
  adopt(request.op, Role::source, raw.source, operands.source);
  adopt(request.op, Role::out, raw.out, operands.out);
  if (!operands.input.given) throw DTypeError("input is None, expected an array");
  for (const Operand& index : operands.indices) {
    if (!index.given) throw DTypeError("index is None, expected an array of integers");
  }

  choose_device(operands);
  borrow(Role::data, operands.input);
  for (Operand& index : operands.indices) borrow(Role::index, index);
  if (operands.fill.given) {
    borrow(Role::fill, operands.fill);
    if (operands.fill.view.item != operands.input.view.item) {
      throw DTypeError("fill_value has dtype " + operands.fill.type.name() + ", input has dtype " +
                       operands.input.type.name());
    }
  }
  if (operands.mask.given) {
    borrow(Role::mask, operands.mask);
    if (operands.mask.type.data.code != dlpack::kBool || operands.mask.view.item != 1) {
      throw DTypeError("mask has dtype " + operands.mask.type.name() + ", expected bool");
    }
  }
  if (operands.source.given) {
    borrow(Role::source, operands.source);
    if (!operands.source.type.matches(operands.input.type)) {
      throw DTypeError(source_name(request) + " has dtype " + operands.source.type.name() + ", input has dtype " +
                       operands.input.type.name());
    }
  } else if (request.direction == Direction::scatter) {
    throw DTypeError(source_name(request) + " is None, expected an array");
  }
  if (operands.out.given) borrow(Role::out, operands.out);
  if (request.direction == Direction::scatter && operands.out.given &&
      !(operands.out.view.extent == operands.input.view.extent)) {
    throw ShapeError("out has shape " + to_string(operands.out.view.extent) + ", the result has shape " +
                     to_string(operands.input.view.extent));
  }
}

Plan make_plan(const Request& request, const Operands& operands) {
  Extras extras;
  if (operands.mask.given) extras.mask = &operands.mask.view;
  if (operands.fill.given) extras.fill = &operands.fill.view;
  if (request.direction == Direction::scatter) {
    extras.dense = &operands.source.view;
    extras.fit = request.fit;
  } else if (operands.out.given) {
    extras.dense = &operands.out.view;
    if (operands.out.view.item != operands.input.view.item) {
      throw DTypeError("out has dtype " + operands.out.type.name() + ", the result has dtype " +
                       operands.input.type.name());
    }
  }
  const ArrayView& input = operands.input.view;
  switch (request.planner) {
    case Planner::take_axis:
      return take_axis(input, operands.indices[0].view, request.axis, request.batch_dims, request.rule, extras);
    case Planner::along_axis:
      if (!request.tile.empty()) tile_count(operands.indices[0].view.extent, request.tile);
      return along_axis(input, operands.indices[0].view, request.axis, request.match, request.rule, extras);
    case Planner::at_points: return plan_points(request, operands, extras);
    case Planner::elementwise: {
      // A scatter under a mask: the input, which is the indexed side, has the shape of the points.
      return elementwise(input, input.extent, extras);
    }
  }
  throw std::logic_error("unknown planner");
}

py::object execute(const Request& request, const Plan& plan, const Operands& operands) {
  if (operands.out.given) return execute_into(request, plan, operands);
  if (!request.tile.empty() && !operands.device_call) return execute_tiled(request, plan, operands);
  Result result(operands, plan.result_shape);
  move(request, plan, operands, buffers_of(request, operands, result.data(), operands.input.view.data), false);
  release_streams(request, operands);
  return result.take();
}

namespace {

py::object execute_nonempty(const Request& request, const Plan& plan, const Operands& operands) {
  if (plan.index[0].extent == 0) throw ShapeError("the axis is empty");
  return execute(request, plan, operands);
}

}  // namespace

// The plan for the array that the scatter writes to: a fresh copy of the input, or `out`.
Plan make_scatter_plan(const Request& request, const Operands& operands) {
  Operands on_target = operands;
  const ArrayView& input = operands.input.view;
  ArrayView& target = on_target.input.view;
  target = contiguous_view(nullptr, input.extent, input.item);
  if (operands.out.given) target = operands.out.view;
  return make_plan(request, on_target);
}

py::object run(Request request, const RawOperands& raw) {
  const bool plan_only = consume_planning();
  try {
    Operands operands;
    adopt_all(request, raw, operands);
    if (request.direction == Direction::scatter) {
      set_number(request, operands);
      if (plan_only) return make_plan_object(request, make_scatter_plan(request, operands), operands);
      resolve_wide(request, operands);
      return execute_scatter(request, operands, nullptr);
    }
    if (!plan_only) resolve_wide(request, operands);
    Plan plan = make_plan(request, operands);
    if (plan_only) return make_plan_object(request, plan, operands);
    if (copy_host_operands(request, operands)) plan = make_plan(request, operands);
    return execute(request, plan, operands);
  } catch (...) {
    if (plan_only) request_plan();  // if the operator calls again with other arguments, it must return a plan
    throw;
  }
}

py::object run_plain(const Request& request, py::handle input, py::handle index) {
  Operands operands;
  adopt(request.op, Role::data, input, operands.input);
  operands.indices.resize(1);
  adopt(request.op, Role::index, index, operands.indices[0]);
  choose_device(operands);
  borrow(Role::data, operands.input);
  if (operands.input.view.rank() == 0) throw ShapeError("the input is a scalar");
  borrow(Role::index, operands.indices[0]);
  Plan plan = make_plan(request, operands);
  if (is_planning()) {
    consume_planning();
    return make_plan_object(request, plan, operands);
  }
  if (copy_host_operands(request, operands)) plan = make_plan(request, operands);
  return execute_nonempty(request, plan, operands);
}

ThreadCount thread_count() {
  if (const int limit = limit_of_context(); limit > 0) return limit;
  int count = process_threads.load(std::memory_order_relaxed);
  if (count == 0) count = host::info().threads;
  return count > 0 ? ThreadCount(count) : ThreadCount(host::processors);
}

void set_thread_count(int count) {
  process_threads.store(count, std::memory_order_relaxed);
}
py::object thread_limits() {
  return py::reinterpret_borrow<py::object>(limits_variable());
}

}  // namespace gs
