// small_call.cpp: runs small gathers and scatters of plain arrays, with plans cached by geometry.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <algorithm>
#include <cstring>

#include "bindings/operators/small_call.h"
#include "calls/attempt.h"
#include "calls/make_plan.h"

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

Geometry::Geometry(const PlainArray& input, const PlainArray& index) : types_(types_of(input, index)) {
  int64_t* word = words_;
  *word++ = input.item;
  for (const PlainArray* array : {&input, &index}) {
    for (int axis = 0; axis < array->rank; ++axis) {
      *word++ = array->extent[axis];
      *word++ = array->stride[axis];
    }
  }
}

SmallCall::SmallCall(const Plan& plan, Direction direction, int64_t index_distance, bool is_shared)
    : is_shared_(is_shared), shape_(plan.result_shape) {
  // Not supported here: results without axes, for which NumPy returns scalars, and items of zero bytes.
  if (shape_.empty() || plan.item == 0 || !keeps_lock(plan)) return;
  move_ = host_backend().small_move(plan, direction, index_distance);
}

[[gnu::hot]] LaneResult SmallCall::gather(const PlainArray& input, const PlainArray& index,
                                          const PlainArray* out) const {
  if (out != nullptr) return gather_into(input, index, *out);
  if (input.library == Library::numpy) {
    PyObject* result = fresh_ndarray(input, shape_);
    if (result == nullptr || run(data_of(result), input.data, index.data)) return LaneResult::of(result);
    Py_DECREF(result);
    return LaneResult::declined();
  }
  dlpack::ManagedTensorVersioned* tensor = dlpack::allocate_tensor(shape_, input.dtype, input.item);
  if (run(static_cast<std::byte*>(tensor->tensor.data), input.data, index.data)) {
    return LaneResult::of(dlpack::to_torch(tensor).release().ptr());
  }
  tensor->deleter(tensor);
  return LaneResult::declined();
}

[[gnu::hot]] LaneResult SmallCall::gather_into(const PlainArray& input, const PlainArray& index,
                                               const PlainArray& target) const {
  if (!target.writable || !target.same_type(input)) return LaneResult::declined();
  if (!has_shape(target) || !target.is_contiguous()) return LaneResult::declined();
  const ByteRange written = range_of(target);
  if (written.overlaps(range_of(input)) || written.overlaps(range_of(index))) return LaneResult::declined();
  if (!move_->allows(index.data) || !run(target.data, input.data, index.data)) return LaneResult::declined();
  if (target.library == Library::torch) dlpack::mark_written(target.object);
  return LaneResult::of(Py_NewRef(target.object));
}

bool SmallCall::has_shape(const PlainArray& array) const {
  return array.rank == shape_.size() && std::equal(shape_.begin(), shape_.end(), array.extent);
}

bool SmallCall::scatter_into(const PlainArray& input, const PlainArray& index, const PlainArray& source) const {
  const ByteRange written = range_of(input);
  return input.writable && !written.overlaps(range_of(index)) && !written.overlaps(range_of(source)) &&
         move_->allows(index.data) && run(source.data, input.data, index.data);
}

[[gnu::hot]] LaneResult SmallCall::scatter(const PlainArray& input, const PlainArray& index, const PlainArray& source,
                                           bool in_place) const {
  if (in_place) {
    if (!scatter_into(input, index, source)) return LaneResult::declined();
    if (input.library == Library::torch) dlpack::mark_written(input.object);
    return LaneResult::of(Py_NewRef(input.object));
  }
  const ByteRange old = range_of(input);
  if (old.end - old.begin > kKeepLockBytes) return LaneResult::declined();
  Dims shape;
  shape.append(input.extent, input.rank);
  const auto fill = [&](std::byte* target) {
    std::memcpy(target, old.begin, static_cast<std::size_t>(old.end - old.begin));
    return run(source.data, target, index.data);
  };
  if (input.library == Library::numpy) {
    PyObject* result = fresh_ndarray(input, shape);
    if (result == nullptr || fill(data_of(result))) return LaneResult::of(result);
    Py_DECREF(result);
    return LaneResult::declined();
  }
  dlpack::ManagedTensorVersioned* tensor = dlpack::allocate_tensor(shape, input.dtype, input.item);
  if (fill(static_cast<std::byte*>(tensor->tensor.data))) {
    return LaneResult::of(dlpack::to_torch(tensor).release().ptr());
  }
  tensor->deleter(tensor);
  return LaneResult::declined();
}

Request CallKey::request() const {
  Request request;
  request.planner = planner;
  request.match = match;
  request.coordinates = planner == Planner::at_points;
  request.rule = rule;
  if (axis != kNoAxis) request.axis = axis;
  if (direction == Direction::scatter) request.set_scatter();
  return request;
}

int64_t index_distance(Planner planner, const PlainArray& index) {
  return planner == Planner::at_points ? index.stride[index.rank - 1] : 0;
}

namespace {

// The number of a place in the cache of 16 places. Each number has a random odd factor of its own, so that no product
// waits for another one, and the highest bits of the sum depend on the low bits of all numbers.
std::size_t place_of(const CallKey& key, const PlainArray& input, const PlainArray& index) {
  static constexpr auto kFactors = [] {
    std::array<uint64_t, 3 + 4 * PlainArray::kMaxRank> factors{};
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
                     static_cast<uint64_t>(key.rule.negative) << 16 | static_cast<uint64_t>(index.type) << 20;
  const uint64_t axis = key.axis == CallKey::kNoAxis ? 1 << 20 : static_cast<uint64_t>(key.axis);
  uint64_t sum = words * kFactors[0] + axis * kFactors[1] + static_cast<uint64_t>(input.item) * kFactors[2];
  const uint64_t* factor = kFactors.data() + 3;
  for (const PlainArray* array : {&input, &index}) {
    for (int axis_number = 0; axis_number < array->rank; ++axis_number, factor += 2) {
      sum += static_cast<uint64_t>(array->extent[axis_number]) * factor[0];
      sum += static_cast<uint64_t>(array->stride[axis_number]) * factor[1];
    }
  }
  return static_cast<std::size_t>(sum >> 60);
}

}  // namespace

[[gnu::hot]] const PlannedCall* PlannedCalls::find_or_make(const CallKey& key, const PlainArray& input,
                                                           const PlainArray& index, const PlainArray* source) {
  // A comparison with the last call needs no hash, which the processor would have to wait for.
  if (last_->geometry.fits(input, index) && last_->key == key) return &last_->call;
  Entry& entry = entries_[place_of(key, input, index)];
  last_ = &entry;
  if (entry.geometry.fits(input, index) && entry.key == key) return &entry.call;
  return make(entry, key, input, index, source);
}

const PlannedCall* PlannedCalls::make(Entry& entry, const CallKey& key, const PlainArray& input,
                                      const PlainArray& index, const PlainArray* source) {
  Views views;
  set(views.input, input);
  views.indices.resize(1);
  set(views.indices[0], index);
  views.indices[0].type = index.type;
  if (source != nullptr) set(views.source.emplace(), *source);
  Plan made = make_plan(key.request(), views);
  if (source != nullptr && !(made.result_shape == views.source->extent)) return nullptr;
  PlannedCall call;
  call.small = SmallCall(made, key.direction, index_distance(key.planner, index), false);
  if (source == nullptr && !call.small) call.plan = std::make_shared<const Plan>(std::move(made));
  entry.geometry = Geometry(input, index);
  entry.key = key;
  entry.call = std::move(call);
  return &entry.call;
}

PlannedCalls& PlannedCalls::of_thread() {
  thread_local PlannedCalls calls;
  return calls;
}

}  // namespace gs
