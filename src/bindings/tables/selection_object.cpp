// selection_object.cpp: converts the arguments of `_core.Selection` to requests and maps, and its results to arrays.
#include <pybind11/numpy.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "arrow/read_format.h"
#include "bindings/arguments/big_integers.h"
#include "bindings/devices/device_operands.h"
#include "bindings/numpy_api.h"
#include "bindings/python_errors.h"
#include "bindings/tables/arrow_table.h"
#include "bindings/tables/table_call.h"
#include "calls/attempt.h"
#include "core/error.h"
#include "table/device/device_take.h"
#include "table/own_memory.h"
#include "table/row_errors.h"
#include "table/row_selection.h"
#include "table/segmented.h"

namespace gs {
namespace {

using table::RowRequest;
using table::RowSelection;

// A selection and the operator that it was made for.
struct NamedSelection {
  RowSelection rows;
  std::string op;
};

// Keeps the memory of a map or mask alive.
struct MapMemory {
  std::unique_ptr<ArrowTable> column;
  Operands operands;  // a map is in `indices`, a mask in `mask`
  Operand valid;
};

std::unique_ptr<ArrowTable> as_column(const std::string& op, const py::handle& object) {
  return std::make_unique<ArrowTable>(object, py::bool_(false), false, op);
}

void require_one_axis(Role role, const Operand& operand) {
  if (operand.view.rank() == 1) return;
  throw table::InvalidArgument(std::string(role == Role::index ? "a map" : "a mask") + " must have one axis, got " +
                               std::to_string(operand.view.rank()));
}

// Adopts and borrows a one-dimensional array of any library, which may be on a GPU.
const Operand& borrow_values(const std::string& op, Role role, const py::handle& object, Operands& operands) {
  if (role == Role::index) operands.indices.resize(1);
  Operand& operand = role == Role::index ? operands.indices[0] : operands.mask;
  const py::str name(op);
  adopt(name, role, object, operand);
  choose_device(operands);
  borrow(role, operand);
  require_one_axis(role, operand);
  return operand;
}

void require_bools(const Operand& mask) {
  if (mask.type.data.code == dlpack::kBool && mask.view.item == 1) return;
  throw table::DataTypeError("a mask must consist of booleans, got " + mask.type.name());
}

table::Nulls nulls_of(const std::string& op, const py::handle& valid, int64_t count, MapMemory& held) {
  table::Nulls nulls;
  if (valid.is_none()) return nulls;
  const py::str name(op);
  adopt(name, Role::mask, valid, held.valid);
  borrow(Role::mask, held.valid);
  require_one_axis(Role::mask, held.valid);
  require_bools(held.valid);
  if (held.valid.view.extent[0] != count) {
    throw table::InvalidArgument("`valid` has " + std::to_string(held.valid.view.extent[0]) + " rows for " +
                                 std::to_string(count) + " values");
  }
  nulls.bytes = held.valid.view.data;
  nulls.stride = held.valid.view.stride[0];
  return nulls;
}

// A view of a map (`Role::index`) or a mask (`Role::mask`): an Arrow column or an array of any library, which `held`
// keeps alive. `valid` is None or a mask of the values of an array that are not null.
table::RowMap borrow_map(const std::string& op, Role role, const py::handle& object, const py::handle& valid,
                         MapMemory& held) {
  if (!PyArray_CheckExact(object.ptr()) && has_arrow_interface(object)) {
    held.column = as_column(op, object);
    return role == Role::index ? table::map_of(held.column->frame()) : table::mask_of(held.column->frame());
  }
  try {
    borrow_values(op, role, object, held.operands);
  } catch (const DTypeError& error) {
    if (role == Role::index) throw table::IndexTypeError(error.what());
    throw table::DataTypeError(error.what());
  }
  table::RowMap map;
  if (held.operands.device_call != nullptr) {
    map.device = held.operands.device_call->device();
    map.stream = held.operands.device_call->stream();
  }
  if (role == Role::index) {
    const IndexView& view = held.operands.indices[0].view;
    const int64_t count = view.extent[0];
    map.map.push_back({view.data, view.stride[0], view.type, count, nulls_of(op, valid, count, held)});
  } else {
    require_bools(held.operands.mask);
    const IndexView& view = held.operands.mask.view;
    const int64_t count = view.extent[0];
    map.mask.push_back({view.data, false, 0, view.stride[0], count, nulls_of(op, valid, count, held)});
  }
  return map;
}

constexpr int64_t kMostRows = int64_t{1} << 48;

table::ChunkLengths to_lengths(const py::tuple& tuple) {
  table::ChunkLengths lengths;
  int64_t total = 0;
  for (const py::handle value : tuple) {
    if (!PyLong_Check(value.ptr())) throw py::type_error("lengths of chunks must be integers");
    lengths.push_back(value.cast<int64_t>());
    if (lengths.back() < 0 || lengths.back() > kMostRows || (total += lengths.back()) > kMostRows) {
      throw py::value_error("lengths of chunks must not be negative, and their sum must be at most 2**48");
    }
  }
  return lengths;
}

// Reads a map or mask once and resolves it for tables on `device`.
NamedSelection select(const std::string& op, Role role, const py::handle& object, const py::handle& valid, int device,
                      const RowRequest& request) {
  MapMemory held;
  table::RowMap map;
  try {
    map = borrow_map(op, role, object, valid, held);
  } catch (...) {
    raise_table_error(op);
  }
  const int64_t rows = request.kind == table::SelectionKind::gather ? 0 : table::row_count(request.first);
  try {
    return {with_sharing(
                op, std::max(rows, map.count()) < table::kFewRows,
                [&](const table::Sharing& sharing) { return RowSelection(sharing, request, map, device); },
                Stage::read_map),
            op};
  } catch (py::error_already_set& error) {
    raise_with_written_value(error, held.operands.indices.size() > 0 ? held.operands.indices[0].wide : py::object());
  }
}

// Parses `bounds` of a gather; of a scatter, `drop` takes the place of `nullify`.
Bounds parse_row_bounds(const std::string& op, const std::string& bounds, bool writes = false) {
  const char* const fill = writes ? "drop" : "nullify";
  if (bounds == "raise") return Bounds::raise;
  if (bounds == fill) return Bounds::fill;
  if (bounds == "unchecked") return Bounds::unchecked;
  throw py::value_error(op + ": bounds must be 'raise', '" + fill + "' or 'unchecked', got '" + bounds + "'");
}

Negative parse_negative(const std::string& op, const std::string& negative) {
  if (negative == "from_end") return Negative::from_end;
  if (negative == "out_of_bounds") return Negative::out_of_bounds;
  throw py::value_error(op + ": negative must be 'from_end' or 'out_of_bounds', got '" + negative + "'");
}

NamedSelection gather(const std::string& op, const py::object& map, const py::object& valid, const py::tuple& lengths,
                      const std::string& bounds, const std::string& negative, int device) {
  const Bounds rule = parse_row_bounds(op, bounds);
  const Negative sign = parse_negative(op, negative);
  return select(op, Role::index, map, valid, device, RowRequest::gather(to_lengths(lengths), rule, sign));
}

NamedSelection scatter(const std::string& op, const py::object& map, const py::object& valid, const py::tuple& target,
                       const py::tuple& source, bool one_row, const std::string& bounds, const std::string& negative,
                       int device, bool whole) {
  const Bounds rule = parse_row_bounds(op, bounds, true);
  const Negative sign = parse_negative(op, negative);
  RowRequest request = RowRequest::scatter(to_lengths(target), to_lengths(source), one_row, rule, sign);
  request.whole = whole;
  return select(op, Role::index, map, valid, device, request);
}

table::Named parse_named(const std::string& op, const std::string& named) {
  if (named == "true") return table::Named::true_rows;
  if (named == "other") return table::Named::other_rows;
  if (named == "false") return table::Named::false_rows;
  throw py::value_error(op + ": named must be 'true', 'other' or 'false', got '" + named + "'");
}

NamedSelection mask_scatter(const std::string& op, const py::object& mask, const py::object& valid,
                            const py::tuple& target, const py::tuple& source, bool one_row, int device,
                            const std::string& named) {
  return select(op, Role::mask, mask, valid, device,
                RowRequest::mask_scatter(to_lengths(target), to_lengths(source), one_row, parse_named(op, named)));
}

NamedSelection filter(const std::string& op, const py::object& mask, const py::object& valid, const py::tuple& lengths,
                      int device, const std::string& named) {
  return select(op, Role::mask, mask, valid, device, RowRequest::filter(to_lengths(lengths), parse_named(op, named)));
}

NamedSelection choose(const std::string& op, const py::object& mask, const py::object& valid,
                      const py::tuple& when_true, const py::tuple& when_false, int device) {
  return select(op, Role::mask, mask, valid, device, RowRequest::choose(to_lengths(when_true), to_lengths(when_false)));
}

// One contiguous NumPy array for each chunk, all of one dtype.
struct Columns {
  std::vector<py::object> held;
  std::vector<const std::byte*> data;
  int64_t width = 0;
};

Columns to_columns(const RowSelection& self, const py::sequence& sequence) {
  const py::tuple arrays(sequence);  // a tuple, because the length of a list may change
  Columns columns;
  if (arrays.size() == 0 || arrays.size() != self.lengths().size()) {
    throw py::value_error("the selection was made for " + std::to_string(self.lengths().size()) + " arrays, got " +
                          std::to_string(arrays.size()));
  }
  PyArray_Descr* dtype = nullptr;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const py::object array = arrays[i];
    if (!PyArray_Check(array.ptr())) throw py::type_error("expected NumPy arrays");
    auto* const given = reinterpret_cast<PyArrayObject*>(array.ptr());
    if (PyDataType_REFCHK(PyArray_DESCR(given)))
      throw py::type_error("expected a dtype without references to Python objects");
    if (dtype == nullptr) dtype = PyArray_DESCR(given);
    if (!PyArray_EquivTypes(dtype, PyArray_DESCR(given))) throw py::type_error("expected arrays of one dtype");
    if (PyArray_NDIM(given) != 1 || PyArray_DIM(given, 0) != self.lengths()[i]) {
      throw py::value_error("array " + std::to_string(i) + " does not have the " + std::to_string(self.lengths()[i]) +
                            " rows that the selection was made for");
    }
    auto contiguous = py::reinterpret_steal<py::object>(PyArray_FROM_OF(array.ptr(), NPY_ARRAY_C_CONTIGUOUS));
    if (!contiguous) throw py::error_already_set();
    columns.data.push_back(
        static_cast<const std::byte*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(contiguous.ptr()))));
    columns.held.push_back(std::move(contiguous));
  }
  columns.width = static_cast<int64_t>(PyDataType_ELSIZE(dtype));
  return columns;
}

