// row_selection.cpp: resolves maps and masks of any library to selections, and takes rows by them.
#include "bindings/arrow_table.h"
#include "bindings/big_integers.h"
#include "bindings/device_operands.h"
#include "bindings/numpy_api.h"
#include "bindings/python_errors.h"
#include "calls/attempt.h"
#include "core/error.h"
#include "table/device/device_take.h"
#include "table/selection.h"
#include "table/take.h"

namespace gs {
namespace {

using table::DeviceContext;
using table::DeviceSelection;
using table::Selection;

// A selection and the operator that it was made for. `host` is used by the CPU, `device` by kernels; at least one is
// set.
struct NamedSelection {
  std::optional<Selection> host;
  std::optional<DeviceSelection> device;
  std::string op;

  int64_t count() const { return host ? host->count() : device->count(); }
  int64_t missing() const { return host ? host->missing() : device->missing(); }
  int device_number() const { return device ? device->device() : table::kHost; }
};

// Whether kernels make the selection: for tables on a GPU, and for all tables if the backend has a machine for host
// memory.
bool is_for_kernels(const table::Sharing& sharing, int device) {
  return device != table::kHost || sharing.backend.new_machine() != nullptr;
}

// Returns the selection for the CPU. If only kernels have made one, its row numbers are copied to the host.
const Selection& host_selection(NamedSelection& named) {
  if (named.host) return *named.host;
  named.host = with_sharing(named.op, false, [&](const table::Sharing& sharing) {
    const DeviceContext worker(sharing, named.device->device());
    return Selection::of_numbers(sharing, named.device->numbers(worker), named.device->lengths());
  });
  return *named.host;
}

// Keeps the memory of a map or mask alive.
struct MapMemory {
  std::unique_ptr<ArrowTable> arrow;
  Operands operands;  // a map is in `indices`, a mask in `mask`
  Operand valid;

