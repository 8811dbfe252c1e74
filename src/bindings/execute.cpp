// execute.cpp: implements the steps that gathers and scatters share: buffers, copies, checks of `out`, interrupts.
#include "bindings/execute.h"

#include "bindings/overlap.h"
#include "core/checked.h"
#include "core/error.h"

namespace gs {
namespace {

thread_local bool was_signalled = false;

}  // namespace

bool keeps_lock(const Plan& plan) {
  return plan.bytes_moved() <= kKeepLockBytes && plan.index_space.count() <= kKeepLockBytes / 8;
}

bool& signalled() {
  return was_signalled;
}

bool interrupted() {
  // PyErr_CheckSignals reports a signal only once, so the answer is kept.
  if (!was_signalled) was_signalled = Unlocked::locked([] { return PyErr_CheckSignals() != 0; });
  return was_signalled;
}

Buffers buffers_of(const Request& request, const Operands& operands, std::byte* dense, std::byte* indexed) {
  Buffers buffers;
  buffers.dense = dense;
  buffers.indexed = indexed;
  buffers.mask = operands.mask.view.data;
  buffers.fill = operands.fill.view.data;
  if (request.coordinates) {
    const IndexView& all = operands.indices[0].view;
    const int last = all.rank() - 1;
    for (int64_t a = 0; a < all.extent[last]; ++a) buffers.index.push_back(all.data + a * all.stride[last]);
  } else {
    for (const Operand& index : operands.indices) buffers.index.push_back(index.view.data);
  }
  return buffers;
}

Outcome run_copy(const Backend& backend, const ArrayView& source, const ArrayView& target, const RunOptions& options) {
  Extras extras;
  extras.dense = &target;
  const Plan plan = elementwise(source, target.extent, extras);
  Buffers buffers;
  buffers.dense = target.data;
  buffers.indexed = source.data;
  return backend.move(plan, buffers, Direction::gather, options);
}

void copy_view(const Backend& backend, const ArrayView& source, const ArrayView& target) {
  const RunOptions options{thread_count(),
                           nullptr};  // not interruptible: a copy into the caller's array is never left half done
  if (bytes_of(target) < kKeepLockBytes) {
    run_copy(backend, source, target, options);
  } else {
    const Unlocked unlocked;
    run_copy(backend, source, target, options);
  }
}

ArrayView contiguous_view(std::byte* data, const Dims& extent, int64_t item) {
  return {data, item, extent, contiguous_strides(extent, item)};
}

TemporaryCopy::TemporaryCopy(const Backend& owner, const ArrayView& like)
    : backend(owner), view(contiguous_view(nullptr, like.extent, like.item)) {
  view.data = backend.allocate(bytes_of(like));
}

TemporaryCopy::~TemporaryCopy() {
  if (view.data != nullptr) backend.release(view.data);
}

int64_t bytes_of(const ArrayView& view) {
  return checked_mul(checked_count(view.extent), view.item);
}

void Detached::copy_if_overlapping(Operand& operand, const ArrayView& target) {
  if (!operand.given || !overlap(operand.view, target)) return;
  if (operands.device_call) {  // the operand owns the copy, because a deferred check may read it after the call
    DeviceCall& call = *operands.device_call;
    operand.location = std::make_shared<DeviceLocation>(*operand.location);
    operand.location->copy =
        std::make_shared<dlpack::StreamMemory>(call.device(), call.stream(), bytes_of(operand.view));
    const ArrayView own = contiguous_view(operand.location->copy->data, operand.view.extent, operand.view.item);
    copy_view(call.queue(), operand.view, own);
    static_cast<ArrayView&>(operand.view) = own;
    return;
  }
  copies_.emplace_back(host_backend(), operand.view);
  copy_view(host_backend(), operand.view, copies_.back().view);
  static_cast<ArrayView&>(operand.view) = copies_.back().view;
}

void Detached::detach(const ArrayView& target, bool input_too) {
  if (input_too) copy_if_overlapping(operands.input, target);
  for (Operand& index : operands.indices) copy_if_overlapping(index, target);
  copy_if_overlapping(operands.source, target);
  copy_if_overlapping(operands.mask, target);
  copy_if_overlapping(operands.fill, target);
}

Outcome move_checked(const Operands& operands, bool is_checked, const Plan& plan, const Buffers& buffers,
                     Direction direction, const RunOptions& options) {
  if (!operands.device_call) return host_backend().move(plan, buffers, direction, options);
  DeviceCall& call = *operands.device_call;
  if (is_checked) {
    call.queue().move_later(plan, buffers, direction);
    return Outcome::done;
  }
  call.is_synchronized = plan.can_fail();
  return call.queue().move(plan, buffers, direction, options);
}

void check_out(const Operands& operands) {
  const Operand& out = operands.out;
  const bool in_place =
      out.object.is(operands.input.object) || (out.original && out.original.is(operands.input.original));
  const std::string what = in_place ? "the array to write to" : "out";
  if (!out.writable) throw ShapeError(what + " is read-only");
  if (!out.type.matches(operands.input.type)) {
    throw DTypeError(what + " has dtype " + out.type.name() + ", the result has dtype " + operands.input.type.name());
  }
  if (overlaps_itself(out.view)) throw ShapeError(what + " overlaps itself: several of its elements share one address");
}

py::object return_out(const Operands& operands) {
  const py::object& out = operands.out.original ? operands.out.original : operands.out.object;
  if (operands.out.library != Library::numpy) dlpack::mark_written(out);
  return out;
}

}  // namespace gs
