// scatter.cpp: runs scatters: checks before the first write, overlap, duplicates, and the copy of the input.
#include "calls/scatter.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "calls/attempt.h"
#include "calls/copy.h"
#include "calls/make_plan.h"
#include "calls/overlap.h"
#include "core/reductions.h"

namespace gs {
namespace {

// The arrays of one run: `base` is copied to `target` first; null if the target holds its values already.
struct Destination {
  const ArrayView* base;
  const ArrayView& target;
  bool is_in_place;  // the target is an array of the caller
};

// `is_checked`: the indices were checked, so that an asynchronous backend need not be waited for.
Outcome write_once(const Backend& backend, const Request& request, const Plan& plan, const Buffers& indices,
                   const Destination& to, bool is_checked, const RunOptions& options, CallResult& result) {
  Buffers buffers = indices;
  const bool sets = request.combine.reduce == Reduce::set;
  const bool reverses = runs_reversed(request, plan);
  if (to.base != nullptr && sets && !reverses && is_packed(*to.base) && is_packed(to.target)) {
    buffers.base = to.base->data;  // the backend copies only the bytes that the scatter does not write
    buffers.base_bytes = bytes_of(*to.base);
  } else if (to.base != nullptr) {
    const Outcome copied = run_copy(backend, *to.base, to.target, options);
    if (copied != Outcome::done) return copied;
  }
  std::optional<Plan> reversed_plan;
  if (reverses) reversed_plan = reversed(plan, buffers);
  const Plan& run = reverses ? *reversed_plan : plan;
  if (backend.is_asynchronous() && (is_checked || defers(backend, plan))) {
    std::unique_ptr<DeferredCheck> check;  // made before the work is submitted, because it may throw
    if (defers(backend, plan)) check = std::make_unique<DeferredCheck>(DeferredCheck{nullptr, plan, indices, reverses});
    auto receipt = sets ? backend.move_later(run, buffers, Direction::scatter)
                        : backend.reduce_later(run, buffers, request.combine);
    if (check) check->receipt = std::move(receipt);
    result.deferred_check = std::move(check);
    return Outcome::done;
  }
  result.has_waited = sets && plan.can_fail();
  return sets ? backend.move(run, buffers, Direction::scatter, options)
              : backend.reduce(run, buffers, request.combine, options);
}

CallResult write(CallContext& call, const Request& request, const Plan& plan, const Buffers& buffers,
                 const Destination& to) {
  const Backend& backend = call.backend();
  const bool has_no_points = plan.space.count() == 0;
  const bool is_deferred = defers(backend, plan);
  Attempt attempt{plan, buffers, Direction::scatter, lock_for(backend, plan, bytes_of(to.target))};
  attempt.forbids_duplicates = request.duplicates == Duplicates::error;
  attempt.checks_first = (to.is_in_place && !is_deferred) || attempt.forbids_duplicates || has_no_points;
  const bool starts_again = to.base != nullptr && !to.is_in_place;
  attempt.is_repeatable = starts_again || request.combine.reduce == Reduce::set;
  if (backend.is_asynchronous() && plan.can_fail() && !is_deferred) call.about_to_wait(kBoundsRaise);
  if (backend.is_asynchronous() && attempt.forbids_duplicates) call.about_to_wait("duplicates='error'");
  CallResult written;
  CallResult result =
      run_attempts(call, attempt, [&](const Plan& run, const Buffers& memory, const RunOptions& options) {
        return write_once(backend, request, run, memory, to, attempt.checks_first, options, written);
      });
  result.deferred_check = std::move(written.deferred_check);
  result.has_waited = written.has_waited;
  return result;
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

CallResult write_to(CallContext& call, const Request& request, const Views& views, const Destination& to) {
  const Plan plan = make_plan_on(request, views, to.target);  // first, because it checks the number of coordinates
  return write(call, request, plan, buffers_of(request, views, views.source->data, to.target.data), to);
}

}  // namespace

bool runs_reversed(const Request& request, const Plan& plan) {
  return request.combine.reduce == Reduce::set && request.duplicates == Duplicates::first && !plan.is_one_to_one();
}

CallResult run_scatter(CallContext& call, const Request& request, const Plan* planned, const Views& views,
                       std::byte* result) {
  const ArrayView target = contiguous_view(result, views.input.extent, views.input.item);
  const Destination to{&views.input, target, false};
  if (planned == nullptr) return write_to(call, request, views, to);
  return write(call, request, *planned, buffers_of(request, views, views.source->data, result), to);
}

CallResult run_scatter_onto(CallContext& call, const Request& request, const Plan& plan, const Views& views,
                            std::byte* target) {
  const ArrayView own = contiguous_view(target, views.input.extent, views.input.item);
  return write(call, request, plan, buffers_of(request, views, views.source->data, target), {nullptr, own, false});
}

CallResult run_scatter_into(CallContext& call, const Request& request, const Views& views) {
  const ArrayView& out = *views.out;
  const bool is_input = same_memory(views.input, out);
  Views own = views;
  detach(call, own, out, false);
  const bool reduces = request.combine.reduce != Reduce::set;
  const bool keeps_totals = reduces && !combines_directly(request.combine);
  const bool needs_copy =
      (!is_input && overlap(own.input, out)) || (reduces && !has_whole_items(out)) || (keeps_totals && is_sparse(out));
  if (!needs_copy) return write_to(call, request, own, {is_input ? nullptr : &own.input, out, true});
  const ScopedArray fresh(call.backend(), out);
  CallResult result = write_to(call, request, own, {&own.input, fresh.view(), false});
  if (result.ending != Ending::done) return result;
  copy_view(call, fresh.view(), out);
  result.has_waited = false;
  return result;
}

}  // namespace gs
