// table_call.cpp: converts the exceptions of the table operators to Python exceptions.
#include "bindings/tables/table_call.h"

#include <stdexcept>

#include "backends/device/machine.h"
#include "bindings/arguments/from_python.h"
#include "bindings/python_calls.h"
#include "bindings/python_errors.h"
#include "core/error.h"
#include "table/row_errors.h"

namespace gs {
namespace {

[[noreturn]] void raise(const char* name, const py::object& arguments) {
  const py::object type = python_part("gatherscatter.errors", name);
  const py::object error = python::answer([&] { return PyObject_CallObject(type.ptr(), arguments.ptr()); });
  PyErr_SetObject(type.ptr(), error.ptr());
  throw py::error_already_set();
}

[[noreturn]] void raise_text(const char* name, const std::string& op, const std::string& text) {
  raise(name, py::make_tuple(op + ": " + text));
}

template <class Fault>
py::tuple position_of(const Fault& fault) {
  if (fault.row < 0) return py::make_tuple(fault.position);
  return py::make_tuple(fault.row, fault.position);
}

}  // namespace

void raise_table_error(const std::string& op) {
  try {
    throw;
  } catch (const table::CallInterrupted&) {
    throw py::error_already_set();  // the exception of the signal handler
  } catch (const device::Interrupted&) {
    throw py::error_already_set();
  } catch (const table::BadRow& bad) {
    const py::object index =
        bad.is_signed ? py::object(py::int_(static_cast<int64_t>(bad.bits))) : py::object(py::int_(bad.bits));
    raise("OutOfBoundsError", py::make_tuple(op, index, position_of(bad), 0, bad.size, bad.count, bad.total,
                                             bad.is_signed && bad.from_end));
  } catch (const table::NullRow& null) {
    const std::string position = null.row < 0 ? std::to_string(null.position) : python::text_of(position_of(null));
    const std::string others = null.count > 1 ? " (" + std::to_string(null.count) + " nulls in all)" : "";
    const bool writes = op.find("scatter") != std::string::npos;
    raise_text("NullIndexError", op,
               "the map has a null at position " + position + others + ", expected a row number; " +
                   (writes ? "bounds=\"drop\" leaves its row out" : "bounds=\"nullify\" gives a row of nulls"));
  } catch (const std::overflow_error& error) {
    PyErr_SetString(PyExc_OverflowError, (op + ": " + error.what()).c_str());
    throw py::error_already_set();
  } catch (const table::InvalidArgument& error) {
    raise_text("InvalidArgument", op, error.what());
  } catch (const table::DataTypeError& error) {
    raise_text("DataTypeError", op, error.what());
  } catch (const table::IndexTypeError& error) {
    raise_text("IndexTypeError", op, error.what());
  } catch (...) {
    set_python_error(op.c_str());
    throw py::error_already_set();
  }
}

}  // namespace gs
