// torch_lane.cpp: hands small calls that record a gradient to torch's functions.
#include "bindings/operators/torch_lane.h"

#include <pybind11/pybind11.h>

#include <bitset>
#include <cmath>
#include <cstring>
#include <limits>

#include "bindings/arguments/arguments.h"
#include "bindings/arguments/dlpack.h"
#include "bindings/python_calls.h"

namespace gs {
namespace {

namespace py = pybind11;

// Above these our own functions run, whose large backward passes are faster. Chosen: the crossing was not measured.
constexpr int64_t kIndices = 1024;
constexpr int64_t kElements = 16 * 1024;
// The same for sums of single elements along the only axis, which torch computes in the order of the points, on one
// thread. Beyond it both take the time of the additions.
constexpr int64_t kSummands = 8 * 1024;
constexpr int64_t kLooks = 64;  // at the indices of such a sum

// The functions of torch; null before torch has been imported, and in a version without one of them.
struct Functions {
  PyObject* gather = nullptr;
  PyObject* index_select = nullptr;
  PyObject* take = nullptr;
  PyObject* unbind = nullptr;
  PyObject* scatter = nullptr;
  PyObject* scatter_add = nullptr;
  PyObject* index_add = nullptr;
  PyObject* count_function_modes = nullptr;
  PyObject* trace = nullptr;
};

const Functions& functions() {
  static Functions found;  // guarded by the GIL
  if (found.gather != nullptr) return found;
  const auto function = [](const char* module_name, const char* name) {
    PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), module_name);
    PyObject* const attribute =
        module == nullptr ? nullptr : call_python([&] { return PyObject_GetAttrString(module, name); });
    if (attribute == nullptr) PyErr_Clear();
    return attribute;  // never released
  };
  found.count_function_modes = function("torch._C", "_len_torch_function_stack");
  found.trace = function("torch._C", "_get_tracing_state");
  found.index_add = function("torch", "index_add");
  found.scatter_add = function("torch", "scatter_add");
  found.scatter = function("torch", "scatter");
  found.unbind = function("torch", "unbind");
  found.take = function("torch", "take");
  found.index_select = function("torch", "index_select");
  found.gather = function("torch", "gather");
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

// Whether a function of torch answers with an object that is not true. False also in a version without the function.
bool denies(PyObject* function) {
  py::object answer;
  if (function != nullptr)
    answer = py::reinterpret_steal<py::object>(call_python([&] { return PyObject_CallNoArgs(function); }));
  if (!answer) PyErr_Clear();
  return answer && PyObject_IsTrue(answer.ptr()) == 0;
}

// Whether torch records operations of a tensor in this thread, and nothing else of torch sees them. A function mode
// runs Python code, which may change tensors between two functions of torch; a trace would record these, not the
// operator.
bool records_only_gradients(const dlpack::Torch& torch) {
  return torch.in_grad_mode() && !torch.in_forward_mode() && !torch.in_dispatch_mode() &&
         denies(functions().count_function_modes) && denies(functions().trace);
}

// False also if the C functions cannot decide.
bool requires_grad(const dlpack::Torch& torch, PyObject* tensor) {
  const PyGetSetDef* const getter = torch.requires_grad;
  return getter != nullptr && has_answered(getter->get(tensor, getter->closure), Py_True);
}

bool has_no_negative_bit(const dlpack::Torch& torch, PyObject* tensor) {
  return torch.is_neg_function != nullptr && has_answered(torch.is_neg_function(tensor, nullptr), Py_False);
}

int64_t index_at(const PlainArray& index, int64_t i) {
  int64_t value = 0;
  std::memcpy(&value, index.data + i * index.item, sizeof value);
  return value;
}

// Whether torch moves and sums these numbers as we do: it rounds each step of narrower ones, and changes their NaNs.
bool has_wide_floats(const PlainArray& input) {
  return input.dtype.code == dlpack::kFloat && (input.dtype.bits == 32 || input.dtype.bits == 64);
}

// Whether every index is in bounds and not negative, which torch refuses. torch checks the values again, so that of
// many along one axis a few are looked at. Value i belongs to axis i % axes.
bool is_in_bounds(const PlainArray& index, int64_t count, const int64_t* extent, int64_t axes) {
  bool is_good = true;
  if (count > kIndices) {
    for (int64_t i = 0; i < count; i += count / kLooks) {
      const int64_t value = index_at(index, i);
      is_good = is_good && value >= 0 && value < *extent;
    }
    return is_good;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = index_at(index, i);
    is_good = is_good && value >= 0 && value < extent[i % axes];
  }
  return is_good;
}

// Whether an index repeats a value on a line along `axis`. The values of all lines together are at most kElements.
bool has_repeats(const PlainArray& index, int64_t count, int axis, int64_t extent) {
  int64_t inner = 1;
  for (int d = axis + 1; d < index.rank; ++d) inner *= index.extent[d];
  std::bitset<kElements> seen;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = index_at(index, i);
    if (value < 0 || value >= extent) return true;  // another thread may write to the index meanwhile
    const auto slot = static_cast<std::size_t>((i / (inner * index.extent[axis]) * inner + i % inner) * extent + value);
    if (seen[slot]) return true;
    seen[slot] = true;
  }
  return false;
}

