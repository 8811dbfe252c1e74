// execute_scatter.cpp: runs one scatter from views to the finished result: checks before the first write, overlap,
// duplicates.
#include <cstdlib>
#include <optional>
#include <utility>

#include "bindings/big_integers.h"
#include "bindings/execute.h"
#include "bindings/overlap.h"
#include "bindings/python_errors.h"
#include "bindings/to_python.h"
#include "core/error.h"
#include "core/reductions.h"
#include "plans/checks.h"

namespace gs {
namespace {

Plan plan_on(const Request& request, const Operands& operands, const ArrayView& target) {
  Operands on_target = operands;
  static_cast<ArrayView&>(on_target.input.view) = target;
  on_target.out = Operand{};
  return make_plan(request, on_target);
}

[[noreturn]] void raise_duplicate(const Plan& plan, const Duplicate& found) {
  const auto position = [&](int64_t flat) { return to_string(unravel(index_position(plan, flat), plan.index_shape)); };
  throw ShapeError("duplicate indices: positions " + position(found.first) + " and " + position(found.second) +
                   " write to the same element, which duplicates='error' forbids");
}

bool is_packed(const ArrayView& view) {
  const Dims strides = contiguous_strides(view.extent, view.item);
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.extent[axis] > 1 && view.stride[axis] != strides[axis]) return false;
  }
  return true;
}

// `base`: the array that is copied to the target first; null if the target holds its values already.
Outcome run_scatter(const Request& request, const Plan& plan, const Operands& operands, const Buffers& indices,
                    const ArrayView* base, const ArrayView& target, bool is_checked, const RunOptions& options) {
  const Backend& backend = backend_of(operands);
  Buffers buffers = indices;
  const bool sets = request.combine.reduce == Reduce::set;
  const bool reverses = sets && request.duplicates == Duplicates::first && !plan.is_one_to_one();
  if (base != nullptr && sets && !reverses && is_packed(*base) && is_packed(target)) {
    buffers.base = base->data;  // the backend copies only the bytes that the scatter does not write
    buffers.base_bytes = bytes_of(*base);
  } else if (base != nullptr) {
    const Outcome copied = run_copy(backend, *base, target, options);
    if (copied != Outcome::done) return copied;
  }
  // The last of several duplicates is kept, so the first one is kept if the points run in reverse order.
  const Plan reversed_plan = reverses ? reversed(plan, buffers) : Plan();
  const Plan& run = reverses ? reversed_plan : plan;
  if (defers(operands, plan)) {
    DeviceCall& call = *operands.device_call;
    call.deferred_check = DeferredCheck{sets ? call.queue().move_later(run, buffers, Direction::scatter)
                                             : call.queue().reduce_later(run, buffers, request.combine),
                                        plan, indices, reverses};
    return Outcome::done;
  }
  if (sets) return move_checked(operands, is_checked, run, buffers, Direction::scatter, options);
  if (operands.device_call && is_checked) {
    operands.device_call->queue().reduce_later(run, buffers, request.combine);
    return Outcome::done;
  }
  return backend.reduce(run, buffers, request.combine, options);
}

