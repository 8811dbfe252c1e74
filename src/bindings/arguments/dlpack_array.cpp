// dlpack_array.cpp: binds ExchangedArray to Python, with the protocols __dlpack__ and __cuda_array_interface__.
#include <new>

#include "backends/devices.h"
#include "bindings/arguments/dlpack.h"
#include "bindings/arguments/from_python.h"
#include "bindings/arguments/tuples.h"
#include "bindings/python_calls.h"
#include "bindings/python_errors.h"
#include "core/error.h"

namespace gs::dlpack {
namespace {

// An exported tensor and the data that stays alive until the consumer calls the deleter.
template <class Managed>
struct Export {
  Managed managed{};
  PyObject* owner = nullptr;
  Dims shape;
  Dims stride;
};

// The consumer may call this on any thread, and after the interpreter has been finalized.
template <class Managed>
void delete_export(Managed* managed) {
  auto* exported = static_cast<Export<Managed>*>(managed->manager);
  if (Py_IsInitialized()) {
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(exported->owner);
    PyGILState_Release(state);
  }
  delete exported;
}

template <class Managed>
void delete_capsule(PyObject* capsule) {
  const char* name = std::is_same_v<Managed, ManagedTensor> ? "dltensor" : "dltensor_versioned";
  if (!PyCapsule_IsValid(capsule, name)) return;  // renamed by a consumer, which calls the deleter itself
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <class Managed>
py::object export_capsule(py::handle self, const ExchangedArray& array) {
  auto exported = std::make_unique<Export<Managed>>();
  const ArrayView& view = array.view();
  exported->shape = view.extent;
  for (const int64_t stride : view.stride) exported->stride.push_back(stride / view.item);
  Managed& managed = exported->managed;
  managed.manager = exported.get();
  managed.deleter = delete_export<Managed>;
  managed.tensor =
      Tensor{view.data, array.device(), view.rank(), array.dtype(), exported->shape.data(), exported->stride.data(), 0};
  const char* name = "dltensor";
  if constexpr (std::is_same_v<Managed, ManagedTensorVersioned>) {
    managed.version = {1, 1};
    managed.flags = array.writable() ? 0 : kFlagReadOnly;
    name = "dltensor_versioned";
  }
  PyObject* capsule = PyCapsule_New(&managed, name, delete_capsule<Managed>);
  if (capsule == nullptr) throw py::error_already_set();
  exported->owner = self.inc_ref().ptr();
  exported.release();
  return py::reinterpret_steal<py::object>(capsule);
}

// Makes the consumer's stream wait for our writes, and the release of the memory wait for the consumer's work.
void order_for_consumer(const ExchangedArray& array, py::handle stream) {
  StreamMemory* memory = array.device_memory();
  if (memory == nullptr)
    throw py::buffer_error("only an array that gatherscatter allocated can be exported from a GPU");
  const int64_t number = stream.is_none() ? static_cast<int64_t>(kLegacyStream) : py::cast<int64_t>(stream);
  if (number == -1) return;  // the consumer asks for no synchronization
  if (number == 0 || number < -1) throw py::buffer_error("stream 0 is ambiguous: 1 is the default stream");
  const auto consumer = static_cast<uintptr_t>(number);
  if (consumer == memory->stream) return;
  memory->devices.machine(memory->device, memory->stream)->go_before(consumer);
  memory->consumers.push_back(consumer);
}

py::object export_array(py::handle self, py::object stream, py::object max_version, py::object dl_device,
                        py::object copy) {
  const ExchangedArray& array = py::cast<const ExchangedArray&>(self);
  const Device device = array.device();
  if (!dl_device.is_none() && py::cast<std::pair<int, int>>(dl_device) != std::pair<int, int>{device.type, device.id}) {
    throw py::buffer_error(is_host(device) ? "the array lies in host memory and cannot be exported to another device"
                                           : "the array lies on a GPU and cannot be exported to another device");
  }
  if (!copy.is_none() && py::cast<bool>(copy)) throw py::buffer_error("exporting a copy is not supported");
  if (is_host(device)) {
    if (!stream.is_none()) throw py::buffer_error("an array in host memory has no stream");
  } else {
    order_for_consumer(array, stream);
  }
  if (!max_version.is_none() && py::cast<int>(max_version[py::int_(0)]) >= 1) {
    return export_capsule<ManagedTensorVersioned>(self, array);
  }
  if (!array.writable())
    throw py::buffer_error("a read-only array needs a consumer of DLPack 1.0 or later (max_version)");
  return export_capsule<ManagedTensor>(self, array);
}

py::tuple shape_of(const ExchangedArray& array) {
  return to_tuple(array.view().extent);
}

// For libraries without DLPack, such as numba. The consumer waits for the stream that the dict names.
py::object interface_of(const ExchangedArray& array) {
  const StreamMemory* memory = array.device_memory();
  if (memory == nullptr) throw py::attribute_error("__cuda_array_interface__");
  const DataType dtype = array.dtype();
  const bool has_letter = dtype.code < 7 && dtype.code != kOpaque && dtype.code != kBfloat;
  const std::string letter(1, has_letter ? "iufVVcb"[dtype.code] : 'V');
  py::dict facts;
  facts["shape"] = shape_of(array);
  facts["typestr"] = (array.view().item > 1 ? "<" : "|") + letter + std::to_string(array.view().item);
  facts["data"] = py::make_tuple(reinterpret_cast<uintptr_t>(array.view().data), false);
  facts["strides"] = py::none();
  facts["stream"] = memory->stream;
  facts["version"] = 3;
  return facts;
}

// NumPy's dtype, or the name of the DLPack dtype if NumPy has no such dtype.
py::object dtype_of(const ExchangedArray& array) {
  if (array.descr()) return array.descr();
  const py::str name = dtype_name(array.dtype());
  try {
    return python::call(python_part("numpy", "dtype"), name);
  } catch (py::error_already_set&) {
    return name;
  }
}

ExchangedArray from_interface(py::object owner, uintptr_t data, const py::sequence& shape, const py::object& strides,
                              py::object dtype, bool writable, int device) {
  const auto dims = [](const py::handle& numbers) {
    Dims read;
    for (const py::handle n : numbers) read.push_back(n.cast<int64_t>());
    return read;
  };
  std::optional<Dims> steps;
  if (!strides.is_none()) steps = dims(strides);
  return ExchangedArray::from_interface(std::move(owner), data, dims(shape), steps, std::move(dtype), writable, device);
}

}  // namespace

void bind_array(py::module_& module) {
  py::class_<ExchangedArray>(module, "DLPackArray", "An array in memory of another library, or a result for one.")
      .def_static("from_capsule", &ExchangedArray::from_capsule, py::arg("capsule"), py::arg("on_device") = false)
      .def_static("from_interface", &from_interface, py::arg("owner"), py::arg("data"), py::arg("shape"),
                  py::arg("strides"), py::arg("dtype"), py::arg("writable"), py::arg("device"))
      .def_property_readonly("shape", &shape_of)
      .def_property_readonly("dtype", &dtype_of)
      .def_property_readonly("__cuda_array_interface__", &interface_of)
      .def("__dlpack__", &export_array, py::kw_only(), py::arg("stream") = py::none(),
           py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__",
           [](const ExchangedArray& array) { return std::pair<int, int>{array.device().type, array.device().id}; });
  forbid_new(module.attr("DLPackArray"));
}

}  // namespace gs::dlpack
