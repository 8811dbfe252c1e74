// dlpack.cpp: finds torch's exchange table and allocates results.
#include "bindings/arguments/dlpack.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "bindings/arguments/torch_bits.h"
#include "bindings/python_calls.h"
#include "core/checked.h"
#include "core/error.h"
#include "host/memory_pool.h"

namespace gs::dlpack {
namespace {

// One allocation holds the struct, its shape and strides, and small data. Large data has an allocation of its own,
// which the memory pool recycles.
struct ExportBlock {
  ManagedTensorVersioned managed;
  void* memory;  // null: the data is inside this allocation
};

constexpr int64_t kInlineData = 64 * 1024;

void delete_block(ManagedTensorVersioned* managed) {
  auto* block = reinterpret_cast<ExportBlock*>(managed);
  if (block->memory != nullptr) host::release(block->memory);
  std::free(block);
}

std::byte* next_line(std::byte* address) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(address) + 63) / 64 * 64);
}

// Finds the functions that tell in which modes torch is. Its C interface has one of them; the other one is a function
// of C++ without arguments.
void find_modes(Torch& found) {
  if (void* library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD)) {
    found.grad_enabled = reinterpret_cast<bool (*)()>(dlsym(library, "aoti_torch_grad_mode_is_enabled"));
    found.set_grad_enabled = reinterpret_cast<void (*)(bool)>(dlsym(library, "aoti_torch_grad_mode_set_enabled"));
  }
  if (void* library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD)) {
    found.dispatch_mode = reinterpret_cast<bool (*)()>(dlsym(library, "_ZN3c104impl21dispatch_mode_enabledEv"));
  }
  PyObject* extension = PyDict_GetItemString(PyImport_GetModuleDict(), "torch._C");
  if (extension != nullptr)
    found.count_modes = call_python([&] { return PyObject_GetAttrString(extension, "_len_torch_dispatch_stack"); });
  PyErr_Clear();
}

}  // namespace

const Torch& torch() {
  static Torch found;  // guarded by the GIL; the search is repeated until torch has been imported
  if (found.tensor != nullptr) return found;
  PyObject* loaded = PyImport_GetModuleDict();
  PyObject* module = PyDict_GetItemString(loaded, "torch");
  if (module == nullptr || !python::has_attribute(module, "Tensor") || !python::has_attribute(module, "nn")) {
    return found;
  }
  const py::object tensor = python::attribute(module, "Tensor");
  const py::object parameter = python::attribute_or_none(python::attribute(module, "nn"), "Parameter");
  if (!PyType_Check(tensor.ptr()) || !PyType_Check(parameter.ptr())) return found;
  const py::object capsule = python::attribute_or_none(tensor, "__dlpack_c_exchange_api__");
  const ExchangeHeader* header = nullptr;
  if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
    header = static_cast<const ExchangeHeader*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  }
  while (header != nullptr && header->version.major != 1) header = header->previous;
  if (header != nullptr) found.api = reinterpret_cast<const ExchangeApi*>(header);
  if (found.api != nullptr && found.api->tensor_from_object == nullptr) found.api = nullptr;
  found.is_neg = python::attribute(tensor, "is_neg").release().ptr();
  const auto* method = reinterpret_cast<PyMethodDescrObject*>(found.is_neg);
  if (Py_IS_TYPE(found.is_neg, &PyMethodDescr_Type) && method->d_method->ml_flags == METH_NOARGS) {
    found.is_neg_function = method->d_method->ml_meth;
  }
  PyObject* property = python::attribute(tensor, "requires_grad").release().ptr();
  if (Py_IS_TYPE(property, &PyGetSetDescr_Type)) {
    found.requires_grad = reinterpret_cast<PyGetSetDescrObject*>(property)->d_getset;
  }
  found.memory = TorchMemory(reinterpret_cast<PyTypeObject*>(tensor.ptr()));
  find_modes(found);
  found.is_conj = python::attribute(tensor, "is_conj").release().ptr();
  PyObject* forward_mode = PyDict_GetItemString(loaded, "torch.autograd.forward_ad");
  if (forward_mode != nullptr && PyModule_Check(forward_mode))
    found.forward_mode = py::reinterpret_borrow<py::object>(forward_mode).release().ptr();
  found.parameter = reinterpret_cast<PyTypeObject*>(parameter.inc_ref().ptr());
  found.tensor = reinterpret_cast<PyTypeObject*>(tensor.inc_ref().ptr());  // never released
  return found;
}

