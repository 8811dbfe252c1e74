// pyarrow_gather.cpp: implements pyarrow_gather.h.
#include "bindings/tables/pyarrow_gather.h"

#include <array>

#include "bindings/arguments/plain_array.h"
#include "bindings/python_calls.h"
#include "bindings/tables/arrow_capsules.h"
#include "bindings/tables/pyarrow_batches.h"
#include "bindings/tables/table_call.h"
#include "table/row_selection.h"
// NumPy's header last: it defines a macro `import_array`
#include "bindings/numpy_api.h"

namespace gs {
namespace {

constexpr const char* kOp = "table.gather";
constexpr const char* kName = "gatherscatter.pyarrow_gather";

// The methods of pyarrow for one class of tables.
struct PyarrowGather {
  py::object import_batch;
  py::object from_batches;                   // None for the class of record batches
  std::array<py::object, 8> integer_arrays;  // the classes of arrays, by IndexType
};

PyObject* interned(const char* name) {
  PyObject* const text = PyUnicode_InternFromString(name);
  if (text == nullptr) throw py::error_already_set();
  return text;
}

// A map that is read in place: a NumPy array, or an array of pyarrow without nulls.
class PlainMap {
 public:
  // Returns false for other objects.
  bool read(const PyarrowGather& self, const py::handle& given) {
    if (PyArray_CheckExact(given.ptr())) return read_ndarray(given);
    for (std::size_t type = 0; type < self.integer_arrays.size(); ++type) {
      if (Py_IS_TYPE(given.ptr(), reinterpret_cast<PyTypeObject*>(self.integer_arrays[type].ptr()))) {
        return read_arrow(given, static_cast<IndexType>(type));
      }
    }
    return false;
  }

  const table::RowMap& rows() const { return rows_; }

 private:
  bool read_ndarray(const py::handle& given) {
    PlainArray array;
    if (!read_plain(given.ptr(), Role::index, array) || array.rank != 1) return false;
    rows_.map.push_back({array.data, array.stride[0], array.type, array.extent[0], {}});
    return true;
  }

  bool read_arrow(const py::handle& given, IndexType type) {
    export_to_device_struct(given, exported_);
    const ArrowArray& array = exported_.filled.array;
    if (exported_.filled.device_type != arrow::kDeviceCpu || array.n_buffers != 2) return false;
    check_buffer_sizes(given);
    if (array.null_count != 0 && array.buffers[0] != nullptr) return false;
    if (array.buffers[1] == nullptr) return false;
    const int64_t size = index_size(type);
    const auto* const values = static_cast<const std::byte*>(array.buffers[1]);
    rows_.map.push_back({values + array.offset * size, size, type, array.length, {}});
    return true;
  }

  table::RowMap rows_;
  Owned<ArrowDeviceArray> exported_;
};

// The record batch that has all rows of a table, in a list; none if there is no such batch. Not by a reader of pyarrow:
// its destructor waits for the GIL, and at exit that ends the process.
py::object only_batch(const PyarrowGather& self, const py::handle& source) {
  if (self.from_batches.is_none()) {
    py::list batch(1);
    batch[0] = source;
    return batch;
  }
  static PyObject* const num_rows = interned("num_rows");
  static PyObject* const num_columns = interned("num_columns");
  static PyObject* const column = interned("column");
  static PyObject* const num_chunks = interned("num_chunks");
  static PyObject* const to_batches = interned("to_batches");
  const auto rows = python::attribute(source, num_rows).cast<int64_t>();
  if (rows <= 0) return {};  // negative in a table of a corrupt file, of which pyarrow makes no batch
  if (python::attribute(source, num_columns).cast<int64_t>() == 0) return {};
  const py::object first = python::call_method(source, column, py::int_(0));
  if (python::attribute(first, num_chunks).cast<int64_t>() != 1) return {};
  py::object batches = python::call_method(source, to_batches);
  if (py::len(batches) != 1) return {};
  const auto batch = py::reinterpret_borrow<py::list>(batches)[0];
  return python::attribute(batch, num_rows).cast<int64_t>() == rows ? batches : py::object();
}

// The rows of `source` with the numbers in `given`. None for a source or map that is not read in one piece.
py::object gather_rows(const PyarrowGather& self, const py::handle& source, const py::handle& given) {
  PlainMap map;
  if (!map.read(self, given)) return py::none();
  const py::object batch = only_batch(self, source);
  if (!batch) return py::none();
  static PyObject* const schema_name = interned("schema");
  const py::object schema = python::attribute(source, schema_name);
  const ArrowTable table = table_of_batches(batch, schema, false, kOp);
  const int64_t count = map.rows().count();
  const ArrowTable result(with_sharing(kOp, is_short(count, table, nullptr), [&](const table::Sharing& sharing) {
    const auto request = table::RowRequest::gather({table.rows()}, Bounds::raise);
    const table::RowSelection rows(sharing, request, map.rows(), table::kHost);
    return rows.take(sharing, table.frame(), nullptr, false);
  }));
  const py::object batches = to_batches(result, table, self.import_batch, schema);
  if (!self.from_batches.is_none()) return python::call(self.from_batches, batches, schema);
  return py::len(batches) == 1 ? py::object(batches[py::int_(0)]) : py::none();
}

PyObject* gather_from_python(PyObject* capsule, PyObject* const* arguments, Py_ssize_t count) {
  return guarded(kOp, [&]() -> py::object {
    if (count != 2) throw py::type_error("expected a table and a map");
    const auto* const self = static_cast<const PyarrowGather*>(PyCapsule_GetPointer(capsule, kName));
    return gather_rows(*self, arguments[0], arguments[1]);
  });
}

PyMethodDef definition = {"pyarrow_gather",
                          reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gather_from_python)),
                          METH_FASTCALL, nullptr};

py::object make(const py::object& import_batch, const py::object& from_batches, const py::sequence& integer_arrays) {
  auto self = std::make_unique<PyarrowGather>();
  self->import_batch = import_batch;
  self->from_batches = from_batches;
  if (integer_arrays.size() != self->integer_arrays.size()) throw py::value_error("expected eight classes of arrays");
  for (std::size_t type = 0; type < self->integer_arrays.size(); ++type)
    self->integer_arrays[type] = integer_arrays[type];
  const py::capsule kept(self.get(), kName, [](PyObject* object) {
    delete static_cast<PyarrowGather*>(PyCapsule_GetPointer(object, kName));
  });
  self.release();
  auto function = py::reinterpret_steal<py::object>(PyCFunction_NewEx(&definition, kept.ptr(), nullptr));
  if (!function) throw py::error_already_set();
  return function;
}

}  // namespace

void bind_pyarrow_gather(py::module_& module) {
  module.def("pyarrow_gather", &make, py::arg("import_batch"), py::arg("from_batches"), py::arg("integer_arrays"));
}

}  // namespace gs
