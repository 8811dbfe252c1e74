// from_python.h: Python objects as views. Two steps, because a Python callback may change what another argument looks
// like: first every argument is adopted (this may run Python code), then every adopted one is borrowed (this never
// does).
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "bindings/dlpack.h"
#include "core/number.h"
#include "core/plan.h"

namespace gs {

namespace py = pybind11;

enum class Role : uint8_t { data, index, mask, fill, source, out };

// The library that owns an array, and so allocates the result.
enum class Library : uint8_t { numpy, torch, dlpack };

// What two arrays must share to have "the same dtype".
struct ElementType {
  dlpack::DataType data{};  // code kOpaque where DLPack has no name for it
  py::object descr;         // NumPy's dtype, or none
  bool matches(const ElementType& other) const;
  std::string name() const;
};

struct DeviceLocation;  // place.h

struct Operand {
  py::object object;    // keeps the memory alive
  py::object original;  // what the caller passed, where that is something else
  py::object wide;      // a list of all values of an index, where some are beyond int64: see wide.h
  py::object wrap;      // turns a result into the caller's own library; empty where the binding itself can
  Library library = Library::numpy;
  IndexView view;  // its integer type is set for an index only
  ElementType type;
  bool writable = false;
  bool given = false;
  bool is_value = false;                      // a number or a list, which came without a place of its own
  std::shared_ptr<DeviceLocation> elsewhere;  // null: plain host memory
  bool on_device() const;
};

const char* role_name(Role role);

// Of a dtype of NumPy's: its name in DLPack, and the bytes of an item.
dlpack::DataType type_of(py::handle descr);
int64_t item_of(py::handle descr);

// What a reduction computes with; Number::none for every other dtype.
Number number_of(const ElementType& type);

// None leaves the operand not `given`.
void adopt(py::handle op, Role role, py::handle object, Operand& operand);
// Fills in view and type. DTypeError for items that cannot be moved, and for an index that is not of integers.
void borrow(Role role, Operand& operand);

// A view on the same memory as a NumPy array of opaque items; it does not keep the memory alive.
py::object as_opaque_ndarray(const ArrayView& view);

// Attribute of a Python module of this package, for the parts that are better written in Python.
py::object python_part(const char* module, const char* name);

}  // namespace gs
