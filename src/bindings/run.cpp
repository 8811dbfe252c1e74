// run.cpp: see run.h.
#include "bindings/run.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "backends/backend.h"
#include "backends/host_info.h"
#include "backends/host_memory.h"
#include "bindings/errors.h"
#include "bindings/gil.h"
#include "bindings/overlap.h"
#include "bindings/plan_cache.h"
#include "bindings/plan_object.h"
#include "bindings/to_python.h"
#include "core/checked.h"
#include "core/error.h"

namespace gs {
namespace {

// Below this many bytes a call is shorter than giving the interpreter lock away and taking it back.
constexpr int64_t kKeepLockBytes = 32 * 1024;
constexpr int kTries = 8;

std::atomic<int> process_threads{0};
thread_local int python_thread_limit = 0;

// Whether the call that this thread is in was interrupted: a signal handler raised, and its error waits for the lock.
thread_local bool signalled = false;

// Asked on the calling thread, which runs without the interpreter lock.
bool interrupted() {
  signalled = Unlocked::locked([] { return PyErr_CheckSignals() != 0; });
  return signalled;
}

Buffers buffers_of(const Operands& operands, std::byte* dense) {
  Buffers buffers;
  buffers.dense = dense;
  buffers.indexed = operands.input.view.data;
  buffers.mask = operands.mask.view.data;
  buffers.fill = operands.fill.view.data;
  for (const Operand& index : operands.indices) buffers.index.push_back(index.view.data);
  return buffers;
}

// Short runs keep the interpreter lock.
bool keeps_lock(const Plan& plan) {
  return plan.bytes_moved() < kKeepLockBytes && plan.index_space.count() < kKeepLockBytes / 8;
}

// Checks everything first where something could be half written, then moves. Raises; returns only if all went well.
void move(const Request& request, const Plan& plan, const Buffers& buffers, bool check_first) {
  const bool nothing_to_move = plan.space.count() == 0;
  if (nothing_to_move && (!plan.can_fail() || plan.index_space.count() == 0)) return;
  const Backend& backend = host_backend();
  RunOptions options;
  options.threads = thread_count();
  // Another thread may change an index between the run that met it and the search that names it; then all is tried
  // again.
  for (int attempt = 0; attempt < kTries; ++attempt) {
    Outcome outcome = Outcome::done;
    std::optional<BadIndex> bad;
    const auto work = [&] {
      if ((check_first || nothing_to_move) && plan.can_fail() && any_outside(plan, buffers, options.interrupted)) {
        outcome = Outcome::bad_index;
      }
      if (outcome == Outcome::done && !signalled) outcome = backend.move(plan, buffers, Direction::gather, options);
      if (outcome == Outcome::bad_index && !signalled) bad = first_outside(plan, buffers, options.interrupted);
    };
    signalled = false;
    if (keeps_lock(plan)) {
      work();
    } else {
      options.interrupted = interrupted;
      const Unlocked unlocked;
      work();
    }
    if (signalled) throw py::error_already_set();
    if (bad) raise_out_of_bounds(request.op, Plan(plan), *bad);  // a copy: it may be the cache's, and Python code runs
    if (outcome == Outcome::done) return;
  }
  throw std::runtime_error("the index array kept changing while it was used");
}

void copy_view(const ArrayView& source, const ArrayView& target) {
  Extras extras;
  extras.dense = &target;
  const Plan plan = elementwise(source, target.extent, extras);
  Buffers buffers;
  buffers.dense = target.data;
  buffers.indexed = source.data;
  const RunOptions options{thread_count(), nullptr};  // never interrupted: it may be the copy into the caller's array
  if (keeps_lock(plan)) {
    host_backend().move(plan, buffers, Direction::gather, options);
  } else {
    const Unlocked unlocked;
    host_backend().move(plan, buffers, Direction::gather, options);
  }
}

// Memory that lives for one call.
struct Scratch {
  explicit Scratch(const ArrayView& like) {
    view.item = like.item;
    view.extent = like.extent;
    view.stride = contiguous_strides(like.extent, like.item);
    view.data = static_cast<std::byte*>(
        host::allocate(static_cast<std::size_t>(checked_mul(checked_count(like.extent), like.item))));
  }
  Scratch(Scratch&& other) noexcept : view(other.view) { other.view.data = nullptr; }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (view.data != nullptr) host::release(view.data);
  }
  ArrayView view;
};

int64_t bytes_of(const ArrayView& view) {
  return checked_mul(checked_count(view.extent), view.item);
}

void check_out(const Operands& operands) {
  const Operand& out = operands.out;
  if (!out.writable) throw ShapeError("out is read-only");
  if (!out.type.matches(operands.input.type)) {
    throw DTypeError("out has dtype " + out.type.name() + ", the result has dtype " + operands.input.type.name());
  }
  if (overlaps_itself(out.view)) throw ShapeError("out overlaps itself: several of its elements share one address");
}

// Writes into memory that the caller owns. Where it overlaps an argument the answer is as if that had been copied.
py::object execute_into(const Request& request, const Plan& plan, const Operands& operands) {
  check_out(operands);
  const ArrayView& out = operands.out.view;
  std::vector<const Operand*> shared;
  int64_t shared_bytes = 0;
  const auto look = [&](const Operand& operand) {
    if (!operand.given || !overlap(operand.view, out)) return;
    shared.push_back(&operand);
    shared_bytes += bytes_of(operand.view);
  };
  look(operands.input);
  for (const Operand& index : operands.indices) look(index);
  look(operands.mask);
  look(operands.fill);

  if (shared.empty()) {
    move(request, plan, buffers_of(operands, out.data), true);
  } else if (shared_bytes < bytes_of(out)) {
    std::vector<Scratch> copies;
    Operands separate = operands;
    const auto detach = [&](Operand& operand, const Operand& original) {
      if (std::find(shared.begin(), shared.end(), &original) == shared.end()) return;
      copies.emplace_back(original.view);
      copy_view(original.view, copies.back().view);
      static_cast<ArrayView&>(operand.view) = copies.back().view;
    };
    detach(separate.input, operands.input);
    for (std::size_t a = 0; a < operands.indices.size(); ++a) detach(separate.indices[a], operands.indices[a]);
    detach(separate.mask, operands.mask);
    detach(separate.fill, operands.fill);
    move(request, make_plan(request, separate), buffers_of(separate, out.data), true);
  } else {
    Operands separate = operands;
    separate.out = Operand{};
    Scratch fresh(out);
    move(request, make_plan(request, separate), buffers_of(separate, fresh.view.data), false);
    copy_view(fresh.view, out);
  }
  const py::object& written = operands.out.original ? operands.out.original : operands.out.object;
  if (operands.out.library != Library::numpy) python_part("gatherscatter._arrays", "written")(written);
  return written;
}

}  // namespace

