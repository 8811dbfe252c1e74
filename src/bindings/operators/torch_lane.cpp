// torch_lane.cpp: chooses the function of torch for a small gather that records a gradient.
#include "bindings/operators/torch_lane.h"

#include <pybind11/pybind11.h>

#include <cstring>

#include "bindings/arguments/dlpack.h"

namespace gs {
namespace {

namespace py = pybind11;

// Above these our own functions run, whose large backward passes are faster. Chosen: the crossing was not measured.
constexpr int64_t kIndices = 1024;
constexpr int64_t kElements = 16 * 1024;

// The functions of torch; null before torch has been imported, and in a version without one of them.
struct Functions {
  PyObject* gather = nullptr;
  PyObject* index_select = nullptr;
  PyObject* take = nullptr;
};

const Functions& functions() {
  static Functions found;  // guarded by the GIL
  if (found.gather != nullptr) return found;
  PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  const auto function = [&](const char* name) {
    PyObject* const attribute = module == nullptr ? nullptr : PyObject_GetAttrString(module, name);
    if (attribute == nullptr) PyErr_Clear();
    return attribute;  // never released
  };
  found.take = function("take");
  found.index_select = function("index_select");
  found.gather = function("gather");
  return found;
}

int64_t count_of(const PlainArray& array) {
  int64_t count = 1;
  for (int axis = 0; axis < array.rank && count <= kElements; ++axis) count *= array.extent[axis];
  return count;
}

// Whether a C function of torch has answered with `expected`, which an error is not.
bool has_answered(PyObject* answer, PyObject* expected) {
  if (answer == nullptr) PyErr_Clear();
  Py_XDECREF(answer);
  return answer == expected;
}

// Whether a tensor requires grad and has no lazy negative bit.
bool needs_only_grad(const dlpack::Torch& torch, PyObject* tensor) {
  const PyGetSetDef* const requires_grad = torch.requires_grad;
  return requires_grad != nullptr && torch.is_neg_function != nullptr &&
         has_answered(requires_grad->get(tensor, requires_grad->closure), Py_True) &&
         has_answered(torch.is_neg_function(tensor, nullptr), Py_False);
}

// Whether torch sums the gradients of these numbers as we do: it rounds each step of narrower ones.
bool has_wide_floats(const PlainArray& input) {
  return input.dtype.code == dlpack::kFloat && (input.dtype.bits == 32 || input.dtype.bits == 64);
}

// Whether every index is in bounds and not negative, which torch refuses. torch checks the values again.
bool is_in_bounds(const PlainArray& index, int64_t count, int64_t extent) {
  bool is_good = true;
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = 0;
    std::memcpy(&value, index.data + i * index.item, sizeof value);
    is_good = is_good && value >= 0 && value < extent;
  }
  return is_good;
}

// The extent of the axis of a call; 0 if it has no such axis.
int64_t extent_at(const PlainArray& input, int64_t axis) {
  if (axis < 0) axis += input.rank;
  return axis >= 0 && axis < input.rank ? input.extent[axis] : 0;
}

// Whether the shapes are the same on all axes but one, so that nothing is broadcast.
bool same_off_axis(const PlainArray& input, const PlainArray& index, int64_t axis) {
  if (axis < 0) axis += input.rank;
  for (int d = 0; d < input.rank; ++d) {
    if (d != axis && input.extent[d] != index.extent[d]) return false;
  }
  return true;
}

// The function of torch that does what a call does, without its index values; null if none does.
PyObject* function_for(const CallKey& key, const PlainArray& input, const PlainArray& index) {
  if (key.planner == Planner::along_axis && key.axis != CallKey::kNoAxis && index.rank == input.rank) {
    const bool has_shape = key.match == Match::prefix || same_off_axis(input, index, key.axis);
    return has_shape ? functions().gather : nullptr;
  }
  if (key.planner != Planner::take_axis) return nullptr;
  if (key.axis == CallKey::kNoAxis) return functions().take;
  return index.rank == 1 ? functions().index_select : nullptr;
}

}  // namespace

LaneResult run_in_torch_lane(const LaneCall& call) {
  const dlpack::Torch& torch = dlpack::torch();
  const bool raises = call.key.rule.bounds == Bounds::raise || call.key.rule.bounds == Bounds::deferred;
  if (call.out != nullptr || call.source != nullptr || !raises) return LaneResult::declined();
  if (!torch.is_tensor(call.input) || !torch.is_tensor(call.index) || torch.in_dispatch_mode()) {
    return LaneResult::declined();
  }
  PlainArray input;
  PlainArray index;
  if (!torch.in_grad_mode() || torch.in_forward_mode() || !read_plain(call.index, Role::index, index) ||
      !read_plain(call.input, Role::data, input) || !needs_only_grad(torch, call.input)) {
    return LaneResult::declined();
  }
  if (!has_wide_floats(input) || index.type != IndexType::i64 || !index.is_contiguous() || input.rank == 0) {
    return LaneResult::declined();
  }
  const int64_t count = count_of(index);
  if (count > kIndices || count == 0 || count_of(input) > kElements) return LaneResult::declined();
  PyObject* const function = function_for(call.key, input, index);
  const bool is_flat = call.key.axis == CallKey::kNoAxis;
  const int64_t extent = is_flat ? count_of(input) : extent_at(input, call.key.axis);
  if (function == nullptr || !is_in_bounds(index, count, extent)) return LaneResult::declined();
  PyObject* result = nullptr;
  if (is_flat) {
    PyObject* const arguments[] = {call.input, call.index};
    result = PyObject_Vectorcall(function, arguments, 2, nullptr);
  } else {
    const auto axis = py::reinterpret_steal<py::object>(PyLong_FromLongLong(call.key.axis));
    PyObject* const arguments[] = {call.input, axis.ptr(), call.index};
    result = PyObject_Vectorcall(function, arguments, 3, nullptr);
  }
  if (result != nullptr || !PyErr_ExceptionMatches(PyExc_Exception)) return LaneResult::of(result);
  PyErr_Clear();  // the definition of the operator raises the error of this call in our words
  return LaneResult::declined();
}

}  // namespace gs
