// small_call.cpp: runs small gathers and scatters of plain arrays, with plans cached by geometry.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bindings/arguments/shared_file.h"
#include "bindings/operators/execute.h"
#include "bindings/operators/small_call.h"
#include "calls/attempt.h"
#include "calls/make_plan.h"
#include "host/file_mapping.h"

namespace gs {
namespace {

PyObject* fresh_ndarray(const PlainArray& like, const Dims& shape) {
  PyArray_Descr* descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(like.object));
  Py_INCREF(descr);
  return PyArray_NewFromDescr(&PyArray_Type, descr, shape.size(), reinterpret_cast<const npy_intp*>(shape.data()),
                              nullptr, nullptr, 0, nullptr);
}

std::byte* data_of(PyObject* array) {
  return static_cast<std::byte*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)));
}

void set(ArrayView& view, const PlainArray& array) {
  view.data = array.data;
  view.item = array.item;
  view.extent.append(array.extent, array.rank);
  view.stride.append(array.stride, array.rank);
}

}  // namespace

Geometry::Geometry(const PlainArray& input, const PlainArray& index, const PlainArray* mask)
    : types_(types_of(input, index, mask)) {
  int64_t* word = words_;
  *word++ = input.item;
  for (const PlainArray* array : {&input, &index, mask}) {
    for (int axis = 0; array != nullptr && axis < array->rank; ++axis) {
      *word++ = array->extent[axis];
      *word++ = array->stride[axis];
    }
  }
}

bool SmallOperands::may_share_file_with(const PlainArray& target) const {
  return may_share_file(target, index) || (mask != nullptr && may_share_file(target, *mask));
}

SmallCall::SmallCall(const Plan& plan, const SmallRequest& request, bool is_shared)
    : is_shared_(is_shared), reduces_(request.combine.reduce != Reduce::set), shape_(plan.result_shape) {
  // Not supported here: results without axes, for which NumPy returns scalars, and items of zero bytes.
  if (shape_.empty() || plan.item == 0 || !keeps_lock(plan)) return;
  move_ = host_backend().small_move(plan, request);
}

namespace {

// Makes an array like another one and calls write(address), which returns whether it has written all of the result.
template <class Write>
[[gnu::always_inline]] inline LaneResult written(const PlainArray& like, const Dims& shape, const Write& write) {
  if (like.library == Library::numpy) {
    auto owner = py::reinterpret_steal<py::object>(fresh_ndarray(like, shape));
    if (!owner) return LaneResult::of(nullptr);
    if (!write(data_of(owner.ptr()))) return LaneResult::declined();
    return LaneResult::of(owner.release().ptr());
  }
  const auto release = [](dlpack::ManagedTensorVersioned* tensor) { tensor->deleter(tensor); };
  std::unique_ptr<dlpack::ManagedTensorVersioned, decltype(release)> tensor(
      dlpack::allocate_tensor(shape, like.dtype, like.item), release);
  if (!write(static_cast<std::byte*>(tensor->tensor.data))) return LaneResult::declined();
  return LaneResult::of(dlpack::to_torch(tensor.release()).release().ptr());
}

}  // namespace

[[gnu::hot]] LaneResult SmallCall::gather(const PlainArray& input, const SmallOperands& operands,
                                          const PlainArray* out) const {
  if (out != nullptr) return gather_into(input, operands, *out);
  return written(input, shape_, [&](std::byte* result) { return run(operands.buffers(result, input.data)); });
}

[[gnu::hot]] LaneResult SmallCall::gather_into(const PlainArray& input, const SmallOperands& operands,
                                               const PlainArray& target) const {
  if (!target.writable || !target.same_type(input)) return LaneResult::declined();
  if (!has_shape(target) || !target.is_contiguous()) return LaneResult::declined();
  const ByteRange range = range_of(target);
  if (range.overlaps(range_of(input)) || operands.overlap(range)) return LaneResult::declined();
  if (may_share_file(target, input) || operands.may_share_file_with(target)) return LaneResult::declined();
  const SmallBuffers buffers = operands.buffers(target.data, input.data);
  if (!move_->allows(buffers) || !run(buffers)) return LaneResult::declined();
  if (target.library == Library::torch) dlpack::mark_written(target.object);
  return LaneResult::of(Py_NewRef(target.object));
}

bool SmallCall::has_shape(const PlainArray& array) const {
  return array.rank == shape_.size() && std::equal(shape_.begin(), shape_.end(), array.extent);
}

LaneResult SmallCall::scatter_into(const PlainArray& input, const SmallOperands& operands, const PlainArray& source,
                                   const PlainArray& target) const {
  const ByteRange range = range_of(target);
  if (!target.writable || range.overlaps(range_of(source)) || operands.overlap(range) ||
      may_share_file(target, source) || operands.may_share_file_with(target)) {
    return LaneResult::declined();
  }
  const bool is_input = target.object == input.object;
  if (!is_input) {
    const bool is_alike = target.same_type(input) && target.is_contiguous() && target.rank == input.rank &&
                          std::equal(input.extent, input.extent + input.rank, target.extent);
    const ByteRange old = range_of(input);
    if (!is_alike || range.overlaps(old) || may_share_file(target, input) || old.end - old.begin > kKeepLockBytes) {
      return LaneResult::declined();
    }
  }
  // The run of a file's memory may fail before it moves anything, which a large call reports.
  if (is_input && reduces_ && range.end - range.begin >= host::kLeastMappedBytes &&
      host::known_mapping(target.data).mapping.is_file()) {
    return LaneResult::declined();
  }
  const SmallBuffers buffers = operands.buffers(source.data, target.data);
  if (!move_->allows(buffers)) return LaneResult::declined();
  if (!is_input) std::memcpy(target.data, input.data, static_cast<std::size_t>(range.end - range.begin));
  if (!run(buffers)) {  // another thread has changed an index since the check
    if (is_input && reduces_) throw std::runtime_error(kUnstable);  // a repetition would combine values twice
    return LaneResult::declined();
  }
  if (target.library == Library::torch) dlpack::mark_written(target.object);
  return LaneResult::of(Py_NewRef(target.object));
}

