// copy.cpp: copies arrays by elementwise plans on the backend of the call.
#include "calls/copy.h"

#include "calls/attempt.h"
#include "calls/overlap.h"
#include "plans/plans.h"

namespace gs {
namespace {

void detach_one(CallContext& call, ArrayView& view, const ArrayView& target) {
  if (!overlap(view, target)) return;
  const ArrayView own = contiguous_view(call.allocate(bytes_of(view)), view.extent, view.item);
  copy_view(call, view, own);
  view = own;
}

}  // namespace

Outcome run_copy(const Backend& backend, const ArrayView& source, const ArrayView& target, const RunOptions& options) {
  Extras extras;
  extras.dense = &target;
  const Plan plan = elementwise(source, target.extent, extras);
  Buffers buffers;
  buffers.dense = target.data;
  buffers.indexed = source.data;
  return backend.move(plan, buffers, Direction::gather, options);
}

void copy_view(CallContext& call, const ArrayView& source, const ArrayView& target) {
  const Lock lock = bytes_of(target) < kKeepLockBytes ? Lock::kept : Lock::released_only;
  call.run(lock, [&](const RunOptions& options) { run_copy(call.backend(), source, target, options); });
}

void detach(CallContext& call, Views& views, const ArrayView& target, bool with_input) {
  if (with_input) detach_one(call, views.input, target);
  for (IndexView& index : views.indices) detach_one(call, index, target);
  for (std::optional<ArrayView>* view : {&views.source, &views.mask, &views.fill}) {
    if (*view) detach_one(call, **view, target);
  }
}

}  // namespace gs
