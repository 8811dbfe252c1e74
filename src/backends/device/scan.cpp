// scan.cpp: searches for bad indices and for duplicates, and returns the position of the first one.
#include "backends/device/scan.h"

#include "backends/device/launch.h"
#include "backends/device/sorted_points.h"
#include "backends/device/uploaded_plan.h"

namespace gs::device {
namespace {

// Reads the index of one array at a point of the index space back to the host.
uint64_t read_index(Machine& machine, const Plan& plan, const Buffers& buffers, int array, const Dims& position) {
  const std::byte* at = buffers.index[array];
  for (int axis = 0; axis < plan.index_space.rank(); ++axis)
    at += position[axis] * plan.index_space.stride(kIndex + array, axis);
  return visit_index(plan.index[array].type, [&]<class Index>() {
    Index value;
    machine.read(&value, at, sizeof(Index));
    return static_cast<uint64_t>(value);
  });
}

bool is_outside(const IndexArray& index, Rule rule, uint64_t bits) {
  const bool found = index.type == IndexType::u64 ? resolve(bits, index.extent, rule) != kNowhere
                                                  : resolve(static_cast<int64_t>(bits), index.extent, rule) != kNowhere;
  return rule.forbids(index.extent) && !found;
}

}  // namespace

Status scan(Machine& machine, const Plan& plan, const Buffers& buffers) {
  if (!plan.can_fail() || plan.index_space.count() == 0) return {};
  const UploadedPlan table(machine, plan, plan.index_space, buffers);
  Status* status = machine.status();
  launch(machine, ScanOutside{*table, status}, table->count);
  return machine.read_status(status);
}

std::optional<BadIndex> first_outside(Machine& machine, const Plan& plan, const Buffers& buffers) {
  const Status status = scan(machine, plan, buffers);
  if (status.is_clean()) return std::nullopt;
  const Dims position = unravel(status.first(), plan.index_space.extents());
  for (int a = 0; a < plan.index.size(); ++a) {
    const IndexArray& index = plan.index[a];
    const uint64_t bits = read_index(machine, plan, buffers, a, position);
    if (!is_outside(index, plan.rule, bits)) continue;
    return BadIndex{status.first(), static_cast<int64_t>(status.count), index.extent, index.axis, index.type, bits};
  }
  return std::nullopt;  // the index has changed since the scan
}

std::optional<Duplicate> first_duplicate(Machine& machine, const Plan& plan, const Buffers& buffers) {
  if (plan.is_one_to_one() || plan.item == 0 || plan.space.count() == 0) return std::nullopt;
  const SortedPoints points(machine, plan, buffers, nullptr);
  Status* status = machine.status();
  FindRepeats body{points.sorted(), status};
  launch(machine, body, plan.space.count());
  const Status found = machine.read_status(status);
  if (found.is_clean()) return std::nullopt;
  const Temporary first(machine, sizeof(uint64_t));
  body.status = nullptr;
  body.second = found.first();
  body.first = first.as<uint64_t>();
  launch(machine, body, plan.space.count());
  int64_t earlier = 0;
  machine.read(&earlier, first.data(), sizeof(earlier));
  const int64_t items = plan.unit_items();
  return Duplicate{earlier * items, found.first() * items};
}

}  // namespace gs::device
