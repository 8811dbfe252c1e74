// torch_lane.cpp: chooses the function of torch for a small call that records a gradient.
#include "bindings/operators/torch_lane.h"

#include <pybind11/pybind11.h>

#include <bitset>
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
  PyObject* unbind = nullptr;
  PyObject* scatter = nullptr;
  PyObject* count_function_modes = nullptr;
  PyObject* trace = nullptr;
};

const Functions& functions() {
  static Functions found;  // guarded by the GIL
  if (found.gather != nullptr) return found;
  const auto function = [](const char* module_name, const char* name) {
    PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), module_name);
    PyObject* const attribute = module == nullptr ? nullptr : PyObject_GetAttrString(module, name);
    if (attribute == nullptr) PyErr_Clear();
    return attribute;  // never released
  };
  found.count_function_modes = function("torch._C", "_len_torch_function_stack");
  found.trace = function("torch._C", "_get_tracing_state");
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
  const auto answer = py::reinterpret_steal<py::object>(function == nullptr ? nullptr : PyObject_CallNoArgs(function));
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

// Whether torch sums the gradients of these numbers as we do: it rounds each step of narrower ones.
bool has_wide_floats(const PlainArray& input) {
  return input.dtype.code == dlpack::kFloat && (input.dtype.bits == 32 || input.dtype.bits == 64);
}

