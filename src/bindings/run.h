// run.h: declares one call of an operator, from Python objects to the finished result.
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

// Which one of several duplicates a scatter keeps; `error` makes duplicates an error.
enum class Duplicates : uint8_t { last, first, error };

// What an operator asks of a planner, apart from the arrays.
struct Request {
  py::object op;  // its public name, for messages
  Planner planner = Planner::take_axis;
  std::optional<int64_t> axis;
  int64_t batch_dims = 0;
  Match match = Match::prefix;
  Rule rule;
  bool coordinates = false;  // at_points: one index array, whose last axis holds coordinates

  Fit fit = Fit::broadcast;  // how the source of a scatter fits the points
  Dims tile;                 // along_axis: shape of the tiles that run one by one; empty: no tiles

  Direction direction = Direction::gather;
  Combine combine;  // for scatters only, as `duplicates`
  Duplicates duplicates = Duplicates::last;

  const char* name() const { return PyUnicode_AsUTF8(op.ptr()); }
};

// The index operands of one call: none for elementwise, any number for at_points, else one. Up to one operand needs no
// allocation.
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
  Operand source;  // the values that a scatter writes
  Operand out;
  // Null for a call on the host. Last member, and so destroyed first: it waits for its work before the operands release
  // their memory.
  std::shared_ptr<DeviceCall> device_call;

  // Calls use(role, operand) for all operands, also for those that are not `given`.
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

// The arguments of an operator as the public Python functions pass them.
struct RawOperands {
  py::handle input;
  py::handle indices;  // a tuple for at_points, unless they are coordinates
  py::handle fill = Py_None;
  py::handle mask = Py_None;
  py::handle out = Py_None;
  py::handle source = Py_None;
};

// Adopts all arguments, chooses the device, then borrows all arguments.
void adopt_all(const Request& request, const RawOperands& raw, Operands& operands);
Plan make_plan(const Request& request, const Operands& operands);
Plan make_scatter_plan(const Request& request, const Operands& operands);
// Sets the type of number of a reduction. DTypeError if the reduction does not support the input's dtype.
void set_number(Request& request, const Operands& operands);

// Runs the plan of a gather on the operands, into `out` or into a fresh array.
py::object execute(const Request& request, const Plan& plan, const Operands& operands);

// Adopts the arguments, makes the plan and executes it. In planning mode (plan_object.h), returns the Plan object
// instead.
py::object run(Request request, const RawOperands& raw);

// Like `run`, for two plain arrays (exact ndarrays or torch tensors) without any other argument. Throws before it reads
// a value if the input is a scalar or its axis is empty, because only the operator's Python function has the right
// message.
py::object run_plain(const Request& request, py::handle input, py::handle index);

// The threads of a call in this context: the limit of the innermost open block, else the number set for the process,
// else the number of processors that this thread may use. Needs the GIL; the returned object does not.
ThreadCount thread_count();
void set_thread_count(int count);
// The context variable of the thread limits: a tuple with one list for each block that was entered, innermost last. The
// list holds the limit of the block while the block is open, and is empty afterwards.
py::object thread_limits();

}  // namespace gs
