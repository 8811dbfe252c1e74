// uploaded_plan.cpp: writes the words of a packed plan, and uploads them if they are too many for kernel parameters.
#include "backends/device/uploaded_plan.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace gs::device {
namespace {

// Returns true if an item of the operand may lie at an address that is not a multiple of `size`.
bool may_be_unaligned(const Space& space, int operand, const std::byte* data, int size) {
  auto bits = reinterpret_cast<uintptr_t>(data);
  for (int axis = 0; axis < space.rank(); ++axis) bits |= static_cast<uintptr_t>(space.stride(operand, axis));
  return (bits & static_cast<uintptr_t>(size - 1)) != 0;
}

}  // namespace

UploadedPlan::UploadedPlan(Machine& machine, const Plan& plan, const Space& space, const Buffers& buffers) {
  std::vector<uint64_t> words;
  const auto put = [&](int64_t number) { words.push_back(static_cast<uint64_t>(number)); };
  const auto put_divider = [&](int64_t extent) {
    const Divider by(extent > 0 ? extent : 1);
    uint64_t pair[2];
    std::memcpy(pair, &by, sizeof(by));
    words.insert(words.end(), pair, pair + 2);
    put(extent);
  };
  for (int axis = 0; axis < space.rank(); ++axis) {
    put_divider(space.extent(axis));
    for (int operand = 0; operand < space.operands(); ++operand) put(space.stride(operand, axis));
  }
  for (int a = 0; a < plan.index.size(); ++a) {
    const IndexArray& index = plan.index[a];
    const std::byte* data = buffers.index[a];
    put(static_cast<int64_t>(reinterpret_cast<uintptr_t>(data)));
    put(index.extent);
    put(index.step);
    put(static_cast<int64_t>(index.type) |
        (may_be_unaligned(space, kIndex + a, data, index_size(index.type)) ? int64_t{kAnyAddress} : 0));
  }
  for (const FoldAxis& fold : plan.fold) {
    put_divider(fold.extent);
    put(fold.stride);
  }

  table_.dense = buffers.dense;
  table_.indexed = buffers.indexed;
  table_.mask = plan.masked ? buffers.mask : nullptr;
  table_.fill = buffers.fill;
  table_.item = plan.item;
  table_.unit = plan.unit;
  table_.count = space.count();
  table_.rank = space.rank();
  table_.operands = space.operands();
  table_.arrays = plan.index.size();
  table_.folds = plan.fold.size();
  table_.rule = plan.rule;
  const std::size_t bytes = words.size() * sizeof(uint64_t);
  if (words.size() <= PackedPlan::kWords) {
    std::copy(words.begin(), words.end(), table_.words);
    return;
  }
  far_.emplace(machine, static_cast<int64_t>(bytes));
  machine.write(far_->data(), words.data(), static_cast<int64_t>(bytes));
  table_.far = far_->as<uint64_t>();
}

}  // namespace gs::device
