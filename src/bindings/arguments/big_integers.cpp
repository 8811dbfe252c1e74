// big_integers.cpp: resolves list indices beyond int64 and restores their written values in errors.
#include "bindings/arguments/big_integers.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "bindings/arguments/arguments.h"
#include "bindings/arguments/keywords.h"
#include "bindings/python_calls.h"
#include "core/error.h"

namespace gs {
namespace {

bool is_beyond_int64(PyObject* value) {
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow != 0;
}

PyObject* value_at(const Operand& operand, int64_t flat) {
  return PyList_GET_ITEM(operand.wide.ptr(), static_cast<Py_ssize_t>(flat));
}

// Writes `value` modulo `extent` to `target`. `value` is exactly an int, whose arithmetic runs no Python code; such
// code must not run here, because the operands are borrowed already.
void wrap_one(PyObject* value, int64_t extent, std::byte* target) {
  const py::int_ divisor(extent);
  const py::object rest = python::answer([&] { return PyNumber_Remainder(value, divisor.ptr()); });
  const int64_t position = PyLong_AsLongLong(rest.ptr());
  std::memcpy(target, &position, sizeof position);
}

// Returns the operand that holds index array `a` of a plan. Coordinates are in one operand for all index arrays.
template <class AnyOperands>
auto& operand_of(const Request& request, AnyOperands& operands, int a) {
  return operands.indices[request.coordinates ? 0 : static_cast<std::size_t>(a)];
}

py::object one_as_planned(py::handle op, py::handle index, IndexType type) {
  PyObject* const raw = index.ptr();
  const bool is_written = PyList_CheckExact(raw) || PyTuple_CheckExact(raw) || PyLong_CheckExact(raw);
  if (!is_written) return py::reinterpret_borrow<py::object>(index);
  const std::string dtype = (index_is_signed(type) ? "i" : "u") + std::to_string(index_size(type));
  const py::object convert = python_part("gatherscatter._libraries.of_python", "as_plan_index");
  return python::call(convert, op, index, py::str(dtype));
}

}  // namespace

py::object as_planned(const OperatorRequest& request, py::handle indices, const std::vector<IndexType>& types) {
  const bool takes_tuple = request.planner == Planner::at_points && !request.coordinates;
  if (takes_tuple && !PyTuple_Check(indices.ptr())) {
    throw DTypeError("the plan was made for a tuple of index arrays; pass a tuple");
  }
  if (types.empty()) return py::reinterpret_borrow<py::object>(indices);
  if (!takes_tuple) return one_as_planned(request.op, indices, types[0]);
  py::list all;
  for (const py::handle index : py::reinterpret_borrow<py::tuple>(indices)) {
    all.append(one_as_planned(request.op, index, types[std::min(all.size(), types.size() - 1)]));
  }
  return py::tuple(all);
}

bool has_wide(const Operands& operands) {
  return std::any_of(operands.indices.begin(), operands.indices.end(),
                     [](const Operand& index) { return static_cast<bool>(index.wide); });
}

void resolve_wide(Request& request, Operands& operands) {
  if (!has_wide(operands)) return;
  if (request.rule.bounds == Bounds::unchecked) {
    const py::object text = python_part("gatherscatter._libraries.of_python", "unchecked_text");
    throw DTypeError(python::call(text, py::str("the index")).cast<std::string>());
  }
  if (request.rule.bounds == Bounds::deferred) request.rule.bounds = Bounds::raise;
  if (request.rule.bounds != Bounds::wrap) return;
  const Plan plan = plan_for(request, operands);
  for (int a = 0; a < plan.index.size(); ++a) {
    const Operand& operand = operand_of(request, operands, a);
    const int64_t extent = plan.index[a].extent;
    if (!operand.wide || extent == 0) continue;
    const int64_t step = request.coordinates ? plan.index.size() : 1;
    for (int64_t flat = request.coordinates ? a : 0; flat < PyList_GET_SIZE(operand.wide.ptr()); flat += step) {
      PyObject* value = value_at(operand, flat);
      if (is_beyond_int64(value)) wrap_one(value, extent, operand.view.data + flat * operand.view.item);
    }
  }
}

py::object value_as_written(const OperatorRequest& request, const Operands& operands, const Plan& plan,
                            const BadIndex& bad) {
  int a = 0;
  while (a + 1 < plan.index.size() && plan.index[a].axis != bad.axis) ++a;
  const Operand& operand = operand_of(request, operands, a);
  if (!operand.wide) return {};
  Dims at = unravel(bad.flat, plan.index_shape);
  if (request.coordinates) at.push_back(a);
  const Dims& extent = operand.view.extent;
  const int lead = at.size() - extent.size();  // leading axes added by broadcasting
  int64_t flat = 0;
  for (int axis = 0; axis < extent.size(); ++axis) {
    flat = flat * extent[axis] + (extent[axis] == 1 ? 0 : at[lead + axis]);
  }
  return py::reinterpret_borrow<py::object>(value_at(operand, flat));
}

void raise_with_written_value(py::error_already_set& error, const py::object& values) {
  const py::object type = python_part("gatherscatter.errors", "OutOfBoundsError");
  if (!values || !error.matches(type)) throw error;
  const py::object complete = python_part("gatherscatter._libraries.of_python", "with_full_index");
  const py::object full = python::call(complete, error.value(), values);
  PyErr_SetObject(type.ptr(), full.ptr());
  throw py::error_already_set();
}

}  // namespace gs
