// arrow_table.h: declares the Python object for tables and columns.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "arrow/arrow_abi.h"
#include "bindings/python_errors.h"
#include "table/frame.h"

namespace gs {

// One table or column in Arrow's memory layout: the C++ class of `_core.ArrowTable`.
class ArrowTable {
 public:
  explicit ArrowTable(table::Frame frame) : frame_(std::make_shared<const table::Frame>(std::move(frame))) {}
  // `source` has `__arrow_c_stream__`, `__arrow_c_array__` or `__arrow_c_device_array__`. `is_table` is a bool or None;
  // with None the Arrow type decides. `full` checks every row at the import. `op` names the operator in error texts.
  ArrowTable(const py::handle& source, const py::handle& is_table, bool full, const std::string& op);

  const table::Frame& frame() const { return *frame_; }
  int64_t rows() const;
  std::string text() const;
  table::ChunkLengths lengths() const;
  py::capsule stream() const;
  py::tuple array() const;
  py::tuple device_array() const;
  py::capsule schema() const;
  void require_host() const;  // throws BufferError for a table on a GPU

 private:
  void fill_array(ArrowArray& out) const;
  std::shared_ptr<const table::Frame> frame_;
};

// A call that picks fewer rows than this keeps the GIL, provided that no row can be long (table::is_short).
bool is_short(int64_t rows, const ArrowTable& first, const ArrowTable* second);

// Whether an object has a method of Arrow's PyCapsule interface, so that it is imported as Arrow data.
bool has_arrow_interface(const py::handle& object);

void bind_table(py::module_& module);
void bind_selection(py::module_& module);  // selection_object.cpp

}  // namespace gs