  int device() const {
    if (arrow != nullptr) return arrow->frame().device;
    return operands.device_call != nullptr ? operands.device_call->device() : table::kHost;
  }
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

table::Nulls nulls_of(const table::Array& array) {
  table::Nulls nulls;
  nulls.bits = array.validity.data;
  nulls.offset = array.offset;
  return nulls;
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

std::vector<table::MapPart> map_parts(const std::string& op, const py::handle& map, const py::handle& valid,
                                      MapMemory& held) {
  std::vector<table::MapPart> parts;
  if (!PyArray_CheckExact(map.ptr()) && has_arrow_interface(map)) {
    held.arrow = as_column(op, map);
    const table::Chunked& column = held.arrow->frame().data;
    const table::Type& type = *column.type;
    table::require_row_numbers(type, type);
    for (const table::Array& chunk : column.chunks) {
      parts.push_back(
          {chunk.first.data + chunk.offset * type.width, type.width, type.integer, chunk.length, nulls_of(chunk)});
    }
    return parts;
  }
  try {
    borrow_values(op, Role::index, map, held.operands);
  } catch (const DTypeError& error) {
    throw table::IndexTypeError(error.what());
  }
  const IndexView& view = held.operands.indices[0].view;
  parts.push_back({view.data, view.stride[0], view.type, view.extent[0], nulls_of(op, valid, view.extent[0], held)});
  return parts;
}

std::vector<table::MaskPart> mask_parts(const std::string& op, const py::handle& mask, const py::handle& valid,
                                        MapMemory& held) {
  std::vector<table::MaskPart> parts;
  if (!PyArray_CheckExact(mask.ptr()) && has_arrow_interface(mask)) {
    held.arrow = as_column(op, mask);
    const table::Chunked& column = held.arrow->frame().data;
    if (column.type->layout != table::Layout::bits) {
      throw table::DataTypeError("a mask must consist of booleans, got " + table::type_name(*column.type));
    }
    for (const table::Array& chunk : column.chunks) {
      parts.push_back({chunk.first.data, true, chunk.offset, 1, chunk.length, nulls_of(chunk)});
    }
    return parts;
  }
  try {
    borrow_values(op, Role::mask, mask, held.operands);
  } catch (const DTypeError& error) {
    throw table::DataTypeError(error.what());
  }
  require_bools(held.operands.mask);
  const IndexView& view = held.operands.mask.view;
  parts.push_back({view.data, false, 0, view.stride[0], view.extent[0], nulls_of(op, valid, view.extent[0], held)});
  return parts;
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

int64_t rows_of(const table::ChunkLengths& lengths) {
  int64_t rows = 0;
  for (const int64_t length : lengths) rows += length;
  return rows;
}

template <class Parts>
int64_t count_of(const Parts& parts) {
  int64_t count = 0;
  for (const auto& part : parts) count = checked_add(count, part.count);
  return count;
}

std::string place_name(int device) {
  return device == table::kHost ? "in host memory" : "on GPU " + std::to_string(device);
}

// Reads a map or mask with `read`, then makes the selection: make<Selection>(sharing, parts), or if kernels make it
// make<DeviceSelection>(worker, parts, on_host), with `on_host` for a map or mask in host memory.
template <class Read, class Make>
NamedSelection select(const std::string& op, const py::handle& given, const py::handle& valid, int64_t rows, int device,
                      const Read& read, const Make& make) {
  MapMemory held;
  decltype(read(op, given, valid, held)) parts;
  try {
    parts = read(op, given, valid, held);
    if (held.device() != table::kHost && held.device() != device) {
      throw table::InvalidArgument("the map or mask lies " + place_name(held.device()) + ", the table " +
                                   place_name(device));
    }
  } catch (...) {
    raise_table_error(op);
  }
  NamedSelection named;
  named.op = op;
  const auto select_rows = [&](const table::Sharing& sharing) {
    if (is_for_kernels(sharing, device)) {
      const DeviceContext worker(sharing, device);
      const auto& call = held.operands.device_call;
      if (call != nullptr) worker.machine().wait_for(call->stream());
      named.device.emplace(make.template operator()<DeviceSelection>(worker, parts, held.device() == table::kHost));
      if (call != nullptr) worker.machine().go_before(call->stream());
    } else {
      named.host.emplace(make.template operator()<Selection>(sharing, parts));
    }
    return true;
  };
  try {
    with_sharing(op, std::max(rows, count_of(parts)) < table::kFewRows, select_rows);
  } catch (py::error_already_set& error) {
    raise_with_written_value(error, held.operands.indices.size() > 0 ? held.operands.indices[0].wide : py::object());
  }
  return named;
}

Negative parse_negative(const std::string& op, const std::string& negative) {
  if (negative == "from_end") return Negative::from_end;
  if (negative == "out_of_bounds") return Negative::out_of_bounds;
  throw py::value_error(op + ": negative must be 'from_end' or 'out_of_bounds', got '" + negative + "'");
}

NamedSelection gather(const std::string& op, const py::object& map, const py::object& valid, const py::tuple& lengths,
                      const std::string& bounds, const std::string& negative, int device) {
  const table::RowBounds rule = parse_row_bounds(op, bounds);
  const Negative sign = parse_negative(op, negative);
  const table::ChunkLengths rows = to_lengths(lengths);
  return select(op, map, valid, 0, device, map_parts,
                [&]<class Made>(const auto&... what) { return Made::gather(what..., rows, rule, sign); });
}

NamedSelection scatter(const std::string& op, const py::object& map, const py::object& valid, const py::tuple& target,
                       const py::tuple& source, bool one_row, int device) {
  const table::ChunkLengths to = to_lengths(target);
  const table::ChunkLengths from = to_lengths(source);
  if (one_row && rows_of(from) != 1) throw py::value_error("`one_row` needs a source of one row");
  return select(op, map, valid, rows_of(to), device, map_parts,
                [&]<class Made>(const auto&... what) { return Made::scatter(what..., to, from, one_row); });
}

NamedSelection mask_scatter(const std::string& op, const py::object& mask, const py::object& valid,
                            const py::tuple& target, const py::tuple& source, bool one_row, int device) {
  const table::ChunkLengths to = to_lengths(target);
  const table::ChunkLengths from = to_lengths(source);
  if (one_row && rows_of(from) != 1) throw py::value_error("`one_row` needs a source of one row");
  return select(op, mask, valid, rows_of(to), device, mask_parts,
                [&]<class Made>(const auto&... what) { return Made::mask_scatter(what..., to, from, one_row); });
}

NamedSelection filter(const std::string& op, const py::object& mask, const py::object& valid, const py::tuple& lengths,
                      int device) {
  const table::ChunkLengths rows = to_lengths(lengths);
  return select(op, mask, valid, rows_of(rows), device, mask_parts,
                [&]<class Made>(const auto&... what) { return Made::filter(what..., rows); });
}

NamedSelection choose(const std::string& op, const py::object& mask, const py::object& valid,
                      const py::tuple& when_true, const py::tuple& when_false, int device) {
  const table::ChunkLengths first = to_lengths(when_true);
  const table::ChunkLengths second = to_lengths(when_false);
  return select(op, mask, valid, rows_of(first), device, mask_parts,
                [&]<class Made>(const auto&... what) { return Made::choose(what..., first, second); });
}

// One contiguous NumPy array for each chunk, all of one dtype.
struct Columns {
  std::vector<py::object> held;
  std::vector<const std::byte*> data;
  int64_t width = 0;
};

Columns to_columns(const Selection& self, const py::sequence& sequence) {
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
py::object to_ndarray(const table::Buffer& buffer, int64_t count, PyArray_Descr* dtype) {
  if (buffer.owner == nullptr) {  // an empty buffer points to constant memory, which the array must not make writable
    npy_intp extent = static_cast<npy_intp>(count);
    Py_INCREF(dtype);
    auto empty = py::reinterpret_steal<py::object>(PyArray_Zeros(1, &extent, dtype, 0));
    if (!empty) throw py::error_already_set();
    return empty;
  }
  auto owner = std::make_unique<table::Buffer>(buffer);
  const py::capsule keeper(owner.get(), [](void* held) { delete static_cast<table::Buffer*>(held); });
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

py::object positions(NamedSelection& named) {
  const Selection& self = host_selection(named);
  const table::NewBuffer numbers = table::allocate(table::bytes_of_values(self.count(), 8));
  with_sharing(named.op, self.count() < table::kFewRows, [&](const table::Sharing& sharing) {
    self.positions(sharing, reinterpret_cast<int64_t*>(numbers.data));
    return true;
  });
  const auto dtype = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_INT64)));
  return to_ndarray(numbers.buffer, self.count(), reinterpret_cast<PyArray_Descr*>(dtype.ptr()));
}

py::object take(NamedSelection& named, const py::sequence& arrays) {
  const Selection& self = host_selection(named);
  const Columns columns = to_columns(self, arrays);
  std::vector<table::Array> chunks(columns.data.size());
  std::vector<const table::Array*> pointers;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].length = self.lengths()[i];
    pointers.push_back(&chunks[i]);
  }
  const bool keep_lock = self.count() < kKeepLockBytes / std::max<int64_t>(columns.width, 1);
  const table::Buffer buffer = with_sharing(named.op, keep_lock, [&](const table::Sharing& sharing) {
    return table::RowTaker(sharing).items_or_zeros(self.bases(columns.data, columns.width), self.pieces(pointers),
                                                   columns.width, self.picks());
  });
  return to_ndarray(buffer, self.count(), PyArray_DESCR(reinterpret_cast<PyArrayObject*>(columns.held[0].ptr())));
}

// Whether kernels take the rows. Throws if the tables are on different devices, if the selection was made for another
// device, or if the tables are on a GPU and kernels do not support a column: the host does not read memory of a GPU.
bool is_for_kernels(const NamedSelection& named, const ArrowTable& self, const ArrowTable* other) {
  const table::Frame& first = self.frame();
  const table::Frame* const second = other == nullptr ? nullptr : &other->frame();
  if (second != nullptr && second->device != first.device) {
    throw table::InvalidArgument("one table lies " + place_name(first.device) + ", the other " +
                                 place_name(second->device));
  }
  if (named.device_number() != first.device) {
    throw table::InvalidArgument("the selection was made for a table " + place_name(named.device_number()) +
                                 ", this one lies " + place_name(first.device));
  }
  if (!named.device) return false;
  std::string what;
  const auto chunks = table::chunks_of(named.device->lengths(), first, second);
  if (table::is_picked_by_kernels(*first.data.type, chunks, &what)) return true;
  if (first.device == table::kHost) return false;
  throw table::DataTypeError("a column of " + what + " on a GPU is not supported; copy the table to host memory");
}

ArrowTable take_rows(const ArrowTable& self, NamedSelection& named, const ArrowTable* other, bool nullable) {
  const table::Frame* const second = other == nullptr ? nullptr : &other->frame();
  const bool keep_lock = is_short(named.count(), self, other);
  bool for_kernels = false;
  try {
    for_kernels = is_for_kernels(named, self, other);
  } catch (...) {
    raise_table_error(named.op);
  }
  if (for_kernels) {
    return ArrowTable(with_sharing(named.op, keep_lock, [&](const table::Sharing& sharing) {
      return table::take_rows(DeviceContext(sharing, named.device->device()), *named.device, self.frame(), second,
                              nullable);
    }));
  }
  const Selection& selection = host_selection(named);
  return ArrowTable(with_sharing(named.op, keep_lock, [&](const table::Sharing& sharing) {
    return table::take_rows(sharing, selection, self.frame(), second, nullable);
  }));
}

}  // namespace

table::RowBounds parse_row_bounds(const std::string& op, const std::string& bounds) {
  if (bounds == "raise") return table::RowBounds::raise;
  if (bounds == "nullify") return table::RowBounds::nullify;
  if (bounds == "unchecked") return table::RowBounds::unchecked;
  throw py::value_error(op + ": bounds must be 'raise', 'nullify' or 'unchecked', got '" + bounds + "'");
}

void bind_selection(py::module_& module) {
  py::class_<NamedSelection>(module, "Selection")
      .def_static("gather", &gather, py::arg("op"), py::arg("gather_map"), py::arg("valid"), py::arg("lengths"),
                  py::arg("bounds"), py::arg("negative"), py::arg("device"))
      .def_static("scatter", &scatter, py::arg("op"), py::arg("scatter_map"), py::arg("valid"), py::arg("target"),
                  py::arg("source"), py::arg("one_row"), py::arg("device"))
      .def_static("mask_scatter", &mask_scatter, py::arg("op"), py::arg("mask"), py::arg("valid"), py::arg("target"),
                  py::arg("source"), py::arg("one_row"), py::arg("device"))
      .def_static("filter", &filter, py::arg("op"), py::arg("mask"), py::arg("valid"), py::arg("lengths"),
                  py::arg("device"))
      .def_static("choose", &choose, py::arg("op"), py::arg("mask"), py::arg("valid"), py::arg("when_true"),
                  py::arg("when_false"), py::arg("device"))
      .def_property_readonly("count", &NamedSelection::count)
      .def_property_readonly("missing", &NamedSelection::missing)
      .def("positions", &positions)
      .def("take", &take, py::arg("arrays"));
  forbid_new(module.attr("Selection"));
  py::class_<ArrowTable> table(module.attr("ArrowTable"));
  table.def("take", &take_rows, py::arg("selection"), py::arg("other") = py::none(), py::arg("nullable") = false);
  module.def("kernel_takes", &table::kernel_takes);
}

}  // namespace gs
