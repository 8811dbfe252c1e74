// plan_object.cpp: see plan_object.h.
#include "bindings/plan_object.h"

#include <algorithm>
#include <utility>

#include "backends/backend.h"
#include "bindings/big_integers.h"
#include "bindings/execute.h"
#include "bindings/keywords.h"
#include "bindings/python_errors.h"
#include "bindings/to_python.h"
#include "core/error.h"
#include "plans/checks.h"
#include "plans/tiles.h"

namespace gs {
namespace {

thread_local bool planning = false;

struct Planning {
  Planning() { planning = true; }
  Planning(const Planning&) = delete;
  Planning& operator=(const Planning&) = delete;
  ~Planning() { planning = false; }
};

const char* const kBoundsNames[] = {"raise", "deferred", "fill", "clip", "wrap", "unchecked"};
const char* const kNegativeNames[] = {"from_end", "out_of_bounds"};
const char* const kPlannerNames[] = {"take_axis", "along_axis", "at_points", "elementwise"};
const char* const kReduceNames[] = {"", "add", "mul", "min", "max", "mean"};
const char* const kDuplicatesNames[] = {"last", "first", "error"};

Dims to_dims(const py::handle& tuple) {
  if (!PyTuple_Check(tuple.ptr())) throw py::value_error("not the state of a plan");
  Dims dims;
  for (const py::handle value : py::reinterpret_borrow<py::tuple>(tuple)) dims.push_back(value.cast<int64_t>());
  return dims;
}

// Strides of axes that are never stepped along do not count.
bool same_walk(const Dims& extent, const Dims& a, const Dims& b) {
  bool empty = false;
  bool same = true;
  for (int axis = 0; axis < extent.size(); ++axis) {
    empty = empty || extent[axis] == 0;
    same = same && (extent[axis] == 1 || a[axis] == b[axis]);
  }
  return same || empty;
}

py::object plan_of(const py::object& op, const py::args& args, const py::kwargs& kwargs) {
  if (PyCallable_Check(op.ptr()) == 0) {
    throw py::type_error("plan: op is " + shown(op) + ", expected an operator such as gatherscatter.gather");
  }
  const Planning scope;
  py::object plan = op(*args, **kwargs);
  if (!py::isinstance<PlanObject>(plan)) {
    throw py::type_error(shown(op) + " is not an operator that can be planned, or it would do nothing at all");
  }
  return plan;
}

// Methods raise like operators do, with the operator's name in front.
template <class Body>
py::object raising(const char* op, Body&& body) {
  PyObject* result = guarded(op, std::forward<Body>(body));
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

}  // namespace

bool take_planning() {
  return std::exchange(planning, false);
}

bool is_planning() {
  return planning;
}

void ask_for_plan() {
  planning = true;
}

Signature::Signature(const Operand& operand)
    : given(operand.given),
      extent(operand.view.extent),
      stride(operand.view.stride),
      item(operand.view.item),
      type(operand.type),
      index_type(operand.view.type) {}

Operand Signature::operand() const {
  Operand operand;
  operand.given = given;
  operand.view.extent = extent;
  operand.view.stride = stride;
  operand.view.item = item;
  operand.type = type;
  operand.view.type = index_type;
  return operand;
}

PlainArray Signature::plain() const {
  PlainArray array;
  array.item = item;
  array.rank = extent.size();
  std::copy(extent.begin(), extent.end(), array.extent);
  std::copy(stride.begin(), stride.end(), array.stride);
  array.type = index_type;
  return array;
}

bool Signature::matches(const Operand& other) const {
  return given == other.given &&
         (!given || (extent == other.view.extent && same_walk(extent, stride, other.view.stride) &&
                     type.matches(other.type) && item == other.view.item && index_type == other.view.type));
}

bool operator==(const Signature& a, const Signature& b) {
  return a.matches(b.operand());
}

std::string Signature::text() const {
  if (!given) return "none";
  const bool contiguous = same_walk(extent, stride, contiguous_strides(extent, item));
  return type.name() + " " + to_string(extent) + (contiguous ? "" : " with strides " + to_string(stride));
}

py::object Signature::state() const {
  if (!given) return py::none();
  return py::make_tuple(to_tuple(extent), to_tuple(stride), item, type.data.code, type.data.bits,
                        type.descr ? type.descr : py::none(), static_cast<int>(index_type));
}

template <class Enum>
Enum Signature::enumerator(const py::handle& value, Enum last) {
  const int number = value.cast<int>();
  if (number < 0 || number > static_cast<int>(last)) throw py::value_error("not the state of a plan");
  return static_cast<Enum>(number);
}

// A state may come from anywhere, so everything that memory accesses depend on is checked again.
Signature Signature::restored(const py::tuple& state) {
  Signature signature;
  if (!PyTuple_Check(state.ptr()) || state.size() != 7) throw py::value_error("not the state of a plan");
  signature.given = true;
  signature.extent = to_dims(state[0]);
  signature.stride = to_dims(state[1]);
  signature.item = state[2].cast<int64_t>();
  signature.type.data = {state[3].cast<uint8_t>(), state[4].cast<uint8_t>(), 1};
  if (!state[5].is_none()) signature.type.descr = python_part("numpy", "dtype")(state[5]);
  signature.index_type = enumerator(state[6], IndexType::u64);
  const int64_t item =
      signature.type.descr ? signature.type.descr.attr("itemsize").cast<int64_t>() : (signature.type.data.bits + 7) / 8;
  bool sound = signature.item == item && signature.stride.size() == signature.extent.size();
  for (const int64_t n : signature.extent) sound = sound && n >= 0;
  if (!sound) throw py::value_error("not the state of a plan");
  return signature;
}

PlanObject::PlanObject(const Request& request, const Plan& plan, const Operands& operands)
    : request_(request),
      plan_(plan),
      input_(operands.input),
      mask_(operands.mask),
      out_(operands.out),
      source_(operands.source),
      fill_(own_fill(operands)),
      device_(operands.place ? operands.place->device() : -1) {
  for (const Operand& index : operands.indices) indices_.emplace_back(index);
  decide();
}

void PlanObject::decide() {
  const bool along_one = request_.planner == Planner::take_axis || request_.planner == Planner::along_axis;
  if (!along_one || request_.direction != Direction::gather || !request_.tile.empty() || indices_.size() != 1) return;
  if (std::max(input_.extent.size(), indices_[0].extent.size()) > PlainArray::kMaxRank) return;
  if (out_.given && !same_walk(out_.extent, out_.stride, contiguous_strides(out_.extent, out_.item))) return;
  geometry_ = Geometry(input_.plain(), indices_[0].plain());
  small_ = SmallCall(plan_, Direction::gather);
}

PyObject* PlanObject::small_call(PyObject* input, PyObject* index, PyObject* out) const {
  PlainArray source;
  PlainArray places;
  PlainArray target;
  if (!small_ || !ask_plain(input) || (out != nullptr && !ask_plain(out))) return nullptr;
  if (out != nullptr && !read_plain(out, Role::out, target)) return nullptr;
  if (!read_plain(index, Role::index, places) || !read_plain(input, Role::data, source)) return nullptr;
  if (!source.has_type(input_.type) || !(Geometry(source, places) == geometry_)) return nullptr;
  return small_.gather(source, places, out == nullptr ? nullptr : &target);
}

namespace {

void expect(const Signature& planned, const Operand& given, const char* what) {
  if (planned.matches(given)) return;
  throw ShapeError(std::string("the plan was made for ") + what + " " + planned.text() + ", not for " +
                   Signature(given).text());
}

// Of the same shape and dtype; its strides do not matter.
void expect_alike(const Signature& planned, const Operand& given, const char* what) {
  Signature wanted = planned;
  wanted.stride = given.view.stride;
  if (wanted.extent.size() != given.view.rank() || !wanted.matches(given)) expect(planned, given, what);
}

}  // namespace

void PlanObject::check_indices(const Operands& operands) const {
  if (operands.indices.size() != indices_.size()) throw ShapeError("the plan was made for another number of indices");
  for (std::size_t a = 0; a < indices_.size(); ++a) {
    const Operand& given = operands.indices[a];
    if (given.wide && given.view.extent == indices_[a].extent) continue;  // of another dtype: no plan runs it as it is
    expect(indices_[a], given, "index");
  }
}

void PlanObject::check(const Operands& operands) const {
  expect(input_, operands.input, "input");
  check_indices(operands);
  expect(source_, operands.source, "src");
  expect(mask_, operands.mask, "mask");
}

py::object PlanObject::call(py::handle input, py::handle indices, py::handle source, py::handle mask,
                            py::handle out) const {
  return raising(request_.name(), [&]() -> py::object {
    Operands operands;
    const py::object own_indices = as_planned(request_, indices, index_types());
    adopt_all(request_, {input, own_indices, py::none(), mask, out, source}, operands);
    check(operands);
    operands.fill = fill_;
    std::optional<Request> own;  // which may defer an error no longer
    if (has_wide(operands)) settle_wide(own.emplace(request_), operands);
    const Request& request = own ? *own : request_;
    if (request.direction == Direction::scatter) {
      const bool on_copy = !operands.out.given && !out_.given;
      return execute_scatter(request, operands, on_copy && !own ? &plan_ : nullptr);
    }
    const bool moved = copy_host_operands(request, operands);
    // The plan's dense side is that of `out`, or a fresh array; another layout needs another plan.
    const bool as_planned =
        out_.given ? out_.matches(operands.out)
                   : !operands.out.given ||
                         (operands.out.view.extent == plan_.result_shape && operands.out.view.item == plan_.item &&
                          same_walk(plan_.result_shape, operands.out.view.stride,
                                    contiguous_strides(plan_.result_shape, plan_.item)));
    const bool runs = as_planned && !moved && !own;
    return runs ? execute(request, plan_, operands) : execute(request, make_plan(request, operands), operands);
  });
}

py::object PlanObject::scatter(const Combine& combine, Duplicates duplicates, const RawOperands& raw) const {
  Request request = request_;
  if (request_.direction == Direction::gather) request.op = py::str("Plan.scatter");
  request.direction = Direction::scatter;
  request.tile.clear();
  request.combine = combine;
  request.duplicates = duplicates;
  Operands operands;
  const py::object own_indices = as_planned(request_, raw.indices, index_types());
  RawOperands own = raw;
  own.indices = own_indices;
  adopt_all(request, own, operands);
  expect_alike(input_, operands.input, "input");
  check_indices(operands);
  set_number(request, operands);
  settle_wide(request, operands);
  return execute_scatter(request, operands, nullptr);
}

py::dict PlanObject::to_dict() const {
  std::optional<DeviceCall> there;
  if (device_ >= 0) {
    there.emplace(device_, dlpack::kLegacyStream);
    there->release_streams();
  }
  const Backend& backend = there ? static_cast<const Backend&>(there->queue()) : host_backend();
  py::dict facts;
  facts["op"] = request_.op;
  facts["planner"] = kPlannerNames[static_cast<int>(request_.planner)];
  facts["input"] = input_.text();
  py::list indices;
  for (const Signature& index : indices_) indices.append(index.text());
  facts["indices"] = indices;
  facts["mask"] = mask_.given ? py::object(py::str(mask_.text())) : py::none();
  facts["result_shape"] = to_tuple(plan_.result_shape);
  const bool scatters = request_.direction == Direction::scatter;
  facts["direction"] = scatters ? "scatter" : "gather";
  if (scatters) {
    const Reduce reduce = request_.combine.reduce;
    facts["src"] = source_.text();
    facts["reduce"] = reduce == Reduce::set ? py::object(py::none()) : py::str(kReduceNames[static_cast<int>(reduce)]);
    facts["duplicates"] = kDuplicatesNames[static_cast<int>(request_.duplicates)];
  }
  const char* const bounds = kBoundsNames[static_cast<int>(plan_.rule.bounds)];
  facts["bounds"] = scatters && plan_.rule.fills() ? "drop" : bounds;
  facts["negative"] = kNegativeNames[static_cast<int>(plan_.rule.negative)];
  facts["kind"] = kind_name(plan_.kind);
  facts["unit_bytes"] = plan_.unit;
  facts["points"] = plan_.space.count();
  facts["bytes_moved"] = plan_.bytes_moved();
  facts["tiles"] = request_.tile.empty() ? 1 : tile_count(plan_.result_shape, request_.tile);
  facts["backend"] = backend.name();
  facts["kernel"] = backend.kernel(plan_, request_.direction);
  facts["threads"] = backend.threads(plan_, request_.direction, thread_count());
  return facts;
}

py::tuple PlanObject::state() const {
  py::list indices;
  for (const Signature& index : indices_) indices.append(index.state());
  return py::make_tuple(request_.op, static_cast<int>(request_.planner),
                        request_.axis ? py::object(py::int_(*request_.axis)) : py::none(), request_.batch_dims,
                        static_cast<int>(request_.match), static_cast<int>(request_.rule.bounds),
                        static_cast<int>(request_.rule.negative), input_.state(), indices, mask_.state(), out_.state(),
                        fill_.given ? fill_.object : py::none(), request_.coordinates,
                        static_cast<int>(request_.direction), static_cast<int>(request_.combine.reduce),
                        request_.combine.include_self, static_cast<int>(request_.duplicates), source_.state(),
                        to_tuple(request_.tile));
}

PlanObject PlanObject::restored(const py::tuple& state) {
  PlanObject plan;
  if (state.size() != 19 || !py::isinstance<py::str>(state[0])) throw py::value_error("not the state of a plan");
  plan.request_.op = state[0];
  if (plan.request_.name() == nullptr) throw py::error_already_set();  // no text at all
  plan.request_.planner = Signature::enumerator(state[1], Planner::elementwise);
  if (!state[2].is_none()) plan.request_.axis = state[2].cast<int64_t>();
  plan.request_.batch_dims = state[3].cast<int64_t>();
  plan.request_.match = Signature::enumerator(state[4], Match::broadcast);
  plan.request_.rule = {Signature::enumerator(state[5], Bounds::unchecked),
                        Signature::enumerator(state[6], Negative::out_of_bounds)};
  const auto restore = [](const py::handle& part) {
    return part.is_none() ? Signature() : Signature::restored(py::reinterpret_borrow<py::tuple>(part));
  };
  plan.input_ = restore(state[7]);
  for (const py::handle index : py::list(state[8])) plan.indices_.push_back(restore(index));
  plan.mask_ = restore(state[9]);
  plan.out_ = restore(state[10]);
  plan.request_.coordinates = state[12].cast<bool>();
  plan.request_.direction = Signature::enumerator(state[13], Direction::scatter);
  plan.request_.combine.reduce = Signature::enumerator(state[14], Reduce::mean);
  plan.request_.combine.include_self = state[15].cast<bool>();
  plan.request_.duplicates = Signature::enumerator(state[16], Duplicates::error);
  plan.source_ = restore(state[17]);
  plan.request_.tile = to_dims(state[18]);
  const bool is_scatter = plan.request_.direction == Direction::scatter;
  if (is_scatter && plan.request_.planner == Planner::along_axis && plan.request_.match == Match::prefix) {
    plan.request_.fit = Fit::leading;
  }
  const bool any_number = plan.takes_tuple();
  const std::size_t indices = plan.request_.planner == Planner::elementwise ? 0 : 1;
  const bool scatters = plan.request_.direction == Direction::scatter;
  const bool tiles = !plan.request_.tile.empty();
  const bool extras = plan.mask_.given || plan.out_.given || !state[11].is_none();
  if ((tiles && (plan.request_.planner != Planner::along_axis || !plan.request_.axis || extras || is_scatter)) ||
      (plan.request_.coordinates && plan.request_.planner != Planner::at_points) ||
      (!any_number && plan.indices_.size() != indices) || scatters != plan.source_.given || !plan.input_.given ||
      (scatters && plan.source_.item != plan.input_.item) || (indices == 0 && !scatters)) {
    throw py::value_error("not the state of a plan");
  }
  adopt(plan.request_.op, Role::fill, state[11], plan.fill_);
  if (plan.fill_.given) borrow(Role::fill, plan.fill_);

  Operands operands;
  operands.input = plan.input_.operand();
  operands.indices.resize(plan.indices_.size());
  for (std::size_t a = 0; a < plan.indices_.size(); ++a) operands.indices[a] = plan.indices_[a].operand();
  operands.mask = plan.mask_.operand();
  operands.out = plan.out_.operand();
  operands.fill = plan.fill_;
  operands.source = plan.source_.operand();
  if (scatters) set_number(plan.request_, operands);
  plan.plan_ = scatters ? make_scatter_plan(plan.request_, operands) : make_plan(plan.request_, operands);
  plan.decide();
  return plan;
}

bool PlanObject::equals(const PlanObject& other) const {
  const bool same_request = request_.op.equal(other.request_.op) && request_.planner == other.request_.planner &&
                            request_.axis == other.request_.axis && request_.batch_dims == other.request_.batch_dims &&
                            request_.match == other.request_.match && request_.rule == other.request_.rule &&
                            request_.coordinates == other.request_.coordinates &&
                            request_.direction == other.request_.direction &&
                            request_.combine == other.request_.combine &&
                            request_.duplicates == other.request_.duplicates && request_.tile == other.request_.tile;
  if (!same_request || !(input_ == other.input_) || !(mask_ == other.mask_) || !(out_ == other.out_) ||
      !(source_ == other.source_)) {
    return false;
  }
  if (indices_ != other.indices_ || fill_.given != other.fill_.given) return false;
  if (!fill_.given) return true;
  return fill_.view.extent == other.fill_.view.extent &&
         as_opaque_ndarray(fill_.view).attr("tobytes")().equal(as_opaque_ndarray(other.fill_.view).attr("tobytes")());
}

py::ssize_t PlanObject::hash() const {
  return py::hash(py::make_tuple(request_.op, static_cast<int>(request_.planner), to_tuple(plan_.result_shape)));
}

py::object make_plan_object(const Request& request, const Plan& plan, const Operands& operands) {
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
              const ScatterKeywords words = parse_scatter_keywords(
                  reduce.ptr(), parse_bool(include_self.ptr(), "include_self"), duplicates.ptr());
              return self.scatter(words.combine, words.duplicates, {target, indices, py::none(), mask, out, src});
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
  module.def("restore_plan", [](const py::tuple& state) {
    try {
      return PlanObject::restored(state);
    } catch (const py::cast_error&) {
      throw py::value_error("not the state of a plan");
    }
  });
  module.def("plan_of", &plan_of);
}

}  // namespace gs