// A NumPy array on the memory of a buffer, which it keeps alive.
py::object to_ndarray(const arrow::Buffer& buffer, int64_t count, PyArray_Descr* dtype) {
  if (buffer.owner == nullptr) {  // an empty buffer points to constant memory, which the array must not make writable
    npy_intp extent = static_cast<npy_intp>(count);
    Py_INCREF(dtype);
    auto empty = py::reinterpret_steal<py::object>(PyArray_Zeros(1, &extent, dtype, 0));
    if (!empty) throw py::error_already_set();
    return empty;
  }
  auto owner = std::make_unique<arrow::Buffer>(buffer);
  const py::capsule keeper(owner.get(), [](void* held) { delete static_cast<arrow::Buffer*>(held); });
  owner.release();
  npy_intp extent = static_cast<npy_intp>(count);
  Py_INCREF(dtype);  // PyArray_NewFromDescr steals the reference
  auto array = py::reinterpret_steal<py::object>(PyArray_NewFromDescr(
      &PyArray_Type, dtype, 1, &extent, nullptr, const_cast<std::byte*>(buffer.data), NPY_ARRAY_DEFAULT, nullptr));
  if (!array) throw py::error_already_set();
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.ptr()), keeper.inc_ref().ptr()) < 0) {
    throw py::error_already_set();
  }
  return array;
}