// The axis of a call from the front; -1 if it has no such axis.
int axis_of(const CallKey& key, const PlainArray& input) {
  const int64_t axis = key.axis < 0 ? key.axis + input.rank : key.axis;
  return axis >= 0 && axis < input.rank ? static_cast<int>(axis) : -1;
}

// Whether two shapes are the same on all axes but one.
bool same_off_axis(const PlainArray& one, const PlainArray& other, int axis) {
  if (one.rank != other.rank) return false;
  for (int d = 0; d < one.rank; ++d) {
    if (d != axis && one.extent[d] != other.extent[d]) return false;
  }
  return true;
}

// The arguments of a call, read without their values, and what is known of them.
struct Arrays {
  PlainArray input;
  PlainArray index;
  PlainArray source;  // of a scatter
  int64_t points = 0;
  int axis = -1;  // from the front; -1: none
};

// Whether the strides are those of a new array, also along axes of one element, by whose strides torch may take an
// index for one that is expanded.
bool has_strides_of_new(const PlainArray& array) {
  int64_t stride = array.item;
  for (int d = array.rank - 1; d >= 0; --d) {
    if (array.stride[d] != stride) return false;
    stride *= array.extent[d];
  }
  return true;
}

// Whether a call is one of few contiguous indices of int64 into a small tensor of float32 or float64, of which torch
// records nothing but the gradient. torch is wrong for some expanded indices and for some of int32.
bool read_small(const LaneCall& call, Arrays& arrays) {
  const dlpack::Torch& torch = dlpack::torch();
  const bool scatters = call.source != nullptr;
  const Bounds bounds = call.key.rule.bounds;
  if (call.out != nullptr || (bounds != Bounds::raise && bounds != Bounds::deferred)) return false;
  if (!torch.is_tensor(call.input) || !torch.is_tensor(call.index) || (scatters && !torch.is_tensor(call.source)) ||
      !records_only_gradients(torch)) {
    return false;
  }
  if (!(requires_grad(torch, call.input) || (scatters && requires_grad(torch, call.source))) ||
      !has_no_negative_bit(torch, call.input) || (scatters && !has_no_negative_bit(torch, call.source)) ||
      !read_plain(call.index, Role::index, arrays.index) || !read_plain(call.input, Role::data, arrays.input) ||
      (scatters && !read_plain(call.source, Role::source, arrays.source))) {
    return false;
  }
  const int64_t elements = count_of(arrays.input);
  arrays.points = count_of(arrays.index);
  const bool is_line = arrays.input.rank == 1 && call.key.combine.reduce == Reduce::add;
  if (call.key.axis != CallKey::kNoAxis) {
    arrays.axis = axis_of(call.key, arrays.input);
    if (arrays.axis < 0) return false;
  }
  return has_wide_floats(arrays.input) && arrays.input.rank != 0 && elements != 0 && elements <= kElements &&
         arrays.index.type == IndexType::i64 && has_strides_of_new(arrays.index) && arrays.points != 0 &&
         arrays.points <= (is_line ? kSummands : kIndices) && (!scatters || arrays.source.same_type(arrays.input));
}

