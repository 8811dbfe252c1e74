// fuzz_dlpack.cpp: fuzzes the importer of DLPack tensors: a view that is accepted addresses what the tensor declares.
#include <optional>

#include "bindings/arguments/dlpack_view.h"
#include "core/checked.h"
#include "core/error.h"
#include "core/point.h"
#include "fuzz_input.h"
#include "plans/plans.h"

namespace {

using namespace gs;
using namespace gs::dlpack;
using fuzz::Input;
using fuzz::require;
using Int128 = __int128;

constexpr int kEntries = 70;      // of the arrays of extents and strides: more than the largest rank
constexpr int64_t kBytes = 1024;  // of the memory that tensors lie in

struct Case {
  Tensor tensor{};
  int64_t shape[kEntries] = {};
  int64_t strides[kEntries] = {};
  bool subbyte_padded = false;
  bool plain = true;  // nothing but small numbers: no reason to refuse it

  // With a fault, a number is as bad as the input wants it.
  int64_t number(Input& input, int64_t low, int64_t high) {
    if (!input.rarely(16)) return input.from(low, high);
    plain = false;
    return input.wild();
  }

  Case(Input& input, std::byte* memory) {
    tensor.device.type = static_cast<int32_t>(number(input, 1, 1));
    tensor.ndim = static_cast<int32_t>(number(input, 0, 5));
    tensor.ndim = std::min(tensor.ndim, kEntries);  // a longer array than there is would be a lie about memory
    tensor.dtype.code = static_cast<uint8_t>(number(input, kInt, kFloat));
    tensor.dtype.bits = static_cast<uint8_t>(input.rarely(8) ? number(input, 0, 255) : 8 << input.from(0, 4));
    tensor.dtype.lanes = static_cast<uint16_t>(number(input, 1, 1));
    for (int axis = 0; axis < tensor.ndim; ++axis) {
      shape[axis] = number(input, 0, 5);
      strides[axis] = number(input, -4, 4);
    }
    tensor.byte_offset = static_cast<uint64_t>(number(input, 0, 200));
    tensor.shape = input.rarely() ? nullptr : shape;
    tensor.strides = input.coin() ? nullptr : strides;
    tensor.data = input.rarely() ? nullptr : memory + kBytes / 2;
    subbyte_padded = input.rarely(8);
    plain = plain && tensor.shape != nullptr && tensor.data != nullptr && tensor.dtype.bits >= 8 &&
            tensor.dtype.bits % 8 == 0;
  }

  bool empty() const { return std::find(shape, shape + tensor.ndim, 0) != shape + tensor.ndim; }
};

// Bytes from the data pointer of the tensor to the lowest and behind the highest byte of any item.
struct Reach {
  Int128 low = 0;
  Int128 high = 0;
};

Reach reach_of(const Case& made, int64_t item) {
  Reach reach{Int128{made.tensor.byte_offset}, Int128{made.tensor.byte_offset} + item};
  Int128 contiguous = item;
  for (int axis = made.tensor.ndim - 1; axis >= 0; --axis) {
    const Int128 step = made.tensor.strides == nullptr ? contiguous : Int128{made.strides[axis]} * item;
    const Int128 last = (made.shape[axis] - 1) * step;
    (last < 0 ? reach.low : reach.high) += last;
    if (made.tensor.strides == nullptr) contiguous *= made.shape[axis];
  }
  return reach;
}

void check_view(const Case& made, const ArrayView& view) {
  const Tensor& tensor = made.tensor;
  require(tensor.ndim >= 0 && view.rank() == tensor.ndim, "the rank is that of the tensor");
  require(view.item == (tensor.dtype.bits + 7) / 8 && view.item > 0, "the item has the bits of the dtype");
  for (int axis = 0; axis < view.rank(); ++axis) {
    require(view.extent[axis] == made.shape[axis] && view.extent[axis] >= 0, "the extents are those of the tensor");
    if (tensor.strides == nullptr || made.empty() || view.extent[axis] == 1) continue;
    require(Int128{view.stride[axis]} == Int128{made.strides[axis]} * view.item, "the strides are those of the tensor");
  }
  if (made.empty()) return require(view.data == nullptr, "an empty array has no address");
  require(view.data == static_cast<std::byte*>(tensor.data) + tensor.byte_offset, "the offset is applied once");
  const Reach reach = reach_of(made, view.item);
  require(reach.low >= INT64_MIN && reach.high <= INT64_MAX, "the extent of the memory fits in 64 bits");
}

// Whether the items are so few that each is read. With strides of 0 any number of items lies in the memory.
bool is_short(const Dims& extent) {
  Int128 count = 1;
  for (const int64_t n : extent) count = std::min<Int128>(count * n, INT64_MAX);
  return count <= kBytes;
}

// Reads every item by a plan, and compares its bytes with those at the place that the tensor declares.
void read_all(const Case& made, const ArrayView& view) {
  const Plan plan = elementwise(view, view.extent, {});
  Buffers buffers;
  buffers.indexed = view.data;
  const PlanView points = view_of(plan, buffers);
  const Dims contiguous = contiguous_strides(view.extent, 1);
  for (int64_t flat = 0; flat < checked_count(view.extent); ++flat) {
    const Dims at = unravel(flat, view.extent);
    int64_t elements = 0;
    for (int axis = 0; axis < view.rank(); ++axis) {
      elements += at[axis] * (made.tensor.strides == nullptr ? contiguous[axis] : made.strides[axis]);
    }
    const std::byte* declared =
        static_cast<std::byte*>(made.tensor.data) + made.tensor.byte_offset + elements * view.item;
    const std::byte* planned =
        view.data + locate(points, flat / plan.unit_items()).indexed + flat % plan.unit_items() * view.item;
    require(std::memcmp(declared, planned, static_cast<std::size_t>(view.item)) == 0 && declared == planned,
            "every item lies where the tensor declares it");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  Input input(data, size);
  std::vector<std::byte> memory(kBytes);
  const Case made(input, memory.data());
  std::optional<ArrayView> view;
  try {
    check_dimensions("DLPack tensor", made.tensor.ndim);
    view = checked_view(made.tensor, made.subbyte_padded);
  } catch (const ExchangeError&) {
  } catch (const DTypeError&) {
  }
  require(!made.plain || view, "a tensor of small numbers is accepted");
  require(!dtype_name(made.tensor.dtype).empty(), "every dtype has a name for messages");
  if (!view) return 0;
  check_view(made, *view);
  if (made.empty()) return 0;
  const Reach reach = reach_of(made, view->item);
  const bool is_in_memory = reach.low >= -kBytes / 2 && reach.high <= kBytes / 2;
  if (is_in_memory && is_short(view->extent)) read_all(made, *view);
  return 0;
}
