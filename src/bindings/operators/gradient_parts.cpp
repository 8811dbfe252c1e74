// gradient_parts.cpp: runs the gradients of the values of a scatter on the arrays of a call that is not run itself.
#include "bindings/operators/gradient_parts.h"

#include "bindings/arguments/arguments.h"
#include "bindings/arguments/big_integers.h"
#include "bindings/operators/call_object.h"
#include "bindings/operators/execute.h"
#include "bindings/python_context.h"
#include "bindings/python_errors.h"
#include "calls/value_gradients.h"
#include "core/error.h"

namespace gs {
namespace {

// The call of a scatter on the host, and arrays beside it.
struct Gradients {
  OperatorRequest request;
  Operands operands;
  Views views;

  explicit Gradients(const py::object& object) {
    const BoundCall* const call = call_in(object.ptr());
    if (call == nullptr) throw py::type_error("expected a call of a scatter");
    request = call->request;
    adopt_all(request, call->operands(), operands);
    if (operands.device_call) throw DTypeError("expected arrays in host memory");
    set_number(request, operands);
    if (has_wide(operands)) resolve_wide(request, operands);
    views = views_of(operands);
  }

  // The memory of an array beside them, which has this shape; null for None.
  std::byte* array(const py::object& object, const Dims& extent) const {
    if (object.is_none()) return nullptr;
    Operand operand;
    adopt(request.op, Role::data, object, operand);
    borrow(Role::data, operand);
    const bool fits = operand.view.item == views.input.item && operand.view.extent == extent;
    if (!fits || !is_packed(operand.view) || operand.on_device()) {
      throw ShapeError("an array of a gradient has another geometry than its call");
    }
    return operand.view.data;
  }
  std::byte* at_targets(const py::object& object) const { return array(object, views.input.extent); }
  std::byte* at_points(const py::object& object) const { return array(object, views.source->extent); }
};

// Runs body(gradients, context), which returns a CallResult.
template <class Body>
void run_on(const py::object& call, const Body& body) {
  const Gradients gradients(call);
  PythonContext context;
  finish(gradients.request, gradients.operands, body(gradients, context));
}

void extremes(const py::object& call, const py::object& gradient, const py::object& own, const py::object& to_input,
              const py::object& to_source) {
  run_on(call, [&](const Gradients& of, PythonContext& context) {
    const SharedGradient to{of.at_targets(gradient), of.at_targets(own), of.at_targets(to_input),
                            of.at_points(to_source)};
    return share_extremes(context, of.request, of.views, to);
  });
}

void product(const py::object& call, const py::object& gradient, const py::object& own, const py::object& to) {
  run_on(call, [&](const Gradients& of, PythonContext& context) {
    return share_product(context, of.request, of.views, of.at_targets(gradient), of.at_targets(own), of.at_points(to));
  });
}

}  // namespace

void bind_gradient_parts(py::module_& module) {
  module.def("share_extremes", &extremes, py::arg("call"), py::arg("gradient"), py::arg("own").none(true),
             py::arg("to_input"), py::arg("to_source"));
  module.def("share_product", &product, py::arg("call"), py::arg("gradient"), py::arg("own").none(true), py::arg("to"));
}

}  // namespace gs