// Whether a gather by coordinates has one list of points, whose gradients torch adds in the order of the list, too. It
// adds large ones by several threads, in any order.
bool is_list_of_points(const PlainArray& input, const PlainArray& index) {
  if (index.rank != 2 || index.extent[1] > input.rank || !input.is_contiguous()) return false;
  int64_t items = index.extent[0];
  for (auto axis = static_cast<int>(index.extent[1]); axis < input.rank && items <= kElements; ++axis) {
    items *= input.extent[axis];
  }
  return items <= kElements;
}

// The function of torch for a gather; null if none has the same bytes.
PyObject* function_of_gather(const LaneCall& call, const Arrays& arrays) {
  const auto& [input, index, source, points, axis] = arrays;
  const Functions& of_torch = functions();
  if (call.key.planner == Planner::at_points) {
    const bool fits = is_list_of_points(input, index) && is_in_bounds(index, points, input.extent, index.extent[1]);
    return fits ? of_torch.unbind : nullptr;  // and an index by the columns
  }
  if (axis < 0) {
    // torch sums the gradient of an index of several axes in the order of its memory.
    const int64_t elements = count_of(input);
    const bool fits = call.key.planner == Planner::take_axis && index.rank == 1;
    return fits && is_in_bounds(index, points, &elements, 1) ? of_torch.take : nullptr;
  }
  if (!is_in_bounds(index, points, input.extent + axis, 1)) return nullptr;
  if (call.key.planner == Planner::take_axis) return index.rank == 1 ? of_torch.index_select : nullptr;
  if (call.key.planner != Planner::along_axis || index.rank != input.rank) return nullptr;
  const bool fits = call.key.match == Match::prefix || same_off_axis(input, index, axis);  // nothing is broadcast
  return fits ? of_torch.gather : nullptr;
}

// The function of torch for a scatter; null if none has the same bytes.
PyObject* function_of_scatter(const LaneCall& call, bool adds, const Arrays& arrays) {
  const auto& [target, index, source, points, axis] = arrays;
  if (axis < 0 || call.key.planner == Planner::at_points) return nullptr;
  const bool is_rows = call.key.planner == Planner::take_axis;  // else along an axis
  const int of_points = is_rows ? 0 : axis;                     // the axis of the index
  const PlainArray& lines = is_rows ? source : index;
  if (is_rows ? index.rank != 1 : !same_off_axis(target, index, axis)) return nullptr;
  if (!same_off_axis(target, source, axis) || source.extent[axis] != index.extent[of_points]) return nullptr;
  const int64_t extent = target.extent[axis];
  if (lines.rank != target.rank || !is_in_bounds(index, points, &extent, 1)) return nullptr;
  if (adds) return is_rows || target.rank == 1 ? functions().index_add : functions().scatter_add;
  // Of repeated points torch gives every value the gradient of the one that was written.
  return has_repeats(index, points, of_points, extent) ? nullptr : functions().scatter;
}

// The condition of docs/design.md, "Calls handed to other libraries": the function of torch whose values and gradients
// have the bytes of ours, but for NaNs that are sums; null where none is known to have them.
PyObject* function_with_equal_bytes(const LaneCall& call, bool adds, Arrays& arrays) {
  if (!read_small(call, arrays)) return nullptr;
  return call.source == nullptr ? function_of_gather(call, arrays) : function_of_scatter(call, adds, arrays);
}

