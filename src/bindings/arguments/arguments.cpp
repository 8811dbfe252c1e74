// arguments.cpp: adopts and borrows the arguments of an operator, checks their dtypes and plans for their geometry.
#include "bindings/arguments/arguments.h"

#include <string>
#include <string_view>
#include <utility>

#include "bindings/devices/device_operands.h"
#include "calls/make_plan.h"
#include "calls/words.h"
#include "core/error.h"
#include "core/reductions.h"
#include "plans/checks.h"

namespace gs {
namespace {

// The name of the argument with the values that the operator writes.
std::string source_name(const OperatorRequest& request) {
  constexpr std::pair<std::string_view, const char*> kNames[] = {
      {"scatter_nd", "updates"},    {"tile_scatter", "value"}, {"put", "v"},
      {"put_along_axis", "values"}, {"putmask", "values"},     {"place", "vals"}};
  for (const auto& [op, name] : kNames) {
    if (op == request.name()) return name;
  }
  return "src";
}

}  // namespace

void adopt_all(const OperatorRequest& request, const RawOperands& raw, Operands& operands) {
  adopt(request.op, Role::data, raw.input, operands.input);
  if (request.planner == Planner::elementwise) {
    operands.indices.resize(0);
  } else if (request.planner == Planner::at_points && !request.coordinates) {
    const auto indices = py::reinterpret_borrow<py::tuple>(raw.indices);
    operands.indices.resize(indices.size());
    for (std::size_t a = 0; a < indices.size(); ++a) adopt(request.op, Role::index, indices[a], operands.indices[a]);
  } else {
    operands.indices.resize(1);
    adopt(request.op, Role::index, raw.indices, operands.indices[0]);
  }
  adopt(request.op, Role::fill, raw.fill, operands.fill);
  adopt(request.op, Role::mask, raw.mask, operands.mask);
  adopt(request.op, Role::source, raw.source, operands.source);
  adopt(request.op, Role::out, raw.out, operands.out);
  if (!operands.input.given) throw DTypeError("input is None, expected an array");
  for (const Operand& index : operands.indices) {
    if (!index.given) throw DTypeError("index is None, expected an array of integers");
  }

  choose_device(operands);
  borrow(Role::data, operands.input);
  for (Operand& index : operands.indices) borrow(Role::index, index);
  if (operands.fill.given) {
    borrow(Role::fill, operands.fill);
    if (operands.fill.view.item != operands.input.view.item) {
      throw DTypeError("fill_value has dtype " + operands.fill.type.name() + ", input has dtype " +
                       operands.input.type.name());
    }
  }
  if (operands.mask.given) {
    borrow(Role::mask, operands.mask);
    if (operands.mask.type.data.code != dlpack::kBool || operands.mask.view.item != 1) {
      throw DTypeError("mask has dtype " + operands.mask.type.name() + ", expected bool; " +
                       (operands.mask.library == Library::torch ? "mask.bool()" : "mask.astype(bool)") + " casts it");
    }
  }
  if (operands.source.given) {
    borrow(Role::source, operands.source);
    if (!operands.source.type.matches(operands.input.type)) {
      const std::string name = source_name(request);
      const bool is_torch = operands.source.library == Library::torch;
      // The dtype of an array of another library is no argument of the cast.
      const std::string dtype = operands.source.library == operands.input.library ? "input.dtype"
                                : is_torch ? "torch." + operands.input.type.name()
                                           : "'" + operands.input.type.name() + "'";
      throw DTypeError(name + " has dtype " + operands.source.type.name() + ", input has dtype " +
                       operands.input.type.name() + "; " + name + (is_torch ? ".to(" : ".astype(") + dtype +
                       ") casts it");
    }
  } else if (request.direction == Direction::scatter) {
    throw DTypeError(source_name(request) + " is None, expected an array");
  }
  if (operands.out.given) borrow(Role::out, operands.out);
  if (request.direction == Direction::scatter && operands.out.given &&
      !(operands.out.view.extent == operands.input.view.extent)) {
    throw ShapeError("out has shape " + to_string(operands.out.view.extent) + ", the result has shape " +
                     to_string(operands.input.view.extent));
  }
}

void set_number(Request& request, const Operands& operands) {
  if (request.combine.reduce == Reduce::set) return;
  request.combine.number = number_of(operands.input.type);
  if (has_reduction(request.combine)) return;
  const std::string dtype = operands.input.type.name();
  const Reduce reduce = request.combine.reduce;
  const bool is_ordered = reduce == Reduce::min || reduce == Reduce::max;
  const bool is_time = dtype.find("datetime64") != std::string::npos || dtype.find("timedelta64") != std::string::npos;
  const bool is_torch = operands.input.library == Library::torch;
  throw DTypeError("input has dtype " + dtype + ", which reduce='" + words::kReduce[static_cast<std::size_t>(reduce)] +
                   "' does not support: it takes " + (reduce == Reduce::mean ? "" : "bool, ") + "integers" +
                   (is_ordered ? " and " : ", ") + "floats of 8 to 64 bits with a sign" +
                   (is_ordered ? "" : " and complex numbers of 64 and 128 bits") +
                   ", all in the byte order of this machine" +
                   (is_time ? "; x.view('int64') of input and src is of integers" : "") +
                   (is_torch && dtype == "complex32" && !is_ordered
                        ? "; x.to(torch.complex64) of input and src is of numbers that it takes"
                        : ""));
}

Views views_of(const Operands& operands) {
  Views views;
  views.input = operands.input.view;
  views.indices.resize(operands.indices.size());
  for (std::size_t a = 0; a < operands.indices.size(); ++a) views.indices[a] = operands.indices[a].view;
  const auto set = [](std::optional<ArrayView>& view, const Operand& operand) {
    if (operand.given) view = operand.view;
  };
  set(views.mask, operands.mask);
  set(views.fill, operands.fill);
  set(views.source, operands.source);
  set(views.out, operands.out);
  return views;
}

Plan plan_for(const Request& request, const Operands& operands, const Views& views) {
  if (request.direction == Direction::scatter) return make_scatter_plan(request, views);
  if (operands.out.given && operands.out.view.item != operands.input.view.item) {
    throw DTypeError("out has dtype " + operands.out.type.name() + ", the result has dtype " +
                     operands.input.type.name());
  }
  return make_plan(request, views);
}

Plan plan_for(const Request& request, const Operands& operands) {
  return plan_for(request, operands, views_of(operands));
}

}  // namespace gs
