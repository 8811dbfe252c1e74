// run.h: one call of an operator, from Python objects to the finished result.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "bindings/device_call.h"
#include "core/combine.h"
#include "host/thread_count.h"
#include "plans/plans.h"

namespace gs {

enum class Planner : uint8_t { take_axis, along_axis, at_points, elementwise };

// Which of several points that write to one element wins, or that there must not be several.
enum class Duplicates : uint8_t { last, first, error };

// What an operator asks of a planner, apart from the arrays.
struct Request {
  py::object op;  // its public name, for messages
  Planner planner = Planner::take_axis;
  std::optional<int64_t> axis;
  int64_t batch_dims = 0;
  Match match = Match::prefix;
  Rule rule;
  bool coordinates = false;  // at_points: the index arrays lie side by side along the last axis of one array

  Fit fit = Fit::broadcast;  // of what a scatter reads
  Dims tile;                 // along_axis: walked in tiles of this shape; empty: as one

  Direction direction = Direction::gather;
  Combine combine;  // of a scatter, as are duplicates
  Duplicates duplicates = Duplicates::last;

  const char* name() const { return PyUnicode_AsUTF8(op.ptr()); }
};

// The index operands of one call: one, but none for elementwise and any number for at_points, which is the case that
// must not allocate.
class IndexOperands {
 public:
  IndexOperands() = default;
  IndexOperands(const IndexOperands& other) { *this = other; }
  IndexOperands& operator=(const IndexOperands& other) {
    resize(other.size());
    std::copy(other.begin(), other.end(), begin());
    return *this;
  }
  void resize(std::size_t count) {
    count_ = count;
    if (count > 1) many_.resize(count);
  }
  std::size_t size() const { return count_; }
  Operand* begin() { return count_ > 1 ? many_.data() : &one_; }
  Operand* end() { return begin() + count_; }
  const Operand* begin() const { return count_ > 1 ? many_.data() : &one_; }
  const Operand* end() const { return begin() + count_; }
  Operand& operator[](std::size_t i) { return begin()[i]; }
  const Operand& operator[](std::size_t i) const { return begin()[i]; }

 private:
  std::size_t count_ = 0;
  Operand one_;
  std::vector<Operand> many_;
};

// The arrays of one call.
struct Operands {
  Operand input;
  IndexOperands indices;
  Operand mask;
  Operand fill;
  Operand source;  // what a scatter reads
  Operand out;
  std::shared_ptr<DeviceCall> place;  // null: on the host. Last, so that its work ends before memory is given up

  // use(role, operand) for all of them, `given` or not.
  template <class Use>
  void each(Use&& use) {
    use(Role::data, input);
    for (Operand& index : indices) use(Role::index, index);
    use(Role::source, source);
    use(Role::out, out);
    use(Role::mask, mask);
    use(Role::fill, fill);
  }
  template <class Use>
  void each(Use&& use) const {
    const_cast<Operands*>(this)->each([&](Role role, const Operand& operand) { use(role, operand); });
  }
};

// The raw arguments of an operator, positional: what Python's public functions hand over.
struct RawOperands {
  py::handle input;
  py::handle indices;  // a tuple for at_points, unless they are coordinates
  py::handle fill = Py_None;
  py::handle mask = Py_None;
  py::handle out = Py_None;
  py::handle source = Py_None;
};

void adopt_all(const Request& request, const RawOperands& raw, Operands& operands);
Plan make_plan(const Request& request, const Operands& operands);
Plan make_scatter_plan(const Request& request, const Operands& operands);
// Settles the dtype of a reduction; DTypeError where the input's has none of that kind.
void set_number(Request& request, const Operands& operands);

// Runs a gather's `plan` on the operands into `out`, or into a fresh array.
py::object execute(const Request& request, const Plan& plan, const Operands& operands);

// adopt, plan, execute; in planning mode (see plan_object.h) gives the Plan object instead.
py::object run(Request request, const RawOperands& raw);

// The same for two plain arrays, exact ndarrays or torch tensors, and nothing else. Throws before any value is looked
// at if the input is a scalar or its axis is empty: what to say then is the operator's business.
py::object run_plain(const Request& request, py::handle input, py::handle index);

// ThreadCount for calls made here: the limit of the innermost block that is open, else the number of the process, else
// the processors that this thread may use. Needs the interpreter lock; the answer does not.
ThreadCount thread_count();
void set_thread_count(int count);
// The context variable of the limits: a tuple of lists, one for each block that was entered, innermost last; a list
// holds its number while the block is open.
py::object thread_limits();

}  // namespace gs