// The index of rows as one of their elements. Of the functions of torch that write rows, all keep the rows for the
// backward pass, which may not be changed then; the one that writes elements keeps the index alone.
py::object for_elements(const py::object& index, const PlainArray& source, int axis) {
  py::tuple line(source.rank);
  py::tuple shape(source.rank);
  for (int d = 0; d < source.rank; ++d) {
    line[static_cast<std::size_t>(d)] = py::int_(d == axis ? source.extent[d] : 1);
    shape[static_cast<std::size_t>(d)] = py::int_(source.extent[d]);
  }
  if (source.rank == 1) return index;
  const py::object expanded = python::call_method(python::call_method(index, "view", line), "expand", shape);
  return python::call_method(expanded, "contiguous");
}

PyObject* called(PyObject* function, PyObject* tensor, int64_t axis, PyObject* index, PyObject* source = nullptr) {
  const auto number = py::reinterpret_steal<py::object>(PyLong_FromLongLong(axis));
  PyObject* const arguments[] = {tensor, number.ptr(), index, source};
  return call_python([&] { return PyObject_Vectorcall(function, arguments, source == nullptr ? 3 : 4, nullptr); });
}

PyObject* gathered_points(PyObject* input, PyObject* index) {
  const auto axis = py::reinterpret_steal<py::object>(PyLong_FromLong(1));
  PyObject* const arguments[] = {index, axis.ptr()};
  const auto columns = py::reinterpret_steal<py::object>(
      call_python([&] { return PyObject_Vectorcall(functions().unbind, arguments, 2, nullptr); }));
  const auto of_axes = py::reinterpret_steal<py::object>(columns ? PySequence_Tuple(columns.ptr()) : nullptr);
  return of_axes ? call_python([&] { return PyObject_GetItem(input, of_axes.ptr()); }) : nullptr;
}

PyObject* gathered(PyObject* function, const LaneCall& call, int axis) {
  if (call.key.planner == Planner::at_points) return gathered_points(call.input, call.index);
  if (axis >= 0) return called(function, call.input, axis, call.index);
  PyObject* const arguments[] = {call.input, call.index};
  return call_python([&] { return PyObject_Vectorcall(function, arguments, 2, nullptr); });
}

PyObject* scattered(PyObject* function, const LaneCall& call, const Arrays& arrays) {
  const auto given = py::reinterpret_borrow<py::object>(call.index);
  const bool is_rows = call.key.planner == Planner::take_axis;
  const bool widens = is_rows && function == functions().scatter;
  const py::object index = widens ? for_elements(given, arrays.source, arrays.axis) : given;
  return called(function, call.input, arrays.axis, index.ptr(), call.source);
}

// Makes every NaN the one that our sums give. Returns whether there was one.
template <class T>
bool settle(std::byte* data, int64_t count) {
  bool found = false;
  auto* const values = reinterpret_cast<T*>(data);  // torch aligns the memory that it allocates
  for (int64_t i = 0; i < count; ++i) found = found || std::isnan(values[i]);
  for (int64_t i = 0; found && i < count; ++i) {
    if (std::isnan(values[i])) values[i] = std::numeric_limits<T>::quiet_NaN();
  }
  return found;
}

// The elements of a tensor that torch has just made, if it is plain, contiguous memory; else -1.
int64_t plain_elements(PyObject* tensor, PlainArray& array) {
  const dlpack::Torch& torch = dlpack::torch();
  const bool is_plain = torch.is_tensor(tensor) && !torch.in_dispatch_mode() && has_no_negative_bit(torch, tensor) &&
                        read_plain(tensor, Role::data, array) && has_wide_floats(array) && array.is_contiguous();
  return is_plain ? count_of(array) : -1;
}