bool Torch::in_forward_mode() const {
  if (forward_mode == nullptr) return false;
  static PyObject* const key = PyUnicode_InternFromString("_current_level");
  PyObject* level = PyDict_GetItem(PyModule_GetDict(forward_mode), key);
  return level != nullptr && PyLong_Check(level) && PyLong_AsLong(level) >= 0;
}

bool Torch::in_dispatch_mode() const {
  if (dispatch_mode != nullptr) return dispatch_mode();
  const auto count = py::reinterpret_steal<py::object>(
      count_modes == nullptr ? nullptr : call_python([&] { return PyObject_CallNoArgs(count_modes); }));
  PyErr_Clear();
  return count && PyObject_IsTrue(count.ptr()) == 1;
}

bool Torch::is_plain_float(PyObject* object) const {
  if (const std::optional<bool> answer = dlpack::is_plain_float(object, !in_grad_mode())) return *answer;
  const auto is_false = [](PyObject* answer) {
    if (answer == nullptr) PyErr_Clear();
    Py_XDECREF(answer);
    return answer == Py_False;
  };
  return requires_grad != nullptr && is_neg_function != nullptr &&
         (is_false(requires_grad->get(object, requires_grad->closure)) || !in_grad_mode()) &&
         is_false(is_neg_function(object, nullptr));
}

ManagedTensorVersioned* allocate_tensor(const Dims& shape, DataType dtype, int64_t item) {
  const int64_t bytes = checked_mul(checked_count(shape), item);
  const int64_t header = static_cast<int64_t>(sizeof(ExportBlock)) + 16 * shape.size();
  const bool is_inline = bytes <= kInlineData;
  // The data is aligned inside memory of plain malloc, because aligned allocation takes longer than a small gather.
  auto* raw = static_cast<std::byte*>(std::malloc(static_cast<std::size_t>(header + (is_inline ? bytes + 63 : 0))));
  if (raw == nullptr) throw std::bad_alloc();
  auto* block = new (raw) ExportBlock{};
  if (!is_inline) {
    try {
      block->memory = host::allocate(static_cast<std::size_t>(bytes));
    } catch (...) {
      std::free(raw);
      throw;
    }
  }
  auto* dims = reinterpret_cast<int64_t*>(raw + sizeof(ExportBlock));
  const Dims stride = contiguous_strides(shape, 1);
  for (int axis = 0; axis < shape.size(); ++axis) {
    dims[axis] = shape[axis];
    dims[shape.size() + axis] = stride[axis];
  }
  block->managed.version = {1, 1};
  block->managed.deleter = delete_block;
  block->managed.tensor = Tensor{is_inline ? next_line(raw + header) : block->memory,
                                 {kCpu, 0},
                                 shape.size(),
                                 dtype,
                                 dims,
                                 dims + shape.size(),
                                 0};
  return &block->managed;
}

py::object to_torch(ManagedTensorVersioned* tensor) {
  void* object = nullptr;
  if (torch().api->managed_to_object(tensor, &object) != 0) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(static_cast<PyObject*>(object));
}

ManagedTensorVersioned* allocate_torch(const Dims& shape, DataType dtype, int device) {
  if (torch().api->allocate == nullptr)
    throw ExchangeError("this version of torch cannot allocate memory on a GPU through its exchange table");
  Dims extent = shape;
  Tensor prototype{nullptr, {kCuda, device}, shape.size(), dtype, extent.data(), nullptr, 0};
  ManagedTensorVersioned* tensor = nullptr;
  std::string problem;
  const auto set_error = [](void* context, const char*, const char* message) {
    *static_cast<std::string*>(context) = message;
  };
  if (torch().api->allocate(&prototype, &tensor, &problem, set_error) != 0) {
    PyErr_Clear();
    if (problem.find("out of memory") != std::string::npos) throw std::bad_alloc();
    throw std::runtime_error("torch could not allocate the result: " + problem);
  }
  return tensor;
}

uintptr_t torch_stream(int device) {
  void* stream = nullptr;
  const ExchangeApi* api = torch().api;
  if (api->current_stream == nullptr) throw ExchangeError("this version of torch does not report its current stream");
  if (api->current_stream(kCuda, device, &stream) != 0) throw py::error_already_set();
  return stream == nullptr ? kLegacyStream : reinterpret_cast<uintptr_t>(stream);
}

void mark_written(py::handle tensor) {
  static PyObject* written = nullptr;
  if (written == nullptr) written = python::part("gatherscatter._libraries.of_torch", "count_write").release().ptr();
  python::call(written, tensor);
}

}  // namespace gs::dlpack
