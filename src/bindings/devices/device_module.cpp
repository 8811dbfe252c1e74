// device_module.cpp: binds the functions for GPUs that are not operators: mask positions, device facts, synchronize.
#include "bindings/devices/device_module.h"

#include "backends/devices.h"
#include "bindings/devices/deferred.h"
#include "bindings/devices/device_operands.h"
#include "bindings/python_context.h"
#include "bindings/python_errors.h"
#include "core/checked.h"
#include "core/error.h"

namespace gs {
namespace {

constexpr int64_t kItem = sizeof(int64_t);

// Writes one int64 for every element of the mask: values[0] if it is false, values[1] if it is true. This is a gather
// from a lookup table of the two values, with the mask as the index.
void number_elements(DeviceCall& call, const IndexView& mask, const int64_t (&values)[2], std::byte* target,
                     const RunOptions& options) {
  const device::Temporary lookup(call.machine(), 2 * kItem);
  call.machine().write(lookup.data(), values, 2 * kItem);
  IndexView index = mask;
  index.type = IndexType::u8;
  const ArrayView input = contiguous_view(lookup.data(), Dims{2}, kItem);
  const Plan plan = take_axis(input, index, 0, 0, {Bounds::clip, Negative::out_of_bounds}, Extras());
  Buffers buffers;
  buffers.dense = target;
  buffers.indexed = lookup.data();
  buffers.index.push_back(mask.data);
  call.queue().move(plan, buffers, Direction::gather, options);
}

// One exclusive sum gives each true element its place in the result, another gives every element its flat position. A
// masked scatter then writes the positions to the places.
dlpack::ExchangedArray positions_of(DeviceCall& call, const IndexView& mask, const RunOptions& options) {
  const int64_t count = checked_count(mask.extent);
  device::Machine& machine = call.machine();
  const device::Temporary places(machine, (count + 1) * kItem);
  number_elements(call, mask, {0, 1}, places.data(), options);
  machine.exclusive_sum(places.as<int64_t>(), count);
  int64_t total = 0;
  machine.read(&total, places.as<int64_t>() + count, kItem);
  dlpack::ExchangedArray result =
      dlpack::ExchangedArray::allocate(Dims{total}, {{dlpack::kInt, 64, 1}, {}}, kItem, call.device(), call.stream());
  if (total == 0) return result;
  const device::Temporary numbers(machine, (count + 1) * kItem);
  number_elements(call, mask, {1, 1}, numbers.data(), options);
  machine.exclusive_sum(numbers.as<int64_t>(), count);
  IndexView index;
  static_cast<ArrayView&>(index) = contiguous_view(places.data(), mask.extent, kItem);
  const ArrayView source = contiguous_view(numbers.data(), mask.extent, kItem);
  Extras extras;
  extras.mask = &mask;
  extras.dense = &source;
  const Plan plan = take_axis(result.view(), index, 0, 0, {Bounds::unchecked, Negative::out_of_bounds}, extras);
  Buffers buffers;
  buffers.dense = source.data;
  buffers.indexed = result.view().data;
  buffers.mask = mask.data;
  buffers.index.push_back(index.data);
  call.queue().move(plan, buffers, Direction::scatter, options);
  return result;
}

// Flat positions of the true elements of a mask on a GPU, in ascending order. Waits for the device, because the number
// of true elements is the size of the result.
py::object positions(const py::str& op, const py::object& mask) {
  const std::string name = op;
  PyObject* answer = guarded(name.c_str(), [&] {
    Operands operands;
    adopt(op, Role::mask, mask, operands.mask);
    choose_device(operands);
    if (!operands.device_call) throw DTypeError("mask lies in host memory");
    borrow(Role::mask, operands.mask);
    if (operands.mask.type.data.code != dlpack::kBool || operands.mask.view.item != 1) {
      throw DTypeError("mask has dtype " + operands.mask.type.name() + ", expected bool");
    }
    DeviceCall& call = *operands.device_call;
    call.must_not_capture("a list of the true elements of a mask");
    copy_host_operands(Request(), operands);
    std::optional<dlpack::ExchangedArray> found;
    run_work(false, [&](const RunOptions& options) { found.emplace(positions_of(call, operands.mask.view, options)); });
    call.release_streams();
    return py::cast(std::move(*found));
  });
  if (answer == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(answer);
}

py::object facts() {
  const Devices& all = loaded_devices();
  py::list names;
  for (int device = 0; device < all.count(); ++device) names.append(all.description(device));
  return py::make_tuple(all.name(), names);
}

py::object place_of(uintptr_t address) {
  const char* const kinds[] = {"host", "pinned_host", "device", "managed"};
  const MemoryPlace place = loaded_devices().place_of(reinterpret_cast<const void*>(address));
  return py::make_tuple(kinds[static_cast<int>(place.kind)], place.device);
}

template <class Body>
auto named(Body body) {
  return [body](const auto&... arguments) {
    PyObject* answer = guarded("gatherscatter.cuda", [&]() -> py::object { return body(arguments...); });
    if (answer == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(answer);
  };
}

}  // namespace

void bind_device(py::module_& module) {
  module.def("positions", &positions);
  module.def("device_facts", [] { return named(facts)(); });
  module.def("place_of", [](uintptr_t address) { return named(place_of)(address); });
  module.def("pending_calls", &pending_calls);
  module.def("synchronize", [](int device) {
    named([](int number_or_all) -> py::object {
      raise_deferred(true, number_or_all);
      return py::none();
    })(device);
  });
}

}  // namespace gs
