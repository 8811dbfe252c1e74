// device_cases.h: what device kernels are checked with: machines that run them, and loops over the points of a plan.
#pragma once

#include <optional>
#include <vector>

#include "core/combine_point.h"
#include "cpu_cases.h"
#include "reference.h"

namespace gs::test {

// Grids of one block, where threads stride far, up to one for all work; blocks in order and in drawn orders.
inline std::vector<reference::Settings> machines() {
  return {{std::nullopt, 1024}, {7, 1}, {8, 3}, {9, 1024}};
}

inline device::Queue queue_on(const reference::Settings& settings) {
  return device::Queue(std::make_unique<reference::HostMachine>(settings));
}

struct Loop {
  device::Status status;  // of the bad points, which are skipped
};

inline Loop move_by_points(const Plan& plan, const Buffers& buffers, Direction direction) {
  if (buffers.base_bytes > 0) std::memcpy(buffers.indexed, buffers.base, static_cast<size_t>(buffers.base_bytes));
  const PlanView view = view_of(plan, buffers);
  Loop loop;
  for (int64_t flat = 0; flat < view.count; ++flat) {
    if (!move_point(view, direction, flat)) loop.status.report(flat);
  }
  return loop;
}

inline Loop reduce_by_points(const Plan& plan, const Buffers& buffers, const Combine& combine) {
  const PlanView view = view_of(plan, buffers);
  const Span span = indexed_span(plan);
  Totals totals;
  std::vector<std::byte> sums;
  std::vector<int64_t> hits;
  if (view.count > 0 && !combines_directly(combine)) {
    const auto slots = static_cast<size_t>((span.high - span.low) / plan.item) + 1;
    sums.resize(slots * kWidestNumber);
    hits.resize(slots);
    totals = {sums.data(), hits.data(), span.low};
  }
  Loop loop;
  for (int64_t flat = 0; flat < view.count; ++flat) {
    if (!combine_point(view, combine, totals, flat)) loop.status.report(flat);
  }
  for (int64_t flat = 0; flat < view.count && totals.hits != nullptr; ++flat) finish_point(view, combine, totals, flat);
  return loop;
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
