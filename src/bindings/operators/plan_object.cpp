// plan_object.cpp: implements plans as Python objects: calls, state for pickle, equality, facts.
#include "bindings/operators/plan_object.h"

#include <algorithm>
#include <utility>

#include "backends/backend.h"
#include "bindings/arguments/arguments.h"
#include "bindings/arguments/big_integers.h"
#include "bindings/arguments/keywords.h"
#include "bindings/arguments/torch_part.h"
#include "bindings/arguments/tuples.h"
#include "bindings/devices/device_operands.h"
#include "bindings/operators/execute.h"
#include "bindings/operators/torch_lane.h"
#include "bindings/python_calls.h"
#include "bindings/python_errors.h"
#include "bindings/thread_limits.h"
#include "calls/scatter.h"
#include "calls/tiles.h"
#include "core/error.h"
#include "plans/checks.h"

namespace gs {
namespace {

// Runs body and throws its errors as operators do, with the operator's name before the text.
template <class Body>
py::object raising(const char* op, Body&& body) {
  PyObject* result = guarded(op, std::forward<Body>(body));
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

}  // namespace

PlanObject::PlanObject(const OperatorRequest& request, const Plan& plan, const Operands& operands) : plan_(plan) {
  parts_.device = operands.device_call ? operands.device_call->device() : -1;
  parts_.request = request;
  parts_.input = Signature(operands.input);
  parts_.mask = Signature(operands.mask);
  parts_.out = Signature(operands.out);
  parts_.source = Signature(operands.source);
  parts_.fill = own_fill(operands);
  for (const Operand& index : operands.indices) parts_.indices.emplace_back(index);
  prepare_small_call();
}

void PlanObject::prepare_small_call() {
  const OperatorRequest& request = parts_.request;
  if (request.planner == Planner::elementwise || parts_.takes_tuple()) return;
  if (request.direction != Direction::gather || !request.tile.empty() || parts_.indices.size() != 1) return;
  if (parts_.mask.given || request.rule.fills()) return;  // the form of the calls of plans has neither
  if (std::max(parts_.input.extent.size(), parts_.indices[0].extent.size()) > PlainArray::kMaxRank) return;
  if (parts_.out.given &&
      !same_strides(parts_.out.extent, parts_.out.stride, contiguous_strides(parts_.out.extent, parts_.out.item)))
    return;
  const PlainArray index = parts_.indices[0].plain();
  geometry_ = Geometry(parts_.input.plain(), index);
  SmallRequest small;
  small.index_distance = index_distance(request.planner, index);
  small_ = SmallCall(plan_, small, true);
}

[[gnu::hot]] LaneResult PlanObject::run_small(const LaneCall& call) const {
  const bool has_out = call.out != nullptr;
  PlainArray input;
  PlainArray index;
  PlainArray out;
  const bool is_plain = small_ && has_plain_values(call.input) && (!has_out || has_plain_values(call.out)) &&
                        (!has_out || read_plain(call.out, Role::out, out)) &&
                        read_plain(call.index, Role::index, index) && read_plain(call.input, Role::data, input) &&
                        input.has_type(parts_.input.type) && geometry_.fits(input, index);
  if (is_plain) return small_.gather(input, {index}, has_out ? &out : nullptr);
  return small_ && !has_out && !parts_.out.given ? run_by_torch_lane(call) : LaneResult::declined();
}

// Runs a small gather that records a gradient. Declined if an array has another geometry than planned.
LaneResult PlanObject::run_by_torch_lane(const LaneCall& call) const {
  const OperatorRequest& request = parts_.request;
  PlainArray input;
  PlainArray index;
  if (request.batch_dims != 0 || !read_plain(call.index, Role::index, index) ||
      !read_plain(call.input, Role::data, input) || !input.has_type(parts_.input.type) ||
      !geometry_.fits(input, index)) {
    return LaneResult::declined();
  }
  LaneCall own = call;
  own.key.planner = request.planner;
  own.key.match = request.match;
  own.key.rule = request.rule;
  own.key.axis = request.axis.value_or(CallKey::kNoAxis);
  return run_in_torch_lane(own);
}

namespace {

py::handle not_implemented() {
  return Py_NotImplemented;
}

void expect(const Signature& planned, const Operand& given, const char* what) {
  if (planned.matches(given)) return;
  throw ShapeError(std::string("the plan was made for ") + what + " " + planned.text() + ", not for " +
                   Signature(given).text());
}

// Like `expect`, except that strides may differ.
void expect_alike(const Signature& planned, const Operand& given, const char* what) {
  Signature wanted = planned;
  wanted.stride = given.view.stride;
  if (wanted.extent.size() != given.view.rank() || !wanted.matches(given)) expect(planned, given, what);
}

}  // namespace

void PlanObject::check_indices(const Operands& operands) const {
  if (operands.indices.size() != parts_.indices.size())
    throw ShapeError("the plan was made for " + std::to_string(parts_.indices.size()) + " index arrays, got " +
                     std::to_string(operands.indices.size()));
  for (std::size_t a = 0; a < parts_.indices.size(); ++a) {
    const Operand& given = operands.indices[a];
    if (given.wide && given.view.extent == parts_.indices[a].extent) continue;  // a new plan is made for its dtype
    expect(parts_.indices[a], given, "index");
  }
}

void PlanObject::check(const Operands& operands) const {
  expect(parts_.input, operands.input, "input");
  check_indices(operands);
  expect(parts_.source, operands.source, "src");
  expect(parts_.mask, operands.mask, "mask");
}

// Runs a call that torch has to know of. NotImplemented for any other one, and for one that torch has no rule for.
// `words` are those of a scatter that were given with the call: reduce, include_self, duplicates.
py::object PlanObject::run_by_torch(const RawOperands& raw, const py::object& words) const {
  if (!parts_.request.tile.empty() || !torch_takes_part(raw))
    return py::reinterpret_borrow<py::object>(not_implemented());
  const py::object self =
      py::cast(this, py::return_value_policy::reference);  // the `_core.Plan` that holds this object
  static PyObject* kept = nullptr;
  const py::handle run = kept_part(kept, "gatherscatter._torch.plans", "run");
  return python::call(run, self, raw.input, raw.indices, raw.source, raw.mask, raw.out, words);
}

py::object PlanObject::call(py::handle input, py::handle indices, py::handle source, py::handle mask,
                            py::handle out) const {
  return raising(parts_.request.name(), [&]() -> py::object {
    Operands operands;
    const py::object own_indices = as_planned(parts_.request, indices, index_types());
    const RawOperands raw{input, own_indices, py::none(), mask, out, source};
    if (py::object result = run_by_torch(raw, py::none()); !result.is(not_implemented())) return result;
    adopt_all(parts_.request, raw, operands);
    check(operands);
    operands.fill = parts_.fill;
    std::optional<OperatorRequest> own;  // a copy, because resolve_wide may change its bounds
    if (has_wide(operands)) resolve_wide(own.emplace(parts_.request), operands);
    const OperatorRequest& request = own ? *own : parts_.request;
    if (request.direction == Direction::scatter) {
      const bool on_copy = !operands.out.given && !parts_.out.given;
      return execute_scatter(request, operands, on_copy && !own ? &plan_ : nullptr);
    }
    // The plan is for the layout of the planned `out`, or of a fresh array. Any other layout needs a new plan.
    const bool as_planned =
        parts_.out.given ? parts_.out.matches(operands.out)
                         : !operands.out.given || (operands.out.view.extent == plan_.result_shape &&
                                                   operands.out.view.item == plan_.item &&
                                                   same_strides(plan_.result_shape, operands.out.view.stride,
                                                                contiguous_strides(plan_.result_shape, plan_.item)));
    return execute_gather(request, operands, as_planned && !own ? &plan_ : nullptr);
  });
}

py::object PlanObject::scatter(const Combine& combine, Duplicates duplicates, const RawOperands& raw) const {
  OperatorRequest request = parts_.request;
  if (parts_.request.direction == Direction::gather) request.op = py::str("Plan.scatter");
  request.direction = Direction::scatter;
  request.tile.clear();
  request.combine = combine;
  request.duplicates = duplicates;
  Operands operands;
  const py::object own_indices = as_planned(parts_.request, raw.indices, index_types());
  RawOperands own = raw;
  own.indices = own_indices;
  adopt_all(request, own, operands);
  expect_alike(parts_.input, operands.input, "input");
  check_indices(operands);
  if (parts_.mask.given && !operands.mask.given) expect(parts_.mask, operands.mask, "mask");  // any other one is taken
  set_number(request, operands);
  resolve_wide(request, operands);
  return execute_scatter(request, operands, nullptr);
}

namespace {

py::dict decision_facts(const Decision& decision) {
  py::dict facts;
  facts["decision"] = decision.name;
  facts["chosen"] = decision.chosen;
  if (decision.reason != nullptr) {
    facts["reason"] = decision.reason;
  } else {
    facts["quantity"] = decision.quantity;
    facts["amount"] = decision.amount;
    facts["threshold"] = decision.threshold;
    facts["value"] = decision.value;
  }
  return facts;
}

}  // namespace

py::dict PlanObject::to_dict() const {
  std::optional<DeviceCall> there;
  if (parts_.device >= 0) {
    there.emplace(parts_.device, dlpack::kLegacyStream);
    there->release_streams();
  }
  const Backend& backend = there ? static_cast<const Backend&>(there->queue()) : host_backend();
  py::dict facts;
  facts["op"] = parts_.request.op;
  facts["planner"] = name_of(parts_.request.planner);
  facts["input"] = parts_.input.text();
  py::list indices;
  for (const Signature& index : parts_.indices) indices.append(index.text());
  facts["indices"] = indices;
  facts["mask"] = parts_.mask.given ? py::object(py::str(parts_.mask.text())) : py::none();
  facts["result_shape"] = to_tuple(plan_.result_shape);
  const bool scatters = parts_.request.direction == Direction::scatter;
  facts["direction"] = scatters ? "scatter" : "gather";
  if (scatters) {
    const Reduce reduce = parts_.request.combine.reduce;
    facts["src"] = parts_.source.text();
    facts["reduce"] = reduce == Reduce::set ? py::object(py::none()) : py::str(name_of(reduce));
    facts["duplicates"] = name_of(parts_.request.duplicates);
  }
  const char* const bounds = name_of(plan_.rule.bounds);
  facts["bounds"] = scatters && plan_.rule.fills() ? "drop" : bounds;
  facts["negative"] = name_of(plan_.rule.negative);
  facts["kind"] = kind_name(plan_.kind);
  facts["unit_bytes"] = plan_.unit;
  facts["points"] = plan_.space.count();
  facts["bytes_moved"] = plan_.bytes_moved();
  facts["tiles"] = parts_.request.tile.empty() ? 1 : tile_count(plan_.result_shape, parts_.request.tile);
  facts["backend"] = backend.name();
  const Plan run = runs_reversed(parts_.request, plan_) ? reversed(plan_) : plan_;
  facts["kernel"] = backend.kernel(run, parts_.request.direction, parts_.request.combine, thread_count());
  facts["threads"] = backend.threads(run, parts_.request.direction, thread_count());
  py::list decisions;
  for (const Decision& decision :
       backend.decisions(run, parts_.request.direction, parts_.request.combine, thread_count())) {
    decisions.append(decision_facts(decision));
  }
  facts["decisions"] = decisions;
  return facts;
}

py::dict PlanObject::state() const {
  return to_state(parts_);
}

PlanObject PlanObject::restored(const py::dict& state) {
  PlanObject object;
  object.parts_ = from_state(state);
  Operands operands = object.parts_.operands();
  OperatorRequest& request = object.parts_.request;
  set_number(request, operands);
  object.plan_ = plan_for(request, operands);
  object.prepare_small_call();
  return object;
}

bool PlanObject::equals(const PlanObject& other) const {
  const bool same_request = parts_.request.op.equal(other.parts_.request.op) &&
                            static_cast<const Request&>(parts_.request) == other.parts_.request &&
                            parts_.device == other.parts_.device;
  if (!same_request || !(parts_.input == other.parts_.input) || !(parts_.mask == other.parts_.mask) ||
      !(parts_.out == other.parts_.out) || !(parts_.source == other.parts_.source)) {
    return false;
  }
  if (parts_.indices != other.parts_.indices || parts_.fill.given != other.parts_.fill.given) return false;
  if (!parts_.fill.given) return true;
  return parts_.fill.view.extent == other.parts_.fill.view.extent &&
         python::call_method(as_opaque_ndarray(parts_.fill.view), "tobytes")
             .equal(python::call_method(as_opaque_ndarray(other.parts_.fill.view), "tobytes"));
}

py::ssize_t PlanObject::hash() const {
  return py::hash(
      py::make_tuple(parts_.request.op, static_cast<int>(parts_.request.planner), to_tuple(plan_.result_shape)));
}

py::object make_plan_object(const OperatorRequest& request, const Plan& plan, const Operands& operands) {
  return py::cast(PlanObject(request, plan, operands));
}

void bind_plan(py::module_& module) {
  py::class_<PlanObject>(module, "Plan")
      .def(
          "__call__",
          [](const PlanObject& self, py::object input, py::object indices, py::object src, py::object mask,
             py::object out) { return self.call(input, indices, src, mask, out); },
          py::arg("input"), py::arg("indices"), py::arg("src") = py::none(), py::pos_only(), py::kw_only(),
          py::arg("mask") = py::none(), py::arg("out") = py::none())
      .def(
          "scatter",
          [](const PlanObject& self, py::object target, py::object indices, py::object src, py::object reduce,
             py::object include_self, py::object duplicates, py::object mask, py::object out) {
            return raising("Plan.scatter", [&] {
              const bool includes = parse_bool(include_self.ptr(), "include_self");
              const ScatterKeywords words = parse_scatter_keywords(reduce.ptr(), includes, duplicates.ptr());
              const RawOperands raw{target, indices, py::none(), mask, out, src};
              const bool sets = words.combine.reduce == Reduce::set;
              const py::object reduce_name = sets ? py::object(py::none()) : py::str(name_of(words.combine.reduce));
              py::object result = self.run_by_torch(raw, py::make_tuple(reduce_name, includes, duplicates));
              return result.is(not_implemented()) ? self.scatter(words.combine, words.duplicates, raw) : result;
            });
          },
          py::pos_only())
      .def("to_dict", &PlanObject::to_dict)
      .def(
          "__eq__", [](const PlanObject& self, const PlanObject& other) { return self.equals(other); },
          py::is_operator())
      .def("__hash__", [](const PlanObject& self) { return self.hash(); })
      .def("__reduce__", [module](const PlanObject& self) {
        return py::make_tuple(module.attr("restore_plan"), py::make_tuple(self.state()));
      });
  forbid_new(module.attr("Plan"));
  module.def("restore_plan", [](const py::dict& state) {
    try {
      return PlanObject::restored(state);
    } catch (const py::cast_error&) {
      throw py::value_error("invalid state of a Plan");
    }
  });
}

}  // namespace gs
