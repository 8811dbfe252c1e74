// pick_lane.cpp: makes small calls of those of NumPy's operators that have a condition, counts, a shift or a mask.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>

#include "bindings/operators/literals.h"
#include "bindings/operators/pick_lane.h"
#include "calls/attempt.h"
#include "core/pick_positions.h"
#include "core/repeat_positions.h"

namespace gs {
namespace {

constexpr int64_t kMostPoints = 256;                 // that are written
constexpr int64_t kMostPicked = kKeepLockBytes / 8;  // that are read: as many as a small call has
constexpr int64_t kOnStack = 1024;                   // numbers of each array
constexpr int64_t kMostBytes = 4096;                 // of values that are put in order

bool read_ndarray(PyObject* object, Role role, PlainArray& array) {
  return PyArray_CheckExact(object) && read_plain(object, role, array);
}

// The number of elements; more than kMostPicked if there are too many.
int64_t count_of(const PlainArray& array) {
  int64_t count = 1;
  for (int axis = 0; axis < array.rank; ++axis) {
    if (array.extent[axis] == 0) return 0;
    if (array.extent[axis] > kMostPicked || count > kMostPicked) return kMostPicked + 1;
    count *= array.extent[axis];
  }
  return count;
}

// Room for n numbers, which stay uninitialised; null if there is no memory.
template <class T>
class Room {
 public:
  explicit Room(int64_t n) : far_(n > kOnStack ? new (std::nothrow) T[static_cast<std::size_t>(n)] : nullptr) {
    data_ = n > kOnStack ? far_.get() : near_;
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  T* get() const { return data_; }

 private:
  std::unique_ptr<T[]> far_;
  T* data_;
  T near_[kOnStack];
};

// The first `count` of the positions that a call picks along its axis, as an index.
PlainArray index_of(int32_t* positions, int64_t count) {
  PlainArray index;
  index.data = reinterpret_cast<std::byte*>(positions);
  index.type = IndexType::i32;
  index.item = sizeof(int32_t);
  index.rank = 1;
  index.extent[0] = count;
  index.stride[0] = index.item;
  return index;
}

// The number of positions along the axis of a call, or of the flattened array; -1 if it has no such axis.
int64_t extent_of(const CallKey& key, const PlainArray& input) {
  if (key.axis == CallKey::kNoAxis) return count_of(input);
  const int64_t axis = key.axis < 0 ? key.axis + input.rank : key.axis;
  return axis >= 0 && axis < input.rank ? input.extent[axis] : -1;
}

bool read_integer(PyObject* object, int64_t& value) {
  int overflow = 0;
  if (!PyLong_CheckExact(object)) return false;
  value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0;
}

LaneResult gather(const CallKey& key, const PlainArray& input, const PlainArray& index) {
  const PlannedCall& planned = *PlannedCalls::of_thread().find_or_make(key, input, index, nullptr, nullptr);
  return planned.small ? planned.small.gather(input, {index}, nullptr) : LaneResult::declined();
}

LaneResult compress(const LaneCall& call, const PlainArray& input) {
  PlainArray condition;
  if (!read_ndarray(call.index, Role::mask, condition) || !condition.is_bool() || condition.rank != 1 ||
      condition.extent[0] > kMostPicked) {
    return LaneResult::declined();
  }
  const int64_t n = condition.extent[0];
  const Room<int32_t> positions(n);
  if (positions.get() == nullptr) return LaneResult::declined();
  const int64_t count = true_positions(condition.data, n, condition.stride[0], n, positions.get());
  return gather(call.key, input, index_of(positions.get(), count));
}

LaneResult repeat(const LaneCall& call, const PlainArray& input) {
  const int64_t extent = extent_of(call.key, input);
  int64_t times = 0;
  PlainArray counts;
  const bool is_one = read_integer(call.index, times);
  if (!is_one && !(read_ndarray(call.index, Role::index, counts) && counts.type == IndexType::i64 && counts.rank == 1 &&
                   counts.extent[0] == extent)) {
    return LaneResult::declined();
  }
  if (extent < 0 || extent > kMostPicked) return LaneResult::declined();
  const Room<int64_t> room(extent);  // read once: another thread may write to the counts
  int64_t* const of_each = room.get();
  if (of_each == nullptr) return LaneResult::declined();
  for (int64_t i = 0; i < extent; ++i) {
    if (!is_one) std::memcpy(&times, counts.data + i * counts.stride[0], sizeof times);
    of_each[i] = times;
  }
  const int64_t total = sum_of_counts(of_each, extent);
  if (total < 0 || total > kMostPicked) return LaneResult::declined();
  const Room<int32_t> positions(total);
  if (positions.get() == nullptr) return LaneResult::declined();
  repeat_positions(of_each, 0, extent, total, reinterpret_cast<std::byte*>(positions.get()), sizeof(int32_t));
  return gather(call.key, input, index_of(positions.get(), total));
}

LaneResult roll(const LaneCall& call, const PlainArray& input) {
  const int64_t extent = extent_of(call.key, input);
  int64_t shift = 0;
  if (extent <= 0 || extent > kMostPicked || !read_integer(call.index, shift)) return LaneResult::declined();
  const Room<int32_t> positions(extent);
  if (positions.get() == nullptr) return LaneResult::declined();
  roll_positions(shift, extent, positions.get());
  PlainArray index = index_of(positions.get(), extent);
  if (call.key.axis == CallKey::kNoAxis) {  // the result has the shape of the index
    index.rank = input.rank;
    int64_t stride = index.item;
    for (int axis = input.rank - 1; axis >= 0; --axis) {
      index.extent[axis] = input.extent[axis];
      index.stride[axis] = stride;
      stride *= input.extent[axis];
    }
  }
  return gather(call.key, input, index);
}

// Gives an array one axis. Its elements lie side by side.
void flatten(PlainArray& array, int64_t count) {
  array.rank = 1;
  array.extent[0] = count;
  array.stride[0] = array.item;
}

// The values of a putmask or a place as a source of one value for each element of the target.
class Values {
 public:
  Values() {}  // the items stay uninitialised
  // `count`: elements of the target. Returns false for values that need a cast, for none, and for many bytes.
  bool read(Pick pick, PyObject* object, const PlainArray& target, int64_t count, const std::byte* mask) {
    const int64_t item = target.item;
    int64_t given = 1;
    alignas(16) std::byte number[kMostNumber];
    const std::byte* values = number;
    if (is_number(object)) {
      if (item > kMostNumber || !write_number_as(target, object, number)) return false;
    } else {
      if (!read_ndarray(object, Role::source, source) || !source.same_type(target) || !source.is_contiguous())
        return false;
      given = count_of(source);
      values = source.data;
      if (given == 0 || given > kMostPoints) return false;
    }
    if (pick != Pick::putmask || given != count || values == number) {
      if (item * count > kMostBytes) return false;
      repeat_values(values, given, item, pick == Pick::place ? mask : nullptr, count, items_);
      source = PlainArray{};
      source.data = items_;
      source.item = item;
    }
    flatten(source, count);
    return true;
  }
  PlainArray source;

