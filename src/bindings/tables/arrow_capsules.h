// arrow_capsules.h: imports Arrow's structs from PyCapsules, and wraps them in PyCapsules.
// https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "arrow/exchange.h"
#include "bindings/python_errors.h"

namespace gs {

// The part of a filled struct that has the release callback.
template <class Struct>
Struct& owned_part(Struct& filled) {
  return filled;
}
inline ArrowArray& owned_part(ArrowDeviceArray& filled) {
  return filled.array;
}

// An Arrow struct that is released unless its consumer has taken it over.
template <class Struct>
struct Owned {
  Struct filled{};
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    auto& part = owned_part(filled);
    if (part.release != nullptr) part.release(&part);
  }
};

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

// Lets an object of pyarrow compare the sizes of its buffers with its lengths: Arrow's C interface has no sizes, and an
// object that was read from a corrupt file may have shorter buffers than rows. Throws ExchangeError if they are short.
// An object of another library is not asked, nor is one on a GPU.
void check_buffer_sizes(const py::handle& object);

// Whether an object is imported through its device interface: if it has one, unless its `is_cpu` (of pyarrow) is True.
bool prefers_device(const py::handle& object);

// Import what `__arrow_c_stream__`, `__arrow_c_array__` and `__arrow_c_device_array__` returned. read_device_array sets
// `device` to the number of the GPU, or to table::kHost, and makes the default stream of the GPU wait for the
// producer's event.
arrow::Chunked read_stream(const py::object& capsule, arrow::Check check);
arrow::Chunked read_array(const py::object& pair, arrow::Check check);
arrow::Chunked read_device_array(const py::object& pair, arrow::Check check, int& device);

}  // namespace gs
