// device_call.cpp: see device_call.h.
#include "bindings/device_call.h"

#include <algorithm>
#include <string>

#include "backends/devices.h"
#include "bindings/deferred.h"
#include "bindings/execute.h"
#include "bindings/to_python.h"
#include "core/error.h"

namespace gs {
namespace {

std::string place_name(const Operand& operand) {
  if (!operand.elsewhere) return "in host memory";
  const dlpack::Device device = operand.elsewhere->device;
  if (device.type == dlpack::kCudaHost) return "in pinned host memory";
  if (device.type == dlpack::kCudaManaged) return "in managed memory";
  return "on CUDA device " + std::to_string(device.id);
}

bool is_managed(const Operand& operand) {
  return operand.elsewhere && operand.elsewhere->device.type == dlpack::kCudaManaged;
}

// Host memory that kernels reach over the bus.
bool is_pinned(const Operand& operand) {
  if (operand.elsewhere) return operand.elsewhere->device.type == dlpack::kCudaHost;
  // torch's table calls all of its host memory plain.
  if (operand.library == Library::torch) return operand.object.attr("is_pinned")().cast<bool>();
  if (operand.library != Library::numpy) return false;
  const auto address = operand.object.attr("ctypes").attr("data").cast<uintptr_t>();
  return loaded_devices().place_of(reinterpret_cast<const void*>(address)).kind == MemoryPlace::Kind::pinned_host;
}

// Host operands of these roles are copied over.
bool is_copied(Role role, const Operand& operand) {
  return role == Role::index || role == Role::mask || role == Role::fill || operand.is_value ||
         (role == Role::source && operand.library == Library::numpy && py::len(operand.object.attr("shape")) == 0) ||
         (role == Role::source && operand.library == Library::torch && operand.object.attr("dim")().cast<int>() == 0);
}

void check_place(const Operands& operands, Role first_role, const Operand& first) {
  operands.each([&](Role role, const Operand& operand) {
    if (!operand.given || is_managed(operand)) return;
    if (operand.on_device() ? operand.elsewhere->device.id == first.elsewhere->device.id : is_copied(role, operand)) {
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

// The stream that an operand's library uses now, where it says one.
std::optional<uintptr_t> stream_of(const Operand& operand) {
  if (!operand.given || !operand.elsewhere || operand.elsewhere->device.type == dlpack::kCudaHost) return std::nullopt;
  if (operand.elsewhere->stream) return operand.elsewhere->stream;
  if (operand.elsewhere->lent) {
    const py::object stream = operand.elsewhere->lent.attr("stream");
    if (stream.is_none()) return std::nullopt;
    return stream.cast<uintptr_t>();
  }
  return operand.library == Library::torch ? dlpack::torch_stream(operand.elsewhere->device.id)
                                           : std::optional<uintptr_t>();
}

}  // namespace

DeviceCall::DeviceCall(int device, uintptr_t stream)
    : device_(device), stream_(stream), queue_(loaded_devices().machine(device, stream)) {}

// Where a call ends early, its arrays may be gone before the work that it has asked for is done.
DeviceCall::~DeviceCall() {
  if (!at_work_) return;
  try {
    if (!machine().is_capturing()) machine().synchronize();
  } catch (...) {  // the device has failed: nothing runs there any more
  }
}

const device::Queue& DeviceCall::queue() {
  at_work_ = true;
  return queue_;
}

std::byte* DeviceCall::temporary(int64_t bytes) {
  at_work_ = true;
  temporaries_.push_back(std::make_unique<device::Temporary>(machine(), bytes));
  return temporaries_.back()->data();
}

void DeviceCall::come_after(uintptr_t stream) {
  if (stream == stream_ || std::find(others_.begin(), others_.end(), stream) != others_.end()) return;
  machine().wait_for(stream);
  others_.push_back(stream);
}

void DeviceCall::release_streams() {
  temporaries_.clear();  // in the order of the stream, which may be gone when the last of a call's arrays is
  for (const uintptr_t other : others_) machine().go_before(other);
  at_work_ = false;
}

void DeviceCall::must_not_capture(const char* what) const {
  if (!machine().is_capturing()) return;
  throw std::runtime_error("the stream is being captured into a CUDA graph, where " + std::string(what) +
                           " is not possible because it has to wait for the device");
}

const Devices& loaded_devices() {
  if (devices() == nullptr) {
    const py::object why = python_part("gatherscatter._device", "load")();
    if (devices() == nullptr) {
      throw DTypeError("an array lies on a CUDA device, and gatherscatter cannot reach it: " + why.cast<std::string>());
    }
  }
  return *devices();
}

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
  const int device = first->elsewhere->device.id;
  operands.place = std::make_shared<DeviceCall>(device, stream.value_or(dlpack::kLegacyStream));
  if (!operands.place->machine().is_capturing()) raise_deferred(false);
  operands.each([&](Role, Operand& operand) {
    if (!operand.given || !operand.elsewhere) return;
    DeviceLocation& elsewhere = *operand.elsewhere;
    elsewhere.stream = stream_of(operand);
    if (!elsewhere.lent || !operand.object.is(elsewhere.lent)) return;
    operand.object = elsewhere.lent.attr("borrow")(operands.place->stream());
    operand.library = Library::dlpack;
    const auto& array = py::cast<const dlpack::ExchangedArray&>(operand.object);
    if (dlpack::is_host(array.device()) && array.device().type != dlpack::kCudaManaged) {
      throw ExchangeError("array lies in host memory, which its __dlpack_device__ does not say");
    }
    // A kernel that follows a wrong address takes the whole context with it. It follows none into an empty array, which
    // may begin where its allocation ends.
    const std::byte* const data = array.view().data;
    const Dims& extent = array.view().extent;
    if (!elsewhere.stream && data != nullptr && std::find(extent.begin(), extent.end(), 0) == extent.end() &&
        loaded_devices().place_of(data).kind == MemoryPlace::Kind::host) {
      throw ExchangeError("array says that it lies on a GPU, and no GPU knows of its memory");
    }
  });
}

namespace {

// `stays`: for as long as the operand, not only for the call.
bool bring_one(DeviceCall& place, Operand& operand, bool stays) {
  if (operand.on_device() || is_managed(operand)) return false;
  const ArrayView compact = contiguous_view(nullptr, operand.view.extent, operand.view.item);
  const bool is_compact = operand.view.stride == compact.stride;
  const int64_t bytes = bytes_of(compact);
  std::shared_ptr<dlpack::StreamMemory> copy;
  if (stays) copy = std::make_shared<dlpack::StreamMemory>(place.device(), place.stream(), bytes);
  std::byte* const target = copy ? copy->data : place.temporary(bytes);
  if (bytes > 0) {
    const bool keep_lock = bytes <= kKeepLockBytes;
    std::optional<TemporaryCopy> packed;
    if (!is_compact) copy_view(host_backend(), operand.view, packed.emplace(host_backend(), operand.view).view);
    const std::byte* const source = packed ? packed->view.data : operand.view.data;
    run_work(keep_lock, [&](const RunOptions&) { place.queue().write(target, source, bytes); });
  }
  operand.view.data = target;
  operand.view.stride = compact.stride;
  operand.elsewhere = std::make_shared<DeviceLocation>();
  operand.elsewhere->device = {dlpack::kCuda, place.device()};
  operand.elsewhere->stream = place.stream();
  operand.elsewhere->is_copy = true;
  operand.elsewhere->copy = std::move(copy);
  return !is_compact;
}

}  // namespace

bool copy_host_operands(const Request& request, Operands& operands) {
  if (!operands.place) return false;
  DeviceCall& place = *operands.place;
  const bool defers = request.rule.bounds == Bounds::deferred;
  bool moved = false;
  operands.each([&](Role role, Operand& operand) {
    if (!operand.given) return;
    if (operand.elsewhere && operand.elsewhere->stream) place.come_after(*operand.elsewhere->stream);
    if (role != Role::data && role != Role::out && bring_one(place, operand, defers)) moved = true;
  });
  return moved;
}

void release_streams(const Request& request, const Operands& operands) {
  if (!operands.place) return;
  DeviceCall& place = *operands.place;
  place.release_streams();
  if (place.late && place.late->receipt) return remember(request, operands);
  if (place.knows_of_end) return;
  // No library keeps these back until the stream is done with them: what was lent without a stream, and pinned rows.
  const Operand& input = operands.input;
  bool is_held = !input.on_device() && !is_managed(input);
  operands.each([&](Role, const Operand& operand) {
    is_held = is_held || (operand.given && operand.elsewhere && operand.elsewhere->lent && !operand.elsewhere->stream);
  });
  if (is_held) keep_until_done(operands);
}

Operand own_fill(const Operands& operands) {
  Operand own;
  const Operand& fill = operands.fill;
  if (!fill.given) return own;
  own.given = true;
  if (fill.on_device()) {
    own.object = python_part("numpy", "empty")(to_tuple(fill.view.extent), "V" + std::to_string(fill.view.item));
    borrow(Role::fill, own);
    DeviceCall& place = *operands.place;
    const TemporaryCopy packed(place.queue(), fill.view);
    copy_view(place.queue(), fill.view, packed.view);
    place.machine().read(own.view.data, packed.view.data, bytes_of(fill.view));
    return own;
  }
  own.object = as_opaque_ndarray(fill.view).attr("copy")();
  borrow(Role::fill, own);
  return own;
}

const Backend& backend_of(const Operands& operands) {
  if (operands.place) return operands.place->queue();
  return host_backend();
}

bool defers(const Operands& operands, const Plan& plan) {
  return operands.place && plan.rule.bounds == Bounds::deferred && plan.can_fail() && plan.space.count() > 0;
}

void check_may_wait(const Operands& operands, const Plan& plan) {
  if (operands.place && plan.can_fail() && !defers(operands, plan)) {
    operands.place->must_not_capture("bounds='raise' (instead of 'deferred')");
  }
}

const Operand& maker_of(const Operands& operands) {
  const Operand& input = operands.input;
  if (!operands.place || input.on_device() || is_managed(input)) return input;
  const Operand* maker = nullptr;
  operands.each([&](Role, const Operand& operand) {
    if (maker == nullptr && operand.on_device() && !operand.elsewhere->is_copy) maker = &operand;
  });
  return *maker;
}

std::pair<py::object, std::byte*> make_array_there(const py::object& lent, const ElementType& type, const Dims& shape) {
  const py::object made = lent.attr("make")(to_tuple(shape), type.descr ? type.descr : py::str(type.name()));
  const auto pair = py::cast<py::tuple>(made);
  return {pair[0], reinterpret_cast<std::byte*>(pair[1].cast<uintptr_t>())};
}

}  // namespace gs
