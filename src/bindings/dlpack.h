// dlpack.h: arrays of other libraries in and out: capsules, and torch's exchange table.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/dlpack_abi.h"
#include "core/array_view.h"

namespace gs::dlpack {

namespace py = pybind11;

// Checks what a producer declares before anything of it is followed; ExchangeError, DTypeError or ShapeError otherwise.
ArrayView checked_view(const Tensor& tensor, bool subbyte_padded);

std::string dtype_name(DataType dtype);  // "float32", "bfloat16", ..

// An array in host memory that either another library lent us or we own; speaks the Python protocol of DLPack.
class Array {
 public:
  // Takes over the tensor inside a capsule ("dltensor" or "dltensor_versioned") after checking it.
  static Array from_capsule(py::handle capsule);
  // Fresh memory of our own.
  static Array allocate(const Dims& shape, DataType dtype, int64_t item);

  Array(Array&& other);
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array();

  const ArrayView& view() const { return view_; }
  DataType dtype() const { return dtype_; }
  bool writable() const { return writable_; }

 private:
  Array() = default;
  ArrayView view_;
  DataType dtype_{};
  bool writable_ = false;
  ManagedTensor* legacy_ = nullptr;
  ManagedTensorVersioned* versioned_ = nullptr;
  void* memory_ = nullptr;
};

void bind_array(py::module_& module);

// torch, met and never imported: null where the process has not loaded it, or where it is too old for the table.
struct Torch {
  PyTypeObject* tensor = nullptr;
  PyTypeObject* parameter = nullptr;
  const ExchangeApi* api = nullptr;
  PyObject* is_neg = nullptr;  // torch.Tensor's methods
  PyObject* is_conj = nullptr;
  PyCFunction is_neg_function = nullptr;       // the same without a call of Python's; null where it is of another kind
  const PyGetSetDef* requires_grad = nullptr;  // likewise
  PyObject* forward_mode = nullptr;            // the module torch.autograd.forward_ad
  bool in_forward_mode() const;                // inside a dual level, where a tensor may carry a tangent
  // Neither requires grad nor has a lazy negative bit. False where that is not known without more questions.
  bool is_plain_float(PyObject* object) const;
  bool is_tensor(PyObject* object) const {
    return api != nullptr && (Py_TYPE(object) == tensor || Py_TYPE(object) == parameter);
  }
};
const Torch& torch();

// A tensor over fresh memory: its data pointer is set at once, and it becomes a torch tensor with `to_torch`, which
// takes it.
ManagedTensorVersioned* allocate_tensor(const Dims& shape, DataType dtype, int64_t item);
py::object to_torch(ManagedTensorVersioned* tensor);

// Tells torch that the memory of a tensor was written to behind its back.
void mark_written(py::handle tensor);

}  // namespace gs::dlpack
