// device_cases.h: machines on which tests run device kernels, and loops over the points of a plan to compare with.
#pragma once

#include <optional>
#include <vector>

#include "cpu_cases.h"
#include "points.h"
#include "reference.h"

namespace gs::test {

// Grids from one block, whose threads stride far, up to one that covers all work; blocks in order and in random orders.
inline std::vector<reference::Settings> machines() {
  return {{std::nullopt, 1024}, {7, 1}, {8, 3}, {9, 1024}};
}

inline device::Queue queue_on(const reference::Settings& settings) {
  return device::Queue(std::make_unique<reference::HostMachine>(settings));
}

// Moves an array to an address that has no particular alignment.
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