py::object to_int64_array(const arrow::Buffer& buffer, int64_t count) {
  const auto dtype = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_INT64)));
  return to_ndarray(buffer, count, reinterpret_cast<PyArray_Descr*>(dtype.ptr()));
}

py::object positions(const NamedSelection& self) {
  const int64_t count = self.rows.count();
  const table::NewBuffer numbers = table::allocate(table::bytes_of_values(count, 8));
  with_sharing(self.op, count < table::kFewRows, [&](const table::Sharing& sharing) {
    self.rows.positions(sharing, reinterpret_cast<int64_t*>(numbers.data));
    return true;
  });
  return to_int64_array(numbers.buffer, count);
}

py::tuple replaced(const NamedSelection& self, int64_t size) {
  std::vector<int64_t> to;
  std::vector<int64_t> from;
  with_sharing(self.op, self.rows.count() < table::kFewRows, [&](const table::Sharing& sharing) {
    self.rows.replaced(sharing, size, to, from);
    return true;
  });
  const auto array_of = [](const std::vector<int64_t>& rows) {
    const auto count = static_cast<int64_t>(rows.size());
    const table::NewBuffer numbers = table::allocate(table::bytes_of_values(count, 8));
    if (count > 0) std::memcpy(numbers.data, rows.data(), rows.size() * 8);
    return to_int64_array(numbers.buffer, count);
  };
  return py::make_tuple(array_of(to), array_of(from));
}

