// device_table.h: tables on GPUs in and out of Python, and the capsules that all of Arrow's structs travel in.
// https://arrow.apache.org/docs/format/CDeviceDataInterface.html
#pragma once

#include <memory>
#include <string>

#include "bindings/arrow_table.h"
#include "table/arrow.h"

namespace gs {

// What of a struct is released.
template <class Struct>
Struct& owned_part(Struct& filled) {
  return filled;
}
inline ArrowArray& owned_part(ArrowDeviceArray& filled) {
  return filled.array;
}

// What a capsule holds. Throws ExchangeError for another object, and for a capsule of another name: `from` is the
// method that gave it.
void* pointer_in(const py::handle& capsule, const char* name, const char* from);

template <class Struct>
Struct* struct_in(const py::handle& capsule, const char* name, const char* from) {
  return static_cast<Struct*>(pointer_in(capsule, name, from));
}

// The two capsules that a method gave. Throws ExchangeError for anything else.
py::tuple capsules_in(const py::object& given, const char* from);

template <class Struct>
py::capsule new_capsule(std::unique_ptr<Struct> filled, const char* name) {
  PyObject* const capsule = PyCapsule_New(filled.get(), name, [](PyObject* self) {
    auto* const owned = static_cast<Struct*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
    if (owned_part(*owned).release != nullptr) owned_part(*owned).release(&owned_part(*owned));  // not taken over
    delete owned;
  });
  if (capsule == nullptr) {
    owned_part(*filled).release(&owned_part(*filled));
    throw py::error_already_set();
  }
  filled.release();
  return py::reinterpret_steal<py::capsule>(capsule);
}

// Whether an object is to be asked for its memory on a GPU: unless it says that it is on the host (pyarrow's `is_cpu`).
bool prefers_device(const py::handle& object);

// What `__arrow_c_device_array__` gave; `device` becomes the number of the GPU, or kHost. Our stream waits for its
// event.
table::Chunked read_device_array(const py::object& pair, table::Check check, int& device);

// A copy of a table of the host on a GPU, or the table itself where it is there.
ArrowTable to_device(const ArrowTable& table, const std::string& op, int device);

}  // namespace gs
