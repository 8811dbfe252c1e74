// torch_part.cpp: looks for tensors that are more than their memory, without reading any value.
#include "bindings/arguments/torch_part.h"

#include <algorithm>

#include "bindings/arguments/dlpack.h"
#include "bindings/python_calls.h"

namespace gs {
namespace {

// Whether a method without arguments returns True. An error counts as True: torch then raises it.
bool is_true(PyObject* tensor, PyObject* method) {
  PyObject* const answer = call_python([&] { return PyObject_CallOneArg(method, tensor); });
  if (answer == nullptr) PyErr_Clear();
  Py_XDECREF(answer);
  return answer != Py_False;
}

bool has_gradient(const dlpack::Torch& torch, PyObject* tensor) {
  if (!torch.in_grad_mode()) return false;
  PyObject* const answer = call_python([&] { return PyObject_GetAttrString(tensor, "requires_grad"); });
  if (answer == nullptr) PyErr_Clear();
  Py_XDECREF(answer);
  return answer != Py_False;
}

}  // namespace

bool torch_takes_part(PyObject* object) {
  const dlpack::Torch& torch = dlpack::torch();
  if (torch.tensor == nullptr || PyObject_TypeCheck(object, torch.tensor) == 0) return false;
  dlpack::Tensor header{};
  if (!torch.is_tensor(object) || torch.in_dispatch_mode()) return true;
  if (torch.api->tensor_from_object(object, &header) != 0) {
    PyErr_Clear();
    return true;
  }
  const bool is_empty = std::find(header.shape, header.shape + header.ndim, 0) != header.shape + header.ndim;
  if (!is_empty && torch.memory.is_unbacked(object, header)) return true;
  const uint8_t code = header.dtype.code;
  if (code == dlpack::kInt || code == dlpack::kUInt || code == dlpack::kBool) return false;
  return torch.in_forward_mode() || has_gradient(torch, object) || is_true(object, torch.is_neg) ||
         (code == dlpack::kComplex && is_true(object, torch.is_conj));
}

bool needs_gradient(PyObject* object) {
  const dlpack::Torch& torch = dlpack::torch();
  return torch.tensor != nullptr && PyObject_TypeCheck(object, torch.tensor) != 0 && has_gradient(torch, object);
}

bool torch_takes_part(const RawOperands& operands) {
  if (dlpack::torch().tensor == nullptr) return false;
  for (const py::handle object : {operands.input, operands.fill, operands.mask, operands.out, operands.source}) {
    if (torch_takes_part(object.ptr())) return true;
  }
  if (!operands.indices) return false;
  if (!PyTuple_Check(operands.indices.ptr())) return torch_takes_part(operands.indices.ptr());
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(operands.indices.ptr()); ++i) {
    if (torch_takes_part(PyTuple_GET_ITEM(operands.indices.ptr(), i))) return true;
  }
  return false;
}

}  // namespace gs
