// arrow_table.h: tables, columns and selections of rows as Python objects.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include "bindings/execute.h"
#include "table/arrow_abi.h"
#include "table/frame.h"

namespace gs {

// One table or column in Arrow's memory, as `_core.ArrowTable`.
class ArrowTable {
 public:
  explicit ArrowTable(table::Frame frame) : frame_(std::make_shared<const table::Frame>(std::move(frame))) {}
  // Anything that has `__arrow_c_stream__`, `__arrow_c_array__` or `__arrow_c_device_array__`. `is_table`: None decides
  // by the type. `op` for errors.
  ArrowTable(const py::handle& source, const py::handle& is_table, bool full, const std::string& op);

  const table::Frame& frame() const { return *frame_; }
  int64_t rows() const;
  table::ChunkLengths lengths() const;
  py::capsule stream() const;
  py::tuple array() const;
  py::tuple device_array() const;
  py::capsule schema() const;
  void require_host() const;  // BufferError

 private:
  void fill_array(ArrowArray& out) const;
  std::shared_ptr<const table::Frame> frame_;
};

// Fewer rows are picked without giving the interpreter lock away, if none of them is long.
inline constexpr int64_t kFewRows = 1024;
bool is_short(int64_t rows, const ArrowTable& first, const ArrowTable* second);

table::RowBounds parse_row_bounds(const std::string& op, const std::string& bounds);

// Whether an object is to be read through Arrow's interface rather than as an array.
bool speaks_arrow(const py::handle& object);

// Raises the Python exception for the C++ exception in flight, with the operator's name before its text.
[[noreturn]] void raise_table_error(const std::string& op);

// Runs body(sharing) on the threads of this call, without the interpreter lock if the work is long.
template <class Body>
auto with_sharing(const std::string& op, bool keep_lock, const Body& body) {
  using Value = decltype(body(std::declval<const table::Sharing&>()));
  std::optional<Value> result;
  try {
    run_work(keep_lock, [&](const RunOptions& options) { result.emplace(body({host_backend(), options})); });
  } catch (...) {
    raise_table_error(op);
  }
  return std::move(*result);
}

void bind_table(py::module_& module);
void bind_selection(py::module_& module);

}  // namespace gs
