// table_call.h: runs the work of a table operator with the threads of a call, and converts its exceptions.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>

#include "bindings/python_context.h"
#include "table/sharing.h"

namespace gs {

// Called in a catch block: converts the C++ exception in flight to a Python exception whose text begins with the
// operator's name, and throws it.
[[noreturn]] void raise_table_error(const std::string& op);

// Runs body(sharing) with the threads of this call and returns its value. Releases the GIL unless `keep_lock`, which is
// for short work. Throws the exceptions of body as Python exceptions. All table operators run here. They never repeat
// their work: a value of a map is read once, so the value that is checked is the value that is used.
template <class Body>
auto with_sharing(const std::string& op, bool keep_lock, const Body& body, Stage stage = Stage::whole) {
  using Value = decltype(body(std::declval<const table::Sharing&>()));
  std::optional<Value> result;
  try {
    run_work(keep_lock, [&](const RunOptions& options) { result.emplace(body({host_backend(), options})); }, stage);
  } catch (...) {
    raise_table_error(op);
  }
  return std::move(*result);
}

}  // namespace gs
