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

Geometry::Geometry(const PlainArray& input, const PlainArray& index) {
  add(static_cast<int64_t>(index.type) | int64_t{input.rank} << 8 | int64_t{index.rank} << 16);
  add(input.item);
  add(input);
  add(index);
}

void Geometry::add(const PlainArray& array) {
  for (int axis = 0; axis < array.rank; ++axis) {
    add(array.extent[axis]);
    add(array.stride[axis]);
  }
}

SmallCall::SmallCall(const Plan& plan, Direction direction, bool is_shared)
    : is_shared_(is_shared), shape_(plan.result_shape) {
  // Not supported here: results without axes, for which NumPy returns scalars, and items of zero bytes.
  if (shape_.empty() || plan.item == 0 || !keeps_lock(plan)) return;
  move_ = host_backend().small_move(plan, direction);
}

LaneResult SmallCall::gather(const PlainArray& input, const PlainArray& index, const PlainArray* out) const {
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

LaneResult SmallCall::gather_into(const PlainArray& input, const PlainArray& index, const PlainArray& target) const {
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

LaneResult SmallCall::scatter(const PlainArray& input, const PlainArray& index, const PlainArray& source,
                              bool in_place) const {
  if (in_place) {
    if (!scatter_into(input, index, source)) return LaneResult::declined();
    if (input.library == Library::torch) dlpack::mark_written(input.object);
    return LaneResult::of(Py_NewRef(input.object));
  }
  Dims shape;
  shape.append(input.extent, input.rank);
  const ByteRange old = range_of(input);
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

Request CallForm::request() const {
  Request request;
  request.planner = planner;
  request.match = match;
  if (has_axis) request.axis = axis;
  if (direction == Direction::scatter) request.set_scatter();
  return request;
}

const PlannedCall& PlannedCalls::find(const CallForm& form, const PlainArray& input, const PlainArray& index,
                                      const PlainArray* source) {
  const Geometry geometry(input, index);
  const std::size_t slot = geometry.hash() ^ static_cast<std::size_t>(form.axis) ^
                           static_cast<std::size_t>(form.direction) << 3 ^ static_cast<std::size_t>(form.planner);
  Entry& entry = entries_[slot % entries_.size()];
  if (entry.geometry == geometry && entry.form == form) return entry.call;
  return plan(entry, geometry, form, input, index, source);
}

const PlannedCall& PlannedCalls::plan(Entry& entry, const Geometry& geometry, const CallForm& form,
                                      const PlainArray& input, const PlainArray& index, const PlainArray* source) {
  Views views;
  set(views.input, input);
  views.indices.resize(1);
  set(views.indices[0], index);
  views.indices[0].type = index.type;
  if (source != nullptr) set(views.source.emplace(), *source);
  Plan made = make_plan(form.request(), views);
  static const PlannedCall kNotPlanned;
  if (source != nullptr && !(made.result_shape == views.source->extent)) return kNotPlanned;
  PlannedCall call;
  if (source == nullptr || bytes_of(views.input) <= kKeepLockBytes) call.small = SmallCall(made, form.direction, false);
  if (source == nullptr && !call.small) call.plan = std::make_shared<const Plan>(std::move(made));
  entry.geometry = geometry;
  entry.form = form;
  entry.call = std::move(call);
  return entry.call;
}

PlannedCalls& PlannedCalls::of_thread() {
  thread_local PlannedCalls calls;
  return calls;
}

}  // namespace gs