// Whether every index is in bounds and not negative, which torch refuses. torch checks the values again. Value i
// belongs to axis i % axes.
bool is_in_bounds(const PlainArray& index, int64_t count, const int64_t* extent, int64_t axes) {
  bool is_good = true;
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

// The function of torch that does what a gather along an axis does, without its index values; null if none does.
PyObject* function_for(const CallKey& key, const PlainArray& input, const PlainArray& index, int axis) {
  if (key.planner == Planner::take_axis) return index.rank == 1 ? functions().index_select : nullptr;
  if (key.planner != Planner::along_axis || index.rank != input.rank) return nullptr;
  const bool fits = key.match == Match::prefix || same_off_axis(input, index, axis);  // nothing is broadcast
  return fits ? functions().gather : nullptr;
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
  return source.rank == 1 ? index : index.attr("view")(line).attr("expand")(shape);
}

PyObject* called(PyObject* function, PyObject* tensor, int64_t axis, PyObject* index, PyObject* source = nullptr) {
  const auto number = py::reinterpret_steal<py::object>(PyLong_FromLongLong(axis));
  PyObject* const arguments[] = {tensor, number.ptr(), index, source};
  return PyObject_Vectorcall(function, arguments, source == nullptr ? 3 : 4, nullptr);
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

PyObject* gathered_points(PyObject* input, PyObject* index) {
  const auto axis = py::reinterpret_steal<py::object>(PyLong_FromLong(1));
  PyObject* const arguments[] = {index, axis.ptr()};
  const auto columns =
      py::reinterpret_steal<py::object>(PyObject_Vectorcall(functions().unbind, arguments, 2, nullptr));
  const auto of_axes = py::reinterpret_steal<py::object>(columns ? PySequence_Tuple(columns.ptr()) : nullptr);
  return of_axes ? PyObject_GetItem(input, of_axes.ptr()) : nullptr;
}

// The answer of torch. The definition of the operator runs a call again that torch refuses, and raises the error in our
// words. All others are of hooks, which the call runs: one of them ends the recomputation of a checkpoint.
LaneResult answered(PyObject* result) {
  PyObject* const error = result == nullptr ? PyErr_Occurred() : nullptr;
  if (error != PyExc_RuntimeError && error != PyExc_IndexError) return LaneResult::of(result);
  PyErr_Clear();
  return LaneResult::declined();
}

bool raises(const LaneCall& call) {
  return call.key.rule.bounds == Bounds::raise || call.key.rule.bounds == Bounds::deferred;
}

// Whether an index has the form that torch takes. `count`: of its values.
bool is_small_index(const PlainArray& index, int64_t count) {
  return index.type == IndexType::i64 && index.is_contiguous() && count > 0 && count <= kIndices;
}

}  // namespace

LaneResult gather_in_torch_lane(const LaneCall& call) {
  const dlpack::Torch& torch = dlpack::torch();
  if (call.out != nullptr || call.source != nullptr || !raises(call)) return LaneResult::declined();
  if (!torch.is_tensor(call.input) || !torch.is_tensor(call.index) || !records_only_gradients(torch)) {
    return LaneResult::declined();
  }
  PlainArray input;
  PlainArray index;
  if (!requires_grad(torch, call.input) || !has_no_negative_bit(torch, call.input) ||
      !read_plain(call.index, Role::index, index) || !read_plain(call.input, Role::data, input)) {
    return LaneResult::declined();
  }
  const int64_t count = count_of(index);
  const int64_t elements = count_of(input);
  if (!has_wide_floats(input) || input.rank == 0 || elements == 0 || elements > kElements ||
      !is_small_index(index, count)) {
    return LaneResult::declined();
  }
  if (call.key.planner == Planner::at_points) {
    const bool fits = functions().unbind != nullptr && is_list_of_points(input, index) &&
                      is_in_bounds(index, count, input.extent, index.extent[1]);
    return fits ? answered(gathered_points(call.input, call.index)) : LaneResult::declined();
  }
  if (call.key.axis == CallKey::kNoAxis) {
    const bool is_take = call.key.planner == Planner::take_axis && functions().take != nullptr;
    if (!is_take || !is_in_bounds(index, count, &elements, 1)) return LaneResult::declined();
    PyObject* const arguments[] = {call.input, call.index};
    return answered(PyObject_Vectorcall(functions().take, arguments, 2, nullptr));
  }
  const int axis = axis_of(call.key, input);
  PyObject* const function = axis < 0 ? nullptr : function_for(call.key, input, index, axis);
  if (function == nullptr || !is_in_bounds(index, count, input.extent + axis, 1)) return LaneResult::declined();
  return answered(called(function, call.input, axis, call.index));
}

LaneResult scatter_in_torch_lane(const LaneCall& call) {
  const dlpack::Torch& torch = dlpack::torch();
  if (call.out != nullptr || !raises(call) || !torch.is_tensor(call.input) || !torch.is_tensor(call.index) ||
      !torch.is_tensor(call.source) || !records_only_gradients(torch)) {
    return LaneResult::declined();
  }
  PlainArray target;
  PlainArray index;
  PlainArray source;
  // Narrow floats are declined because torch changes the bytes of their NaNs.
  if (!(requires_grad(torch, call.input) || requires_grad(torch, call.source)) ||
      !has_no_negative_bit(torch, call.input) || !has_no_negative_bit(torch, call.source) ||
      !read_plain(call.index, Role::index, index) || !read_plain(call.input, Role::data, target) ||
      !read_plain(call.source, Role::source, source) || !has_wide_floats(target)) {
    return LaneResult::declined();
  }
  const int64_t count = count_of(index);
  const int axis = call.key.axis == CallKey::kNoAxis ? -1 : axis_of(call.key, target);
  const int64_t elements = count_of(target);
  if (axis < 0 || elements == 0 || elements > kElements || !is_small_index(index, count) || !source.same_type(target) ||
      functions().scatter == nullptr) {
    return LaneResult::declined();
  }
  const bool is_rows = call.key.planner == Planner::take_axis;  // else along an axis
  const int of_points = is_rows ? 0 : axis;                     // the axis of the index
  const bool has_points = is_rows ? index.rank == 1 : same_off_axis(target, index, axis);
  if (call.key.planner == Planner::at_points || !has_points || !same_off_axis(target, source, axis) ||
      source.extent[axis] != index.extent[of_points]) {
    return LaneResult::declined();
  }
  const int64_t extent = target.extent[axis];
  if (!is_in_bounds(index, count, &extent, 1) || has_repeats(index, count, of_points, extent)) {
    return LaneResult::declined();
  }
  const auto given = py::reinterpret_borrow<py::object>(call.index);
  const py::object of_elements = is_rows ? for_elements(given, source, axis) : given;
  return answered(called(functions().scatter, call.input, axis, of_elements.ptr(), call.source));
}

}  // namespace gs