// A hook of the node of a gather, whose gradient is a fresh sum: torch keeps the sign of a NaN, and the processor gives
// inf - inf the negative one. Gradients of transforms have no memory, and are replaced.
PyObject* settle_gradients(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  PyObject* const given = count == 2 ? arguments[0] : nullptr;
  if (given == nullptr || !PyTuple_Check(given)) Py_RETURN_NONE;
  bool is_whole = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given); ++i) {
    PlainArray array;
    const int64_t elements = plain_elements(PyTuple_GET_ITEM(given, i), array);
    if (elements < 0 || elements > kElements) {
      is_whole = is_whole && PyTuple_GET_ITEM(given, i) == Py_None;
    } else {
      array.item == 4 ? settle<float>(array.data, elements) : settle<double>(array.data, elements);
    }
  }
  if (is_whole) Py_RETURN_NONE;
  try {
    static PyObject* kept = nullptr;
    PyObject* const settled = kept_part(kept, "gatherscatter._torch.moves", "settled");
    return call_python([&] { return PyObject_CallOneArg(settled, given); });
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  }
}

PyMethodDef settle_definition = {"settle_gradients",
                                 reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(settle_gradients)),
                                 METH_FASTCALL, "Makes the NaNs of the gradients of a gather those of our sums."};

// Adds the hook to the node of a result. Returns the result, or null with a Python error.
PyObject* with_settled_gradients(PyObject* result) {
  static PyObject* const hook = PyCFunction_New(&settle_definition, nullptr);
  static PyObject* const node_name = PyUnicode_InternFromString("grad_fn");
  static PyObject* const method_name = PyUnicode_InternFromString("register_hook");
  if (result == nullptr) return nullptr;
  const auto owner = py::reinterpret_steal<py::object>(result);
  const auto node = py::reinterpret_steal<py::object>(call_python([&] { return PyObject_GetAttr(result, node_name); }));
  if (!node) return nullptr;
  const auto handle = py::reinterpret_steal<py::object>(
      call_python([&] { return PyObject_CallMethodOneArg(node.ptr(), method_name, hook); }));
  return handle ? py::object(owner).release().ptr() : nullptr;
}

// Whether a result is to be computed by ours, because a sum is NaN.
bool has_nan(PyObject* result) {
  PlainArray array;
  const int64_t elements = result == nullptr ? 0 : plain_elements(result, array);
  if (elements < 0) return true;
  if (elements == 0) return false;
  const auto is_nan = [&](auto zero) {
    const auto* const values = reinterpret_cast<const decltype(zero)*>(array.data);
    bool found = false;
    for (int64_t i = 0; i < elements; ++i) found = found || std::isnan(values[i]);
    return found;
  };
  return array.item == 4 ? is_nan(0.0F) : is_nan(0.0);
}

// The answer of torch. The definition of the operator runs a call again that torch refuses, and raises the error in our
// words. All others are of hooks, which the call runs: one of them ends the recomputation of a checkpoint.
LaneResult answered(PyObject* result) {
  PyObject* const error = result == nullptr ? PyErr_Occurred() : nullptr;
  if (error != PyExc_RuntimeError && error != PyExc_IndexError) return LaneResult::of(result);
  PyErr_Clear();
  return LaneResult::declined();
}

}  // namespace

LaneResult run_in_torch_lane(const LaneCall& call) {
  const Combine& combine = call.key.combine;
  const bool adds = combine.reduce == Reduce::add && combine.include_self;
  if (call.mask != nullptr || call.fill != nullptr || !(adds || combine.reduce == Reduce::set)) {
    return LaneResult::declined();
  }
  Arrays arrays;
  PyObject* const function = function_with_equal_bytes(call, adds, arrays);
  if (function == nullptr) return LaneResult::declined();
  if (call.source == nullptr) return answered(with_settled_gradients(gathered(function, call, arrays.axis)));
  PyObject* const result = scattered(function, call, arrays);
  if (!adds || !has_nan(result)) return answered(result);
  Py_DECREF(result);
  return LaneResult::declined();
}

}  // namespace gs