py::object take(const NamedSelection& self, const py::sequence& arrays) {
  const Columns columns = to_columns(self.rows, arrays);
  const int64_t count = self.rows.count();
  const bool keep_lock = count < kKeepLockBytes / std::max<int64_t>(columns.width, 1);
  const arrow::Buffer buffer = with_sharing(self.op, keep_lock, [&](const table::Sharing& sharing) {
    return self.rows.take_items(sharing, columns.data, columns.width);
  });
  return to_ndarray(buffer, count, PyArray_DESCR(reinterpret_cast<PyArrayObject*>(columns.held[0].ptr())));
}

ArrowTable take_rows(const ArrowTable& self, const NamedSelection& selection, const ArrowTable* other, bool nullable) {
  const table::Frame* const second = other == nullptr ? nullptr : &other->frame();
  const bool keep_lock = is_short(selection.rows.count(), self, other);
  return ArrowTable(with_sharing(
      selection.op, keep_lock,
      [&](const table::Sharing& sharing) { return selection.rows.take(sharing, self.frame(), second, nullable); },
      Stage::move_rows));
}

ArrowTable with_own_memory(const ArrowTable& self, const std::string& op) {
  self.require_host();
  return ArrowTable(with_sharing(op, is_short(self.rows(), self, nullptr), [&](const table::Sharing& sharing) {
    return table::with_own_memory(sharing, self.frame());
  }));
}

