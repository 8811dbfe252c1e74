// from_python.h: converts Python arguments to views in two steps. First every argument is adopted, which may run Python
// code of the caller; then every adopted argument is borrowed, which never does. The order matters, because Python code
// that runs for one argument may change the memory or shape of another.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>

#include "bindings/arguments/dlpack.h"
#include "core/number.h"
#include "core/plan.h"

namespace gs {

namespace py = pybind11;

enum class Role : uint8_t { data, index, mask, fill, source, out };

// The library that owns an array, and that therefore allocates the result.
enum class Library : uint8_t { numpy, torch, dlpack };

// The dtype of an array, in the form in which two arrays are compared.
struct ElementType {
  dlpack::DataType data{};  // code kOpaque if DLPack has no code for the dtype
  py::object descr;         // NumPy's dtype; null if the array has none
  bool matches(const ElementType& other) const;
  std::string name() const;
};

struct DeviceLocation;  // device_location.h

struct Operand {
  py::object object;    // keeps the memory alive
  py::object original;  // the object that the caller passed, if `object` is another one
  py::object wide;      // list of all values of an index, if some are beyond int64 (big_integers.h)
  py::object wrap;      // function that converts a result to the caller's library; null if none is needed
  Library library = Library::numpy;
  IndexView view;  // the integer type is set for an index only
  ElementType type;
  bool writable = false;
  bool given = false;                        // the argument is not None
  bool is_value = false;                     // a Python number or list, which is on no device
  std::shared_ptr<DeviceLocation> location;  // null: plain host memory
  bool on_device() const;
};

const char* role_name(Role role);

// The DLPack dtype of a NumPy dtype, and the bytes of one of its items.
dlpack::DataType type_of(py::handle descr);
int64_t item_of(py::handle descr);

// The type of number that a reduction computes with; Number::none for dtypes without one.
Number number_of(const ElementType& type);
Number number_of(dlpack::DataType type);  // of a dtype that DLPack has a code for

// Sets the object, library and location of an operand, without reading its memory. None leaves `given` false.
void adopt(py::handle op, Role role, py::handle object, Operand& operand);
// Sets the view and type of an operand. DTypeError for items that cannot be moved, and for an index whose dtype is not
// an integer dtype.
void borrow(Role role, Operand& operand);

// A NumPy array of opaque items on the memory of a view. It does not keep the memory alive.
py::object as_opaque_ndarray(const ArrayView& view);

// The attribute `name` of a Python module, for the parts of the binding that are written in Python.
py::object python_part(const char* module, const char* name);
// The same, kept at `place` from the first call on. A static variable that is initialised by an import would let two
// threads wait for each other: one imports without the GIL, the other one waits for the variable with it.
PyObject* kept_part(PyObject*& place, const char* module, const char* name);

}  // namespace gs
