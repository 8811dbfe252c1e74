// launch.h: starts a kernel body on a machine, with as many blocks as its work needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backends/device/bodies/bodies.h"
#include "backends/device/machine.h"

namespace gs::device {

inline void launch_on(Machine& machine, int kernel, const void* body, std::size_t bytes, int64_t items,
                      int64_t items_of_block) {
  if (items <= 0) return;
  const int64_t needed = (items - 1) / items_of_block + 1;
  const int64_t resident = machine.resident_blocks();
  machine.launch(kernel, needed < resident ? needed : resident, body, bytes);
}

// Runs a body with one thread, or one warp, for each of `items` parts of its work, or with fewer of them that stride.
template <class Body>
void launch(Machine& machine, const Body& body, int64_t items) {
  static_assert(std::is_trivially_copyable_v<Body> && sizeof(Body) <= kMostBytes);
  launch_on(machine, kernel_number<Body>(), &body, sizeof(Body), items,
            kByWarps<Body> ? kBlockThreads / kLanes : kBlockThreads);
}

// As `launch`, for a body that is given by its number and has its parameters in common with other bodies. Every item
// has a thread, or a lane of a warp.
template <class Parameters>
void launch_as(Machine& machine, int kernel, const Parameters& body, int64_t items) {
  static_assert(std::is_trivially_copyable_v<Parameters> && sizeof(Parameters) <= kMostBytes);
  launch_on(machine, kernel, &body, sizeof(Parameters), items, kBlockThreads);
}

}  // namespace gs::device
