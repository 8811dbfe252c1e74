// device_operands.cpp: chooses the device of a call, copies host operands to it and orders its streams.
#include "bindings/devices/device_operands.h"

#include <algorithm>
#include <string>
#include <utility>

#include "bindings/arguments/tuples.h"
#include "bindings/devices/deferred.h"
#include "bindings/python_calls.h"
#include "bindings/python_context.h"
#include "calls/attempt.h"
#include "calls/copy.h"
#include "core/error.h"

namespace gs {
namespace {

std::string place_name(const Operand& operand) {
  if (!operand.location) return "in host memory";
  const dlpack::Device device = operand.location->device;
  if (device.type == dlpack::kCudaHost) return "in pinned host memory";
  if (device.type == dlpack::kCudaManaged) return "in managed memory";
  return "on CUDA device " + std::to_string(device.id);
}

bool is_managed(const Operand& operand) {
  return operand.location && operand.location->device.type == dlpack::kCudaManaged;
}

// Whether an operand is in pinned host memory, which kernels can access over the bus.
bool is_pinned(const Operand& operand) {
  if (operand.location) return operand.location->device.type == dlpack::kCudaHost;
  // torch's exchange table reports pinned host memory as plain host memory, so the tensor is queried.
  if (operand.library == Library::torch) return python::call_method(operand.object, "is_pinned").cast<bool>();
  if (operand.library != Library::numpy) return false;
  const auto address = python::attribute(python::attribute(operand.object, "ctypes"), "data").cast<uintptr_t>();
  return loaded_devices().place_of(reinterpret_cast<const void*>(address)).kind == MemoryPlace::Kind::pinned_host;
}

// Whether a host operand is copied to the device: indices, masks, fill values, Python numbers and lists, and 0-d
// sources.
bool is_copied(Role role, const Operand& operand) {
  return role == Role::index || role == Role::mask || role == Role::fill || operand.is_value ||
         (role == Role::source && operand.library == Library::numpy &&
          py::len(python::attribute(operand.object, "shape")) == 0) ||
         (role == Role::source && operand.library == Library::torch &&
          python::call_method(operand.object, "dim").cast<int>() == 0);
}

void check_place(const Operands& operands, Role first_role, const Operand& first) {
  operands.each([&](Role role, const Operand& operand) {
    if (!operand.given || is_managed(operand)) return;
    if (operand.on_device() ? operand.location->device.id == first.location->device.id : is_copied(role, operand)) {
      return;
    }
    if (role == Role::data && !operand.on_device() && is_pinned(operand)) return;
    const std::string problem = std::string(role_name(role)) + " lies " + place_name(operand) + ", " +
                                role_name(first_role) + " " + place_name(first) +
                                "; data, src and out must lie on one device" +
                                (role == Role::data ? " (or the input in pinned host memory)" : "");
    if (role == Role::out) throw ShapeError(problem);
    throw DTypeError(problem);
  });
}

// The stream on which the library of an operand uses it now; none if the library does not name one.
std::optional<uintptr_t> stream_of(const Operand& operand) {
  if (!operand.given || !operand.location || operand.location->device.type == dlpack::kCudaHost) return std::nullopt;
  if (operand.location->stream) return operand.location->stream;
  if (operand.location->adapter) {
    const py::object stream = python::attribute(operand.location->adapter, "stream");
    if (stream.is_none()) return std::nullopt;
    return stream.cast<uintptr_t>();
  }
  return operand.library == Library::torch ? dlpack::torch_stream(operand.location->device.id)
                                           : std::optional<uintptr_t>();
}

}  // namespace

void choose_device(Operands& operands) {
  const Operand* first = nullptr;
  Role first_role = Role::data;
  operands.each([&](Role role, const Operand& operand) {
    if (first != nullptr || !operand.on_device()) return;
    first = &operand;
    first_role = role;
  });
  if (first == nullptr) return;
  loaded_devices();
  check_place(operands, first_role, *first);
  std::optional<uintptr_t> stream;
  operands.each([&](Role, const Operand& operand) {
    if (!stream) stream = stream_of(operand);
  });
  const int device = first->location->device.id;
  operands.device_call = std::make_shared<DeviceCall>(device, stream.value_or(dlpack::kLegacyStream));
  if (!operands.device_call->machine().is_capturing()) raise_deferred(false);
  operands.each([&](Role, Operand& operand) {
    if (!operand.given || !operand.location) return;
    DeviceLocation& location = *operand.location;
    location.stream = stream_of(operand);
    if (!location.adapter || !operand.object.is(location.adapter)) return;
    operand.object = python::call_method(location.adapter, "borrow", py::int_(operands.device_call->stream()));
    operand.library = Library::dlpack;
    const auto& array = py::cast<const dlpack::ExchangedArray&>(operand.object);
    if (dlpack::is_host(array.device()) && array.device().type != dlpack::kCudaManaged) {
      throw ExchangeError("array lies in host memory, but its __dlpack_device__ reports a CUDA device");
    }
    // A kernel that reads a wrong address makes the whole CUDA context unusable, so the driver is queried for the
    // address. Empty arrays are exempt: kernels do not read them, and they may begin where their allocation ends.
    const std::byte* const data = array.view().data;
    const Dims& extent = array.view().extent;
    if (!location.stream && data != nullptr && std::find(extent.begin(), extent.end(), 0) == extent.end() &&
        loaded_devices().place_of(data).kind == MemoryPlace::Kind::host) {
      throw ExchangeError("array is exported as GPU memory, but its address does not belong to any GPU");
    }
  });
}

namespace {

// Copies one host operand to the device. `outlives_call`: a deferred check reads the copy after the call. Returns
// whether the strides of the operand have changed.
bool copy_to_device(DeviceCall& call, Operand& operand, bool outlives_call) {
  if (operand.on_device() || is_managed(operand)) return false;
  const ArrayView compact = contiguous_view(nullptr, operand.view.extent, operand.view.item);
  const bool is_compact = operand.view.stride == compact.stride;
  const int64_t bytes = bytes_of(compact);
  std::byte* const target = outlives_call ? call.lasting(bytes) : call.temporary(bytes);
  if (bytes > 0) {
    const bool keep_lock = bytes <= kKeepLockBytes;
    PythonContext host;
    const std::byte* source = operand.view.data;
    if (!is_compact) {
      const ArrayView packed = contiguous_view(host.allocate(bytes), operand.view.extent, operand.view.item);
      copy_view(host, operand.view, packed);
      source = packed.data;
    }
    run_work(keep_lock, [&](const RunOptions&) { call.queue().write(target, source, bytes); });
  }
  operand.view.data = target;
  operand.view.stride = compact.stride;
  operand.location = std::make_shared<DeviceLocation>();
  operand.location->device = {dlpack::kCuda, call.device()};
  operand.location->stream = call.stream();
  operand.location->is_copy = true;
  return !is_compact;
}

}  // namespace

bool copy_host_operands(const Request& request, Operands& operands) {
  if (!operands.device_call) return false;
  DeviceCall& call = *operands.device_call;
  const bool defers = request.rule.bounds == Bounds::deferred;
  bool moved = false;
  operands.each([&](Role role, Operand& operand) {
    if (!operand.given) return;
    if (operand.location && operand.location->stream) call.wait_for(*operand.location->stream);
    if (role != Role::data && role != Role::out && copy_to_device(call, operand, defers)) moved = true;
  });
  return moved;
}

void release_streams(const OperatorRequest& request, const Operands& operands, CallResult&& result) {
  if (!operands.device_call) return;
  operands.device_call->release_streams();
  if (result.deferred_check && result.deferred_check->receipt) {
    return add_deferred_check(request, operands, std::move(*result.deferred_check));
  }
  if (result.has_waited) return;
  // Memory that was borrowed without a stream, and host memory that kernels read, may be released by its library before
  // the stream is done with it. The operands are kept until then.
  const Operand& input = operands.input;
  bool is_held = !input.on_device() && !is_managed(input);
  operands.each([&](Role, const Operand& operand) {
    is_held = is_held || (operand.given && operand.location && operand.location->adapter && !operand.location->stream);
  });
  if (is_held) keep_until_done(operands);
}

Operand own_fill(const Operands& operands) {
  Operand own;
  const Operand& fill = operands.fill;
  if (!fill.given) return own;
  own.given = true;
  if (fill.on_device()) {
    own.object = python::call(python_part("numpy", "empty"), to_tuple(fill.view.extent),
                              py::str("V" + std::to_string(fill.view.item)));
    borrow(Role::fill, own);
    DeviceCall& call = *operands.device_call;
    PythonContext context(operands.device_call);
    const ScopedArray packed(call.queue(), fill.view);
    copy_view(context, fill.view, packed.view());
    call.machine().read(own.view.data, packed.view().data, bytes_of(fill.view));
    return own;
  }
  own.object = python::call_method(as_opaque_ndarray(fill.view), "copy");
  borrow(Role::fill, own);
  return own;
}

const Operand& prototype_of(const Operands& operands) {
  const Operand& input = operands.input;
  if (!operands.device_call || input.on_device() || is_managed(input)) return input;
  const Operand* prototype = nullptr;
  operands.each([&](Role, const Operand& operand) {
    if (prototype == nullptr && operand.on_device() && !operand.location->is_copy) prototype = &operand;
  });
  return *prototype;
}

}  // namespace gs
