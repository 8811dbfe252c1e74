// arrow_table.cpp: imports and exports Arrow tables and columns through PyCapsules, as `_core.ArrowTable`.
// https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
#include "bindings/tables/arrow_table.h"

#include <algorithm>

#include "arrow/exchange.h"
#include "bindings/python_calls.h"
#include "bindings/python_errors.h"
#include "bindings/tables/arrow_capsules.h"
#include "bindings/tables/table_call.h"
#include "core/error.h"
#include "table/device/upload.h"
#include "table/take.h"

namespace gs {
namespace {

// pybind11's `__new__` allocates an object without a C++ value, and methods called before `__init__` would use that
// missing value. So `__new__` is replaced by a function that constructs the whole object, and `__init__` does nothing.
void make_in_new(py::class_<ArrowTable>& cls) {
  static const py::object& make =
      *new py::object(py::cpp_function([](const py::object& source, const py::object& is_table, bool full,
                                          const std::string& op) { return ArrowTable(source, is_table, full, op); },
                                       py::name("ArrowTable"), py::arg("source"), py::arg("table") = py::none(),
                                       py::arg("full") = false, py::arg("op") = "table"));
  auto* const type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  type->tp_new = [](PyTypeObject*, PyObject* arguments, PyObject* words) {
    return PyObject_Call(make.ptr(), arguments, words);
  };
  type->tp_init = [](PyObject*, PyObject*, PyObject*) { return 0; };
  PyType_Modified(type);
}

std::vector<std::size_t> numbers_in(const py::sequence& columns) {
  std::vector<std::size_t> numbers;
  for (const py::handle column : columns) numbers.push_back(column.cast<std::size_t>());
  return numbers;
}

// A copy of a host table on a GPU; the table itself if it is on that device already.
ArrowTable to_device(const ArrowTable& table, const std::string& op, int device) {
  if (table.frame().device == device) return ArrowTable(table);
  return ArrowTable(with_sharing(op, false, [&](const table::Sharing& sharing) {
    return table::upload(table::DeviceContext(sharing, device), table.frame());
  }));
}

}  // namespace

bool is_short(int64_t rows, const ArrowTable& first, const ArrowTable* second) {
  return rows < table::kFewRows && table::is_short(first.frame()) &&
         (second == nullptr || table::is_short(second->frame()));
}

bool has_arrow_interface(const py::handle& object) {
  return python::has_attribute(object, "__arrow_c_stream__") || python::has_attribute(object, "__arrow_c_array__") ||
         python::has_attribute(object, "__arrow_c_device_array__");
}

ArrowTable::ArrowTable(const py::handle& source, const py::handle& is_table, bool full, const std::string& op) {
  const arrow::Check check = full ? arrow::Check::full : arrow::Check::structure;
  std::optional<bool> wanted;
  if (!is_table.is_none()) wanted = is_table.cast<bool>();
  try {
    arrow::Chunked data;
    int device = table::kHost;
    if (py::isinstance<ArrowTable>(source) && !full) {
      const table::Frame& frame = source.cast<const ArrowTable&>().frame();
      data = frame.data;
      device = frame.device;
      if (!wanted) wanted = frame.is_table;
    } else if (prefers_device(source)) {
      data = read_device_array(python::call_method(source, "__arrow_c_device_array__"), check, device);
    } else if (python::has_attribute(source, "__arrow_c_stream__")) {
      check_buffer_sizes(source);
      data = read_stream(python::call_method(source, "__arrow_c_stream__"), check);
    } else if (python::has_attribute(source, "__arrow_c_array__")) {
      check_buffer_sizes(source);
      data = read_array(python::call_method(source, "__arrow_c_array__"), check);
    } else {
      throw py::type_error(
          "expected an object with __arrow_c_stream__, __arrow_c_array__ or __arrow_c_device_array__, got " +
          python::text_of(py::type::of(source)));
    }
    frame_ = std::make_shared<const table::Frame>(table::to_frame(std::move(data), wanted, device));
  } catch (const ExchangeError&) {
    raise_table_error(op);
  }
}

int64_t ArrowTable::rows() const {
  int64_t rows = 0;
  for (const arrow::Array& chunk : frame_->data.chunks) rows += chunk.length;
  return rows;
}

table::ChunkLengths ArrowTable::lengths() const {
  table::ChunkLengths lengths;
  for (const arrow::Array& chunk : frame_->data.chunks) lengths.push_back(chunk.length);
  return lengths;
}

// Memory of a GPU must not be exported as host memory, because consumers would dereference its addresses.
void ArrowTable::require_host() const {
  if (frame_->device == table::kHost) return;
  throw py::buffer_error("the table lies on GPU " + std::to_string(frame_->device) + ": use __arrow_c_device_array__");
}

py::capsule ArrowTable::stream() const {
  require_host();
  auto stream = std::make_unique<ArrowArrayStream>();
  arrow::export_stream(std::shared_ptr<const arrow::Chunked>(frame_, &frame_->data), stream.get());
  return new_capsule(std::move(stream), "arrow_array_stream");
}

py::capsule ArrowTable::schema() const {
  auto schema = std::make_unique<ArrowSchema>();
  arrow::export_type(*frame_->data.type, schema.get());
  return new_capsule(std::move(schema), "arrow_schema");
}

py::tuple ArrowTable::array() const {
  require_host();
  auto array = std::make_unique<ArrowArray>();
  fill_array(*array);
  const py::capsule capsule = new_capsule(std::move(array), "arrow_array");
  return py::make_tuple(schema(), capsule);
}

void ArrowTable::fill_array(ArrowArray& out) const {
  const arrow::Chunked& data = frame_->data;
  if (data.chunks.size() > 1) {
    throw py::value_error("the data lies in " + std::to_string(data.chunks.size()) + " chunks: use __arrow_c_stream__");
  }
  if (data.chunks.empty()) {
    const arrow::Array nothing = table::RowTaker({host_backend(), {}}, 0).take(*data.type, {}, {});
    arrow::export_array(nothing, *data.type, &out);
  } else {
    arrow::export_array(data.chunks[0], *data.type, &out);
  }
}

py::tuple ArrowTable::device_array() const {
  auto array = std::make_unique<ArrowDeviceArray>();
  *array = {};
  fill_array(array->array);
  const bool on_host = frame_->device == table::kHost;
  array->device_id = on_host ? -1 : frame_->device;
  array->device_type = on_host ? arrow::kDeviceCpu : arrow::kDeviceCuda;
  const py::capsule capsule = new_capsule(std::move(array), "arrow_device_array");
  return py::make_tuple(schema(), capsule);
}

// The number of rows, then the name and type of each column.
std::string ArrowTable::text() const {
  const arrow::Type& type = *frame_->data.type;
  const std::size_t columns = frame_->is_table ? type.children.size() : 1;
  const int64_t length = rows();
  std::string text = frame_->is_table ? "ArrowTable" : "ArrowTable, one column";
  text += ", " + std::to_string(length) + (length == 1 ? " row" : " rows");
  if (frame_->device != table::kHost) text += ", GPU " + std::to_string(frame_->device);
  if (!frame_->is_table) return "<" + text + ": " + arrow::type_name(type) + ">";
  constexpr std::size_t kMost = 40;
  for (std::size_t at = 0; at < std::min(columns, kMost); ++at) {
    const arrow::Type& column = type.children[at];
    text += "\n  " + column.name + ": " + arrow::type_name(column) +
            ((column.flags & arrow::kNullable) != 0 ? "" : " not null");
  }
  if (columns > kMost) text += "\n  and " + std::to_string(columns - kMost) + " more columns";
  return "<" + text + ">";
}

void bind_table(py::module_& module) {
  py::class_<ArrowTable> cls(module, "ArrowTable", py::is_final());
  make_in_new(cls);
  cls.def_property_readonly("lengths",
                            [](const ArrowTable& self) {
                              const table::ChunkLengths lengths = self.lengths();
                              py::tuple tuple(lengths.size());
                              for (std::size_t i = 0; i < lengths.size(); ++i) tuple[i] = lengths[i];
                              return tuple;
                            })
      .def_property_readonly("num_rows", &ArrowTable::rows)
      .def("__len__", &ArrowTable::rows)
      .def("__repr__", &ArrowTable::text)
      .def_property_readonly("num_chunks", [](const ArrowTable& self) { return self.frame().data.chunks.size(); })
      .def_property_readonly("is_table", [](const ArrowTable& self) { return self.frame().is_table; })
      .def_property_readonly("has_extensions",
                             [](const ArrowTable& self) { return arrow::has_extension(*self.frame().data.type); })
      .def_property_readonly("num_columns",
                             [](const ArrowTable& self) {
                               const table::Frame& frame = self.frame();
                               return frame.is_table ? frame.data.type->children.size() : std::size_t{1};
                             })
      .def_property_readonly("column_names",
                             [](const ArrowTable& self) {
                               py::list names;
                               if (!self.frame().is_table) return names;
                               for (const arrow::Type& column : self.frame().data.type->children) {
                                 names.append(column.name);
                               }
                               return names;
                             })
      .def_property_readonly("column_types",
                             [](const ArrowTable& self) {
                               py::list types;
                               const arrow::Type& type = *self.frame().data.type;
                               if (!self.frame().is_table) types.append(arrow::type_name(type));
                               for (std::size_t i = 0; self.frame().is_table && i < type.children.size(); ++i) {
                                 types.append(arrow::type_name(type.children[i]));
                               }
                               return types;
                             })
      .def(
          "check_like",
          [](const ArrowTable& self, const ArrowTable& other, const std::string& op, const std::string& target,
             const std::string& source) {
            try {
              table::check_like(self.frame(), other.frame(), {target, source});
            } catch (...) {
              raise_table_error(op);
            }
          },
          py::arg("other"), py::arg("op"), py::arg("target") = "the target", py::arg("source") = "the source")
      .def(
          "check_names",
          [](const ArrowTable& self, const ArrowTable& other, const std::string& op, const std::string& target,
             const std::string& source) {
            try {
              table::check_names(self.frame(), other.frame(), {target, source});
            } catch (...) {
              raise_table_error(op);
            }
          },
          py::arg("other"), py::arg("op"), py::arg("target") = "the target", py::arg("source") = "the source")
      .def_property_readonly("device", [](const ArrowTable& self) { return self.frame().device; })
      .def_property_readonly("is_cpu", [](const ArrowTable& self) { return self.frame().device == table::kHost; })
      .def(
          "with_columns",
          [](const ArrowTable& self, const py::sequence& columns) {
            return ArrowTable(table::with_columns(self.frame(), numbers_in(columns)));
          },
          py::arg("columns"))
      .def(
          "with_replaced",
          [](const ArrowTable& self, const py::sequence& columns, const ArrowTable& part) {
            return ArrowTable(table::with_replaced(self.frame(), numbers_in(columns), part.frame()));
          },
          py::arg("columns"), py::arg("part"))
      .def("to_device", &to_device, py::arg("op"), py::arg("device"))
      .def("__arrow_c_schema__", &ArrowTable::schema)
      .def(
          "__arrow_c_device_array__",
          [](const ArrowTable& self, const py::object&, const py::kwargs& words) {
            for (const auto& [name, value] : words) {
              if (!value.is_none()) throw py::type_error("unknown argument " + python::text_of(name));
            }
            return self.device_array();
          },
          py::arg("requested_schema") = py::none())
      .def(
          "__arrow_c_array__", [](const ArrowTable& self, const py::object&) { return self.array(); },
          py::arg("requested_schema") = py::none())
      .def(
          "__arrow_c_stream__", [](const ArrowTable& self, const py::object&) { return self.stream(); },
          py::arg("requested_schema") = py::none());
  module.def("set_offset_limit", &table::set_offset_limit, py::arg("limit"));
}

}  // namespace gs
