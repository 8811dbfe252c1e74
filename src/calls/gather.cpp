// gather.cpp: runs gathers so that a bad index, an interrupt or an overlap leaves no array of the caller half written.
#include "calls/gather.h"

#include <algorithm>

#include "calls/attempt.h"
#include "calls/copy.h"
#include "calls/make_plan.h"
#include "calls/overlap.h"
#include "calls/tiles.h"

namespace gs {
namespace {

CallResult run_moves(CallContext& call, const Plan& plan, const Buffers& buffers, bool checks_first) {
  const bool has_no_points = plan.space.count() == 0;
  if (has_no_points && (!plan.can_fail() || plan.index_space.count() == 0)) return {};
  const Backend& backend = call.backend();
  if (defers(backend, plan)) {
    CallResult result;
    call.run(Lock::released_only, [&](const RunOptions&) {
      result.deferred_check = std::make_unique<DeferredCheck>(DeferredCheck{nullptr, plan, buffers});
      result.deferred_check->receipt = backend.move_later(plan, buffers, Direction::gather);
    });
    return result;
  }
  if (backend.is_asynchronous() && plan.can_fail()) call.about_to_wait(kBoundsRaise);
  Attempt attempt{plan, buffers, Direction::gather, lock_for(backend, plan)};
  attempt.checks_first = checks_first || has_no_points;
  bool has_waited = false;
  CallResult result =
      run_attempts(call, attempt, [&](const Plan& run, const Buffers& memory, const RunOptions& options) {
        if (checks_first &&
            backend.is_asynchronous()) {  // a point whose index another thread makes bad now does not move
          backend.move_later(run, memory, Direction::gather);
          return Outcome::done;
        }
        has_waited = plan.can_fail();
        RunOptions own = options;
        own.is_checked = attempt.checks_first;
        return backend.move(run, memory, Direction::gather, own);
      });
  result.has_waited = has_waited;
  return result;
}

}  // namespace

CallResult run_gather(CallContext& call, const Request& request, const Plan& plan, const Views& views,
                      std::byte* result) {
  if (!request.tile.empty() && !call.backend().is_asynchronous()) {
    return run_tiled_gather(call, request, plan, views, result);
  }
  return run_moves(call, plan, buffers_of(request, views, result, views.input.data), false);
}

CallResult run_gather_into(CallContext& call, const Request& request, const Plan& plan, const Views& views) {
  const ArrayView& out = *views.out;
  int64_t shared_bytes = 0;
  const auto add_overlap = [&](const ArrayView& view) {
    if (overlap(view, out)) shared_bytes += std::max<int64_t>(bytes_of(view), 1);
  };
  add_overlap(views.input);
  for (const IndexView& index : views.indices) add_overlap(index);
  if (views.mask) add_overlap(*views.mask);
  if (views.fill) add_overlap(*views.fill);

  if (shared_bytes == 0) {
    return run_moves(call, plan, buffers_of(request, views, out.data, views.input.data), true);
  }
  if (shared_bytes < bytes_of(out)) {  // copies of the arguments are smaller than a copy of the result
    Views own = views;
    detach(call, own, out, true);
    return run_moves(call, make_plan(request, own), buffers_of(request, own, out.data, own.input.data), true);
  }
  Views separate = views;
  separate.out.reset();
  const Backend& backend = call.backend();
  const ScopedArray fresh(backend, out);
  if (backend.is_asynchronous()) copy_view(call, out, fresh.view());  // points of deferred errors keep their values
  CallResult result = run_moves(call, make_plan(request, separate),
                                buffers_of(request, separate, fresh.view().data, views.input.data), false);
  if (result.ending != Ending::done) return result;
  copy_view(call, fresh.view(), out);
  result.has_waited = false;
  return result;
}

}  // namespace gs
