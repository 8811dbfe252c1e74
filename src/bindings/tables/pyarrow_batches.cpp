// pyarrow_batches.cpp: implements pyarrow_batches.h.
#include "bindings/tables/pyarrow_batches.h"

#include <array>
#include <utility>

#include "arrow/exchange.h"
#include "bindings/python_calls.h"
#include "bindings/python_errors.h"
#include "bindings/tables/arrow_capsules.h"
#include "bindings/tables/table_call.h"
#include "core/error.h"

namespace gs {
namespace {

template <class Struct>
py::int_ address_of(Owned<Struct>& owned) {
  return py::int_(reinterpret_cast<uintptr_t>(&owned.filled));
}

// The types of recent schemas of pyarrow without extension types. Schemas are immutable, and pyarrow compares two
// objects of one C++ schema by its address. Guarded by the GIL.
class KnownSchemas {
 public:
  std::shared_ptr<const arrow::Type> type_of(const py::object& schema) {
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const Known& known = known_[(last_ + i) % known_.size()];
      if (!known.type) continue;
      std::shared_ptr<const arrow::Type> type = known.type;  // the comparison may let other threads run
      if (!equals(schema, known.schema)) continue;
      return type;
    }
    Owned<ArrowSchema> exported;
    static PyObject* const name = PyUnicode_InternFromString("_export_to_c");
    python::call_method(schema, name, address_of(exported));
    auto type = std::make_shared<const arrow::Type>(arrow::import_type(&exported.filled));
    if (arrow::has_extension(*type)) return type;  // Python code may say that types of different storage are equal
    last_ = (last_ + known_.size() - 1) % known_.size();
    known_[last_] = {schema, type};
    return type;
  }

 private:
  struct Known {
    py::object schema;
    std::shared_ptr<const arrow::Type> type;
  };

  static bool equals(const py::object& a, const py::object b) {
    if (a.is(b)) return true;
    static PyObject* const name = PyUnicode_InternFromString("equals");
    return python::call_method(a, name, b, py::handle(Py_True)).ptr() == Py_True;  // with the metadata
  }

  std::array<Known, 8> known_;
  std::size_t last_ = 0;
};

std::shared_ptr<const arrow::Type> type_of(const py::object& schema) {
  static auto& schemas = *new KnownSchemas;  // never freed: it has references to Python objects
  return schemas.type_of(schema);
}

arrow::Check check_of(bool full) {
  return full ? arrow::Check::full : arrow::Check::structure;
}

}  // namespace

void export_to_device_struct(const py::handle& array, Owned<ArrowDeviceArray>& out) {
  static PyObject* const name = PyUnicode_InternFromString("_export_to_c_device");
  python::call_method(array, name, address_of(out));
}

ArrowTable table_of_batches(const py::list& batches, const py::object& schema, bool full, const std::string& op) {
  try {
    arrow::Chunked data;
    data.type = type_of(schema);
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const py::object batch = batches[i];  // the export may let another thread change the list
      Owned<ArrowDeviceArray> exported;
      export_to_device_struct(batch, exported);
      if (exported.filled.device_type != arrow::kDeviceCpu) throw ExchangeError("memory of pyarrow on a GPU");
      check_buffer_sizes(batch);
      data.chunks.push_back(arrow::import_array(&exported.filled.array, *data.type, check_of(full)));
    }
    return ArrowTable(table::to_frame(std::move(data), true));
  } catch (const ExchangeError&) {
    raise_table_error(op);
  }
}

py::object table_of_column(const py::object& column, const py::object& schema, bool full, const std::string& op) {
  static PyObject* const name = PyUnicode_InternFromString("__arrow_c_stream__");
  const py::object stream = python::call_method(column, name);
  try {
    check_buffer_sizes(column);
    arrow::Chunked data;
    data.type = type_of(schema);
    arrow::Chunked chunks = read_stream(stream, check_of(full));
    if (data.type->children.size() != 1 || !arrow::same_type(*chunks.type, data.type->children[0])) {
      return py::none();
    }
    for (arrow::Array& values : chunks.chunks) {
      arrow::Array& rows = data.chunks.emplace_back();
      rows.length = values.length;
      rows.children.push_back(std::move(values));
    }
    return py::cast(ArrowTable(table::to_frame(std::move(data), true)));
  } catch (const ExchangeError&) {
    raise_table_error(op);
  }
}

py::object to_batches(const ArrowTable& self, const ArrowTable& source, const py::object& import_batch,
                      const py::object& schema) {
  self.require_host();
  const arrow::Chunked& data = self.frame().data;
  if (data.type != source.frame().data.type) return py::none();
  py::list batches;
  for (const arrow::Array& chunk : data.chunks) {
    Owned<ArrowArray> exported;
    arrow::export_array(chunk, *data.type, &exported.filled);
    batches.append(python::call(import_batch, address_of(exported), schema));
  }
  return batches;
}

void bind_pyarrow_batches(py::module_& module) {
  py::class_<ArrowTable> table(module.attr("ArrowTable"));
  table.def_static("of_batches", &table_of_batches, py::arg("batches"), py::arg("schema"), py::arg("full"),
                   py::arg("op"));
  table.def_static("of_column", &table_of_column, py::arg("column"), py::arg("schema"), py::arg("full"), py::arg("op"));
  table.def("to_batches", &to_batches, py::arg("source"), py::arg("import_batch"), py::arg("schema"));
}

}  // namespace gs