void adopt_all(const Request& request, const RawOperands& raw, Operands& operands) {
  adopt(request.op, Role::data, raw.input, operands.input);
  if (request.planner == Planner::at_points) {
    const auto indices = py::reinterpret_borrow<py::tuple>(raw.indices);
    operands.indices.resize(indices.size());
    for (std::size_t a = 0; a < indices.size(); ++a) adopt(request.op, Role::index, indices[a], operands.indices[a]);
  } else {
    operands.indices.resize(1);
    adopt(request.op, Role::index, raw.indices, operands.indices[0]);
  }
  adopt(request.op, Role::fill, raw.fill, operands.fill);
  adopt(request.op, Role::mask, raw.mask, operands.mask);
  adopt(request.op, Role::out, raw.out, operands.out);
  if (!operands.input.given) throw DTypeError("input is None, expected an array");
  for (const Operand& index : operands.indices) {
    if (!index.given) throw DTypeError("index is None, expected an array of integers");
  }

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
  if (operands.out.given) borrow(Role::out, operands.out);
}

Plan make_plan(const Request& request, const Operands& operands) {
  Extras extras;
  if (operands.mask.given) extras.mask = &operands.mask.view;
  if (operands.fill.given) extras.fill = &operands.fill.view;
  if (operands.out.given) {
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
      return along_axis(input, operands.indices[0].view, request.axis, request.match, request.rule, extras);
    case Planner::at_points: {
      std::vector<IndexView> views;
      for (const Operand& index : operands.indices) views.push_back(index.view);
      return at_points(input, views, request.batch_dims, request.rule, extras);
    }
  }
  throw std::logic_error("unknown planner");
}

py::object execute(const Request& request, const Plan& plan, const Operands& operands) {
  if (operands.out.given) return execute_into(request, plan, operands);
  Result result(operands.input, plan.result_shape);
  move(request, plan, buffers_of(operands, result.data()), false);
  return result.take();
}

namespace {

py::object execute_nonempty(const Request& request, const Plan& plan, const Operands& operands) {
  if (plan.index[0].extent == 0) throw ShapeError("the axis is empty");
  return execute(request, plan, operands);
}

}  // namespace

py::object run(const Request& request, const RawOperands& raw) {
  const bool plan_only = take_planning();
  try {
    Operands operands;
    adopt_all(request, raw, operands);
    const Plan plan = make_plan(request, operands);
    if (plan_only) return make_plan_object(request, plan, operands);
    return execute(request, plan, operands);
  } catch (...) {
    if (plan_only) ask_for_plan();  // the operator may try again in another way, and still owes a plan
    throw;
  }
}

py::object run_plain(const Request& request, py::handle input, py::handle index) {
  thread_local PlanCache plans;
  const bool plan_only = is_planning();
  Operands operands;
  adopt(request.op, Role::data, input, operands.input);
  operands.indices.resize(1);
  adopt(request.op, Role::index, index, operands.indices[0]);
  borrow(Role::data, operands.input);
  if (operands.input.view.rank() == 0) throw ShapeError("a scalar");
  borrow(Role::index, operands.indices[0]);
  PlanKey key;
  const bool cached = !plan_only && key.set(request, operands);
  if (cached) {
    const Plan& plan = plans.find(key, request, operands);
    // A long run may let other Python code in, and with it another user of the cache.
    if (keeps_lock(plan)) return execute_nonempty(request, plan, operands);
    return execute_nonempty(request, Plan(plan), operands);
  }
  const Plan plan = make_plan(request, operands);
  if (plan_only) {
    take_planning();
    return make_plan_object(request, plan, operands);
  }
  return execute_nonempty(request, plan, operands);
}

int thread_count() {
  if (python_thread_limit > 0) return python_thread_limit;
  const int count = process_threads.load(std::memory_order_relaxed);
  return count > 0 ? count : host::info().threads;
}

void set_thread_count(int count) {
  process_threads.store(count, std::memory_order_relaxed);
}
void set_thread_limit(int count) {
  python_thread_limit = count;
}
int thread_limit() {
  return python_thread_limit;
}

}  // namespace gs