 private:
  alignas(64) std::byte items_[kMostBytes];
};

// An index of all positions, so that the plan depends on the number of elements alone, and the mask is an operand.
PlainArray all_positions(int64_t count) {
  static std::array<int32_t, kMostPoints> values = [] {
    std::array<int32_t, kMostPoints> made{};
    std::iota(made.begin(), made.end(), 0);
    return made;
  }();
  return index_of(values.data(), count);
}

LaneResult write(Pick pick, const LaneCall& call, PlainArray& target) {
  const int64_t count = count_of(target);
  PlainArray mask;
  if (count == 0 || count > kMostPoints || target.item == 0 || !target.is_contiguous() ||
      !read_ndarray(call.index, Role::mask, mask) || !mask.is_bool() || !mask.is_contiguous() ||
      count_of(mask) != count) {
    return LaneResult::declined();
  }
  std::byte truth[kMostPoints];  // read once: another thread may write to the mask
  std::memcpy(truth, mask.data, static_cast<std::size_t>(count));
  mask.data = truth;
  Values values;
  if (!values.read(pick, call.source, target, count, truth)) return LaneResult::declined();
  flatten(target, count);
  flatten(mask, count);
  const PlainArray index = all_positions(count);
  const PlannedCall* const planned =
      PlannedCalls::of_thread().find_or_make(call.key, target, index, &mask, &values.source);
  if (planned == nullptr || !planned->small) return LaneResult::declined();
  return planned->small.scatter(target, {index, &mask}, values.source, &target);
}

}  // namespace

[[gnu::hot]] LaneResult run_in_pick_lane(Pick pick, const LaneCall& call) {
  PlainArray input;
  if (!read_ndarray(call.input, Role::data, input) || input.rank == 0) return LaneResult::declined();
  switch (pick) {
    case Pick::compress: return compress(call, input);
    case Pick::repeat: return repeat(call, input);
    case Pick::roll: return roll(call, input);
    case Pick::putmask:
    case Pick::place: return write(pick, call, input);
    case Pick::none: break;
  }
  return LaneResult::declined();
}

}  // namespace gs
