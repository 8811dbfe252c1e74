// device_cases.h: what device kernels are checked with: machines that run them, and loops over the points of a plan.
#pragma once

#include <optional>
#include <vector>

#include "cpu_cases.h"
#include "points.h"
#include "reference.h"

namespace gs::test {

// Grids of one block, where threads stride far, up to one for all work; blocks in order and in drawn orders.
inline std::vector<reference::Settings> machines() {
  return {{std::nullopt, 1024}, {7, 1}, {8, 3}, {9, 1024}};
}

inline device::Queue queue_on(const reference::Settings& settings) {
  return device::Queue(std::make_unique<reference::HostMachine>(settings));
}

// Moves an array to an address that is a multiple of nothing in particular.
inline void misalign(Array& array, Random& random) {
  const int64_t by = random.from(0, 20);
  array.bytes.insert(array.bytes.begin(), static_cast<size_t>(by), std::byte{0x5A});
  array.origin += by;
}

inline void misalign(Case& test, Random& random) {
  for (Array* array : {&test.dense, &test.indexed, &test.mask, &test.fill}) misalign(*array, random);
  for (Array& array : test.index) misalign(array, random);
}

}  // namespace gs::test
