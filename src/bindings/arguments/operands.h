// operands.h: holds the arguments of one call of an operator: its request and its arrays with their owners.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "bindings/arguments/from_python.h"
#include "calls/views.h"

namespace gs {

class DeviceCall;  // device_call.h

// A request with the public name of its operator, for messages.
struct OperatorRequest : Request {
  py::object op;
  const char* name() const { return PyUnicode_AsUTF8(op.ptr()); }
};

// The arrays of one call.
struct Operands {
  Operand input;
  OneOrMany<Operand> indices;
  Operand mask;
  Operand fill;
  Operand source;
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

}  // namespace gs
