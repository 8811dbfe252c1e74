// copy.cpp: copies arrays by elementwise plans on the backend of the call.
#include "calls/copy.h"

#include <cstring>

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

Outcome copy_items(const Backend& backend, const ArrayView& source, const ArrayView& target,
                   const RunOptions& options) {
  Extras extras;
  extras.dense = &target;
  const Plan plan = elementwise(source, target.extent, extras);
  Buffers buffers;
  buffers.dense = target.data;
  buffers.indexed = source.data;
  return backend.move(plan, buffers, Direction::gather, options);
}

// A large array is filled with one value by rows of it, because a copy item by item is bound by its loop, not by
// memory.
constexpr int64_t kRowBytes = 4096;
constexpr int64_t kFewestRows = 16;

bool is_one_value(const ArrayView& view) {
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.extent[axis] > 1 && view.stride[axis] != 0) return false;
  }
  return true;
}

bool fills_rows(const Backend& backend, const ArrayView& source, const ArrayView& target) {
  return !backend.is_asynchronous() && target.item > 0 && kRowBytes % target.item == 0 && is_one_value(source) &&
         is_packed(target) && bytes_of(target) >= kFewestRows * kRowBytes;
}

Outcome fill_rows(const Backend& backend, const ArrayView& source, const ArrayView& target, const RunOptions& options) {
  alignas(64) std::byte row[kRowBytes];
  for (int64_t at = 0; at < kRowBytes; at += source.item) {
    std::memcpy(row + at, source.data, static_cast<std::size_t>(source.item));
  }
  const int64_t rows = bytes_of(target) / kRowBytes;
  const ArrayView one{row, kRowBytes, {rows}, {0}};
  const Outcome outcome = copy_items(backend, one, contiguous_view(target.data, {rows}, kRowBytes), options);
  const int64_t rest = bytes_of(target) % kRowBytes;
  if (outcome == Outcome::done) std::memcpy(target.data + rows * kRowBytes, row, static_cast<std::size_t>(rest));
  return outcome;
}

}  // namespace

Outcome run_copy(const Backend& backend, const ArrayView& source, const ArrayView& target, const RunOptions& options) {
  return fills_rows(backend, source, target) ? fill_rows(backend, source, target, options)
                                             : copy_items(backend, source, target, options);
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
