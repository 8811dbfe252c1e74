// dlpack_array.cpp: the Python face of an array that only its memory layout is known of.
#include <new>

#include "bindings/dlpack.h"
#include "bindings/errors.h"
#include "core/error.h"

namespace gs::dlpack {
namespace {

// What an exported tensor keeps alive until its consumer lets go of it.
template <class Managed>
struct Export {
  Managed managed{};
  PyObject* owner = nullptr;
  Dims shape;
  Dims stride;
};

// May be called from any thread, and after Python has gone.
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
  if (!PyCapsule_IsValid(capsule, name)) return;  // consumed: the consumer deletes it
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <class Managed>
py::object export_capsule(py::handle self, const Array& array) {
  auto exported = std::make_unique<Export<Managed>>();
  const ArrayView& view = array.view();
  exported->shape = view.extent;
  for (const int64_t stride : view.stride) exported->stride.push_back(stride / view.item);
  Managed& managed = exported->managed;
  managed.manager = exported.get();
  managed.deleter = delete_export<Managed>;
  managed.tensor =
      Tensor{view.data, {kCpu, 0}, view.rank(), array.dtype(), exported->shape.data(), exported->stride.data(), 0};
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

py::object export_array(py::handle self, py::object stream, py::object max_version, py::object dl_device,
                        py::object copy) {
  if (!stream.is_none()) throw py::buffer_error("an array in host memory has no stream");
  if (!dl_device.is_none() && py::cast<std::pair<int, int>>(dl_device) != std::pair<int, int>{kCpu, 0}) {
    throw py::buffer_error("the array lies in host memory and cannot be exported to another device");
  }
  if (!copy.is_none() && py::cast<bool>(copy)) throw py::buffer_error("exporting a copy is not supported");
  const Array& array = py::cast<const Array&>(self);
  if (!max_version.is_none() && py::cast<int>(max_version[py::int_(0)]) >= 1) {
    return export_capsule<ManagedTensorVersioned>(self, array);
  }
  if (!array.writable()) throw py::buffer_error("a read-only array needs a consumer that knows DLPack 1.0");
  return export_capsule<ManagedTensor>(self, array);
}

}  // namespace

void bind_array(py::module_& module) {
  py::class_<Array>(module, "DLPackArray", "Host memory of another library, or a result on its way there.")
      .def_static("from_capsule", &Array::from_capsule, py::arg("capsule"))
      .def("__dlpack__", &export_array, py::kw_only(), py::arg("stream") = py::none(),
           py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__", [](const Array&) { return std::pair<int, int>{kCpu, 0}; });
  forbid_new(module.attr("DLPackArray"));
}

}  // namespace gs::dlpack
