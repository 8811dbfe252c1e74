// call_frame.cpp: reads the frame of a call of XLA.
#include "jax/call_frame.h"

#include <array>
#include <span>
#include <stdexcept>
#include <string_view>

namespace gs {
namespace {

// The first word of the attribute `move`. It changes with the words, because saved functions outlive a version.
constexpr int64_t kMoveLayout = 1;

// The words of the attribute `move`, in the order in which gatherscatter._xla.lowering writes them.
enum MoveWord : std::size_t {
  kLayout,
  kOperation,
  kPlanner,
  kCoordinates,
  kHasAxis,
  kAxis,
  kBatchDims,
  kMatch,
  kBounds,
  kNegative,
  kReduce,
  kIncludeSelf,
  kDuplicates,
  kIndexCount,
  kHasMask,
  kHasFill,
  kWordCount,
};

struct ItemType {
  int bytes = 0;
  Number number = Number::none;
  IndexType index = IndexType::i64;
  bool is_index = false;
};

ItemType item_type(FfiDataType type) {
  switch (type) {
    case kPred: return {1, Number::boolean};
    case kS8: return {1, Number::i8, IndexType::i8, true};
    case kS16: return {2, Number::i16, IndexType::i16, true};
    case kS32: return {4, Number::i32, IndexType::i32, true};
    case kS64: return {8, Number::i64, IndexType::i64, true};
    case kU8: return {1, Number::u8, IndexType::u8, true};
    case kU16: return {2, Number::u16, IndexType::u16, true};
    case kU32: return {4, Number::u32, IndexType::u32, true};
    case kU64: return {8, Number::u64, IndexType::u64, true};
    case kF16: return {2, Number::f16};
    case kF32: return {4, Number::f32};
    case kF64: return {8, Number::f64};
    case kC64: return {8, Number::c64};
    case kBF16: return {2, Number::bf16};
    case kC128: return {16, Number::c128};
    case kF8E5M2: return {1, Number::f8_e5m2};
    case kF8E4M3FN: return {1, Number::f8_e4m3fn};
    case kF8E4M3B11FNUZ: return {1, Number::f8_e4m3b11fnuz};
    case kF8E5M2FNUZ: return {1, Number::f8_e5m2fnuz};
    case kF8E4M3FNUZ: return {1, Number::f8_e4m3fnuz};
    case kF8E4M3: return {1, Number::f8_e4m3};
    case kF8E3M4: return {1, Number::f8_e3m4};
    case kF8E8M0FNU: return {1, Number::none};
  }
  throw std::invalid_argument("XLA passed a dtype that gatherscatter has no name for");
}

const FfiBuffer& buffer_at(const FfiBuffers& buffers, int64_t at) {
  if (at >= buffers.size || buffers.kinds[at] != kBuffer) {
    throw std::invalid_argument("XLA passed " + std::to_string(buffers.size) + " buffers, expected more");
  }
  return *static_cast<const FfiBuffer*>(buffers.buffers[at]);
}

ArrayView view_of(const FfiBuffer& buffer) {
  ArrayView view;
  view.data = static_cast<std::byte*>(buffer.data);
  view.item = item_type(buffer.dtype).bytes;
  view.extent.append(buffer.dims, static_cast<int>(buffer.rank));
  view.stride = contiguous_strides(view.extent, view.item);
  return view;
}

IndexView index_of(const FfiBuffer& buffer) {
  const ItemType type = item_type(buffer.dtype);
  if (!type.is_index) throw std::invalid_argument("XLA passed an index that is not of integers");
  IndexView index;
  static_cast<ArrayView&>(index) = view_of(buffer);
  index.type = type.index;
  return index;
}

// Zeros of the shape of an array, which all share one item.
ArrayView zeros_like(const ArrayView& array) {
  alignas(16) static std::array<std::byte, 16> zero{};
  ArrayView view = array;
  view.data = zero.data();
  for (int64_t& stride : view.stride) stride = 0;
  return view;
}

std::span<const int64_t> move_words(const FfiCallFrame& frame, std::string& op) {
  const FfiAttributes& attributes = frame.attributes;
  std::span<const int64_t> words;
  for (int64_t i = 0; i < attributes.size; ++i) {
    const std::string_view name(attributes.names[i]->data, attributes.names[i]->size);
    if (name == "op" && attributes.types[i] == kString) {
      const auto& text = *static_cast<const FfiByteSpan*>(attributes.values[i]);
      op.assign(text.data, text.size);
    } else if (name == "move" && attributes.types[i] == kArray) {
      const auto& array = *static_cast<const FfiArray*>(attributes.values[i]);
      if (array.dtype == kS64) words = {static_cast<const int64_t*>(array.data), array.size};
    }
  }
  if (words.empty()) throw std::invalid_argument("the call has no attribute `move` of int64 words");
  if (words[kLayout] != kMoveLayout || words.size() != kWordCount) {
    throw std::invalid_argument("the function was saved by another version of gatherscatter; export it with this one");
  }
  return words;
}

// The enumerator of a word; `last` is the last one of its type.
template <class Enum>
Enum enum_of(int64_t word, Enum last) {
  if (word < 0 || word > static_cast<int64_t>(last)) {
    throw std::invalid_argument("the attribute `move` holds " + std::to_string(word) + ", expected at most " +
                                std::to_string(static_cast<int64_t>(last)));
  }
  return static_cast<Enum>(word);
}

FfiOperation operation_of(std::span<const int64_t> words) {
  return enum_of(words[kOperation], FfiOperation::scatter);
}

Request request_of(std::span<const int64_t> words, const FfiBuffer& data) {
  Request request;
  request.planner = enum_of(words[kPlanner], Planner::elementwise);
  request.coordinates = words[kCoordinates] != 0;
  if (words[kHasAxis] != 0) request.axis = words[kAxis];
  request.batch_dims = words[kBatchDims];
  request.match = enum_of(words[kMatch], Match::broadcast);
  request.rule = {enum_of(words[kBounds], Bounds::unchecked), enum_of(words[kNegative], Negative::out_of_bounds)};
  if (operation_of(words) == FfiOperation::gather) return request;
  request.set_scatter();
  request.duplicates = enum_of(words[kDuplicates], Duplicates::error);
  request.combine.reduce = enum_of(words[kReduce], Reduce::mean);
  request.combine.include_self = words[kIncludeSelf] != 0;
  if (request.combine.reduce != Reduce::set) request.combine.number = item_type(data.dtype).number;
  return request;
}

}  // namespace

FrameCall read_frame(const FfiCallFrame& frame) {
  FrameCall call;
  const std::span<const int64_t> words = move_words(frame, call.op);
  const FfiBuffers& given = frame.arguments;
  call.request = request_of(words, buffer_at(given, 0));
  call.result = view_of(buffer_at(frame.results, 0));
  int64_t at = 0;
  switch (operation_of(words)) {
    case FfiOperation::gather: call.views.input = view_of(buffer_at(given, at++)); break;
    case FfiOperation::accumulate:
      call.views.input = zeros_like(call.result);
      call.views.source = view_of(buffer_at(given, at++));
      break;
    case FfiOperation::scatter:
      call.views.input = view_of(buffer_at(given, at++));
      call.views.source = view_of(buffer_at(given, at++));
      call.holds_input = call.views.input.data == call.result.data;
      break;
  }
  if (words[kIndexCount] < 0 || words[kIndexCount] > given.size) {
    throw std::invalid_argument("the attribute `move` names more indices than the call has buffers");
  }
  call.views.indices.resize(static_cast<std::size_t>(words[kIndexCount]));
  for (IndexView& index : call.views.indices) index = index_of(buffer_at(given, at++));
  if (words[kHasMask] != 0) call.views.mask = view_of(buffer_at(given, at++));
  if (words[kHasFill] != 0) call.views.fill = view_of(buffer_at(given, at++));
  return call;
}

}  // namespace gs