// A column of lists: list r has the items from offsets[r] to offsets[r + 1] of `values`. Both are new arrays of the
// caller's, in C order and native bytes, which the column keeps alive.
ArrowTable lists_of(py::array values, py::array offsets) {
  const auto is_plain = [](const py::array& array) {
    const char kind = array.dtype().kind();
    return array.ndim() == 1 && (kind == 'i' || kind == 'u') && (array.flags() & py::array::c_style) != 0 &&
           array.dtype().byteorder() != '>';
  };
  if (!is_plain(values) || !is_plain(offsets) || offsets.itemsize() != 8 || offsets.size() == 0) {
    throw py::type_error("lists_of: expected two plain arrays of integers, the second of int64");
  }
  constexpr const char* kFormats[] = {"c", "s", "i", "l", "C", "S", "I", "L"};
  const auto width = static_cast<int>(std::countr_zero(static_cast<uint64_t>(values.itemsize())));
  const int letter = width + (values.dtype().kind() == 'u' ? 4 : 0);
  const auto buffer_of = [](py::array array) {
    const auto* const data = static_cast<const std::byte*>(array.data());
    const auto drop = [](PyObject* held) {
      const py::gil_scoped_acquire lock;
      Py_DECREF(held);
    };
    return arrow::Buffer{std::shared_ptr<PyObject>(array.release().ptr(), drop), data};
  };
  arrow::Type type;
  arrow::read_format("+L", type, {});
  arrow::read_format(kFormats[letter], type.children.emplace_back(), {});
  arrow::Array lists;
  lists.length = offsets.size() - 1;
  arrow::Array& items = lists.children.emplace_back();
  items.length = lists.reach = values.size();
  lists.first = buffer_of(std::move(offsets));
  items.first = buffer_of(std::move(values));
  table::Frame frame;
  frame.data = {std::make_shared<const arrow::Type>(std::move(type)), {std::move(lists)}};
  return ArrowTable(std::move(frame));
}

ArrowTable segmented_gather(const std::string& op, const ArrowTable& lists, const ArrowTable& maps,
                            const std::string& bounds) {
  const Bounds rule = parse_row_bounds(op, bounds);
  lists.require_host();
  maps.require_host();
  return ArrowTable(with_sharing(op, is_short(lists.rows(), lists, &maps), [&](const table::Sharing& sharing) {
    return table::segmented_gather(sharing, lists.frame(), maps.frame(), rule);
  }));
}

}  // namespace

void bind_selection(py::module_& module) {
  py::class_<NamedSelection>(module, "Selection")
      .def_static("gather", &gather, py::arg("op"), py::arg("gather_map"), py::arg("valid"), py::arg("lengths"),
                  py::arg("bounds"), py::arg("negative"), py::arg("device"))
      .def_static("scatter", &scatter, py::arg("op"), py::arg("scatter_map"), py::arg("valid"), py::arg("target"),
                  py::arg("source"), py::arg("one_row"), py::arg("bounds"), py::arg("negative"), py::arg("device"),
                  py::arg("whole") = false)
      .def_static("mask_scatter", &mask_scatter, py::arg("op"), py::arg("mask"), py::arg("valid"), py::arg("target"),
                  py::arg("source"), py::arg("one_row"), py::arg("device"), py::arg("named") = "true")
      .def_static("filter", &filter, py::arg("op"), py::arg("mask"), py::arg("valid"), py::arg("lengths"),
                  py::arg("device"), py::arg("named") = "true")
      .def_static("choose", &choose, py::arg("op"), py::arg("mask"), py::arg("valid"), py::arg("when_true"),
                  py::arg("when_false"), py::arg("device"))
      .def_property_readonly("count", [](const NamedSelection& self) { return self.rows.count(); })
      .def_property_readonly("missing", [](const NamedSelection& self) { return self.rows.missing(); })
      .def("positions", &positions)
      .def("replaced", &replaced, py::arg("size"))
      .def("take", &take, py::arg("arrays"));
  forbid_new(module.attr("Selection"));
  py::class_<ArrowTable> table(module.attr("ArrowTable"));
  table.def("take", &take_rows, py::arg("selection"), py::arg("other") = py::none(), py::arg("nullable") = false);
  table.def("with_own_memory", &with_own_memory, py::arg("op"));
  module.def("lists_of", &lists_of, py::arg("values"), py::arg("offsets"));
  module.def("segmented_gather", &segmented_gather, py::arg("op"), py::arg("lists"), py::arg("maps"),
             py::arg("bounds"));
  module.def("kernel_takes", &table::kernel_takes);
}

}  // namespace gs
