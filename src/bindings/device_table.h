// device_table.h: imports tables on GPUs, and wraps Arrow's structs in PyCapsules.
// https://arrow.apache.org/docs/format/CDeviceDataInterface.html
#pragma once

#include <memory>
#include <string>

#include "bindings/arrow_table.h"
#include "table/arrow.h"

namespace gs {

// The part of a filled struct that has the release callback.
template <class Struct>
Struct& owned_part(Struct& filled) {
  return filled;
}
inline ArrowArray& owned_part(ArrowDeviceArray& filled) {
  return filled.array;
}

// The pointer in a capsule. Throws ExchangeError for an object that is not a capsule of this name; `from` is the method
// that returned it, for the message.
void* pointer_in(const py::handle& capsule, const char* name, const char* from);

template <class Struct>
Struct* struct_in(const py::handle& capsule, const char* name, const char* from) {
  return static_cast<Struct*>(pointer_in(capsule, name, from));
}

// The two capsules that the method `from` returned. Throws ExchangeError for any other object.
py::tuple capsules_in(const py::object& given, const char* from);

template <class Struct>
py::capsule new_capsule(std::unique_ptr<Struct> filled, const char* name) {
  PyObject* const capsule = PyCapsule_New(filled.get(), name, [](PyObject* self) {
    auto* const owned = static_cast<Struct*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
    if (owned_part(*owned).release != nullptr) owned_part(*owned).release(&owned_part(*owned));  // no consumer took it
    delete owned;
  });
  if (capsule == nullptr) {
    owned_part(*filled).release(&owned_part(*filled));
    throw py::error_already_set();
  }
  filled.release();
  return py::reinterpret_steal<py::capsule>(capsule);
}

// Whether an object is imported through its device interface: if it has one, unless its `is_cpu` (of pyarrow) is True.
bool prefers_device(const py::handle& object);

// Imports what `__arrow_c_device_array__` returned. Sets `device` to the number of the GPU, or to kHost. Makes the
// default stream of the GPU wait for the producer's event.
table::Chunked read_device_array(const py::object& pair, table::Check check, int& device);

// A copy of a host table on a GPU; the table itself if it is on that device already.
ArrowTable to_device(const ArrowTable& table, const std::string& op, int device);

}  // namespace gs