// Writes into `target`, after copying `base` to it unless `base` is null. Throws for bad indices, and for duplicates if
// they are forbidden. With `in_place` all indices are checked before the first write, unless their check is deferred.
void write(const Request& request, const Plan& plan, const Operands& operands, const Buffers& buffers,
           const ArrayView* base, const ArrayView& target, bool in_place) {
  const bool nothing_to_move = plan.space.count() == 0;
  const bool look_for_duplicates = request.duplicates == Duplicates::error;
  const bool check_first = (in_place && !defers(operands, plan)) || look_for_duplicates || nothing_to_move;
  const bool keep_lock = !operands.device_call && keeps_lock(plan) && bytes_of(target) < kKeepLockBytes;
  check_may_wait(operands, plan);
  if (operands.device_call && look_for_duplicates) operands.device_call->must_not_capture("duplicates='error'");
  const Backend& backend = backend_of(operands);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    Outcome outcome = Outcome::done;
    std::optional<BadIndex> bad;
    std::optional<Duplicate> duplicate;
    bool wrote = false;
    run_work(keep_lock, [&](const RunOptions& options) {
      if (check_first && plan.can_fail() && backend.any_outside(plan, buffers, options)) {
        outcome = Outcome::bad_index;
      }
      if (outcome == Outcome::done && look_for_duplicates && !signalled()) {
        duplicate = backend.first_duplicate(plan, buffers, options);
      }
      if (outcome == Outcome::done && !duplicate && !signalled()) {
        wrote = true;
        outcome = run_scatter(request, plan, operands, buffers, base, target, check_first, options);
      }
      if (outcome == Outcome::bad_index && !signalled()) bad = backend.first_outside(plan, buffers, options);
    });
    if (bad) {
      const py::object written = value_as_written(request, operands, plan, *bad);
      raise_out_of_bounds(request.op, plan, *bad, Moment::now, written);
    }
    if (duplicate) raise_duplicate(plan, *duplicate);
    if (outcome == Outcome::done) return;
    if (wrote && in_place && request.combine.reduce != Reduce::set) break;  // a repetition would combine values twice
  }
  throw std::runtime_error("the index array kept changing while it was used");
}

bool same_memory(const ArrayView& a, const ArrayView& b) {
  if (a.data != b.data || a.item != b.item || a.extent != b.extent) return false;
  for (int axis = 0; axis < a.rank(); ++axis) {
    if (a.extent[axis] > 1 && a.stride[axis] != b.stride[axis]) return false;
  }
  return true;
}

// Whether all strides are multiples of the item. A reduction numbers its totals by items from the lowest address, so it
// needs such strides.
bool has_whole_items(const ArrayView& view) {
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.extent[axis] > 1 && view.stride[axis] % view.item != 0) return false;
  }
  return true;
}

// Whether the elements of a view span more than twice their bytes. A reduction keeps totals for the gaps as well, so it
// runs such a view in a contiguous copy.
bool is_sparse(const ArrayView& view) {
  int64_t span = view.item;
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.extent[axis] == 0) return false;
    span += (view.extent[axis] - 1) * std::abs(view.stride[axis]);
  }
  return span / 2 > bytes_of(view);
}

py::object scatter_into(const Request& request, const Operands& given) {
  check_out(given);
  const ArrayView& out = given.out.view;
  const bool is_input = same_memory(given.input.view, out);
  Detached own(given);
  own.detach(out, false);
  const ArrayView& input = own.operands.input.view;
  const bool reduces = request.combine.reduce != Reduce::set;
  const bool keeps_totals = reduces && !combines_directly(request.combine);
  if ((!is_input && overlap(input, out)) || (reduces && !has_whole_items(out)) || (keeps_totals && is_sparse(out))) {
    const Backend& backend = backend_of(given);
    const TemporaryCopy fresh(backend, out);
    const Plan plan = plan_on(request, own.operands, fresh.view);
    write(request, plan, own.operands,
          buffers_of(request, own.operands, own.operands.source.view.data, fresh.view.data), &input, fresh.view, false);
    copy_view(backend, fresh.view, out);
    if (given.device_call) given.device_call->is_synchronized = false;
  } else {
    const Plan plan = plan_on(request, own.operands, out);
    write(request, plan, own.operands, buffers_of(request, own.operands, own.operands.source.view.data, out.data),
          is_input ? nullptr : &input, out, true);
  }
  release_streams(request, own.operands);
  return return_out(given);
}

}  // namespace

py::object execute_scatter(const Request& request, Operands& operands, const Plan* planned) {
  if (copy_host_operands(request, operands)) planned = nullptr;
  if (operands.out.given) return scatter_into(request, operands);
  const ArrayView& input = operands.input.view;
  Result result(operands, input.extent);
  const ArrayView target = contiguous_view(result.data(), input.extent, input.item);
  const Buffers buffers = buffers_of(request, operands, operands.source.view.data, target.data);
  write(request, planned != nullptr ? *planned : plan_on(request, operands, target), operands, buffers, &input, target,
        false);
  release_streams(request, operands);
  return result.take();
}

}  // namespace gs