[[gnu::hot]] LaneResult SmallCall::scatter(const PlainArray& input, const SmallOperands& operands,
                                           const PlainArray& source, const PlainArray* out) const {
  if (out != nullptr) return scatter_into(input, operands, source, *out);
  const ByteRange old = range_of(input);
  if (old.end - old.begin > kKeepLockBytes) return LaneResult::declined();
  Dims shape;
  shape.append(input.extent, input.rank);
  return written(input, shape, [&](std::byte* target) {
    std::memcpy(target, old.begin, static_cast<std::size_t>(old.end - old.begin));
    return run(operands.buffers(source.data, target));
  });
}

Request CallKey::request() const {
  Request request;
  request.planner = planner;
  request.match = match;
  request.coordinates = planner == Planner::at_points;
  request.rule = rule;
  if (axis != kNoAxis) request.axis = axis;
  if (direction == Direction::scatter) request.set_scatter();
  request.combine = combine;
  request.duplicates = duplicates;
  return request;
}

int64_t index_distance(Planner planner, const PlainArray& index) {
  return planner == Planner::at_points ? index.stride[index.rank - 1] : 0;
}

namespace {

// The number of a place in the cache of 16 places. Each number has a random odd factor of its own, so that no product
// waits for another one, and the highest bits of the sum depend on the low bits of all numbers.
std::size_t place_of(const CallKey& key, const PlainArray& input, const PlainArray& index, const PlainArray* mask) {
  static constexpr auto kFactors = [] {
    std::array<uint64_t, 3 + 6 * PlainArray::kMaxRank> factors{};
    uint64_t state = 0x9E3779B97F4A7C15u;
    for (uint64_t& factor : factors) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      factor = state | 1;
    }
    return factors;
  }();
  const auto words = static_cast<uint64_t>(key.direction) | static_cast<uint64_t>(key.planner) << 4 |
                     static_cast<uint64_t>(key.match) << 8 | static_cast<uint64_t>(key.rule.bounds) << 12 |
                     static_cast<uint64_t>(key.rule.negative) << 16 | static_cast<uint64_t>(index.type) << 20 |
                     static_cast<uint64_t>(key.combine.reduce) << 24 | static_cast<uint64_t>(key.has_fill) << 28 |
                     static_cast<uint64_t>(key.combine.number) << 32;
  const uint64_t axis = key.axis == CallKey::kNoAxis ? 1 << 20 : static_cast<uint64_t>(key.axis);
  uint64_t sum = words * kFactors[0] + axis * kFactors[1] + static_cast<uint64_t>(input.item) * kFactors[2];
  const uint64_t* factor = kFactors.data() + 3;
  for (const PlainArray* array : {&input, &index, mask}) {
    for (int axis_number = 0; array != nullptr && axis_number < array->rank; ++axis_number, factor += 2) {
      sum += static_cast<uint64_t>(array->extent[axis_number]) * factor[0];
      sum += static_cast<uint64_t>(array->stride[axis_number]) * factor[1];
    }
  }
  return static_cast<std::size_t>(sum >> 60);
}

}  // namespace

[[gnu::hot]] const PlannedCall* PlannedCalls::find_or_make(const CallKey& key, const PlainArray& input,
                                                           const PlainArray& index, const PlainArray* mask,
                                                           const PlainArray* source) {
  // A comparison with the last call needs no hash, which the processor would have to wait for.
  if (last_->geometry.fits(input, index, mask) && last_->key == key) return &last_->call;
  Entry& entry = entries_[place_of(key, input, index, mask)];
  last_ = &entry;
  if (entry.geometry.fits(input, index, mask) && entry.key == key) return &entry.call;
  return make(entry, key, input, index, mask, source);
}

const PlannedCall* PlannedCalls::make(Entry& entry, const CallKey& key, const PlainArray& input,
                                      const PlainArray& index, const PlainArray* mask, const PlainArray* source) {
  Views views;
  set(views.input, input);
  views.indices.resize(1);
  set(views.indices[0], index);
  views.indices[0].type = index.type;
  if (mask != nullptr) set(views.mask.emplace(), *mask);
  if (key.has_fill) views.fill.emplace().item = input.item;
  if (source != nullptr) set(views.source.emplace(), *source);
  Plan made = make_plan(key.request(), views);
  if (source != nullptr && !(made.result_shape == views.source->extent)) return nullptr;
  PlannedCall call;
  call.small = SmallCall(made, {key.direction, key.combine, index_distance(key.planner, index), key.has_fill}, false);
  if (source == nullptr && !call.small) call.plan = std::make_shared<const Plan>(std::move(made));
  entry.geometry = Geometry(input, index, mask);
  entry.key = key;
  entry.call = std::move(call);
  return &entry.call;
}

PlannedCalls& PlannedCalls::of_thread() {
  thread_local PlannedCalls calls;
  return calls;
}

}  // namespace gs
