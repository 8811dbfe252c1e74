// plan_state.cpp: writes and validates the pickled state of a plan.
#include "bindings/operators/plan_state.h"

#include <array>
#include <iterator>
#include <string>

#include "bindings/arguments/tuples.h"
#include "bindings/python_calls.h"
#include "calls/words.h"
#include "core/error.h"

namespace gs {
namespace {

// Reads the values of a state by their names.
class StateReader {
 public:
  explicit StateReader(const py::dict& state) : state_(state) {}

  py::object get(const char* name) const {
    if (!state_.contains(name)) throw py::value_error(std::string("invalid state of a Plan: it has no ") + name);
    return state_[name];
  }
  [[noreturn]] static void refuse(const char* name) {
    throw py::value_error(std::string("invalid state of a Plan: ") + name);
  }
  int64_t integer(const char* name) const { return get(name).cast<int64_t>(); }
  bool boolean(const char* name) const {
    const py::object value = get(name);
    if (!py::isinstance<py::bool_>(value)) refuse(name);
    return value.cast<bool>();
  }
  Dims dims(const char* name) const {
    const py::object value = get(name);
    if (!PyTuple_Check(value.ptr())) refuse(name);
    Dims dims;
    for (const py::handle each : py::reinterpret_borrow<py::tuple>(value)) dims.push_back(each.cast<int64_t>());
    return dims;
  }
  template <class Enum, std::size_t kCount>
  Enum word(const char* name, const std::array<const char*, kCount>& known) const {
    const auto value = get(name).cast<std::string>();
    for (std::size_t i = 0; i < kCount; ++i) {
      if (value == known[i]) return static_cast<Enum>(i);
    }
    refuse(name);
  }
  Signature signature(const char* name) const {
    const py::object value = get(name);
    return value.is_none() ? Signature() : signature_of(value, name);
  }
  static Signature signature_of(const py::handle& value, const char* name);

 private:
  py::dict state_;
};

py::object signature_state(const Signature& signature) {
  if (!signature.given) return py::none();
  py::dict state;
  state["shape"] = to_tuple(signature.extent);
  state["strides"] = to_tuple(signature.stride);
  state["itemsize"] = signature.item;
  state["dlpack_code"] = signature.type.data.code;
  state["dlpack_bits"] = signature.type.data.bits;
  state["dtype"] = signature.type.descr ? signature.type.descr : py::none();
  state["index_type"] = index_name(signature.index_type);
  return state;
}

Signature StateReader::signature_of(const py::handle& value, const char* name) {
  if (!py::isinstance<py::dict>(value)) refuse(name);
  const StateReader reader(py::reinterpret_borrow<py::dict>(value));
  Signature signature;
  signature.given = true;
  signature.extent = reader.dims("shape");
  signature.stride = reader.dims("strides");
  signature.item = reader.integer("itemsize");
  signature.type.data = {reader.get("dlpack_code").cast<uint8_t>(), reader.get("dlpack_bits").cast<uint8_t>(), 1};
  const py::object dtype = reader.get("dtype");
  if (!dtype.is_none()) signature.type.descr = python::call(python_part("numpy", "dtype"), dtype);
  const std::array types{index_name(IndexType::i8),  index_name(IndexType::i16), index_name(IndexType::i32),
                         index_name(IndexType::i64), index_name(IndexType::u8),  index_name(IndexType::u16),
                         index_name(IndexType::u32), index_name(IndexType::u64)};
  signature.index_type = reader.word<IndexType>("index_type", types);
  const int64_t item = signature.type.descr ? python::attribute(signature.type.descr, "itemsize").cast<int64_t>()
                                            : (signature.type.data.bits + 7) / 8;
  bool sound = signature.item == item && signature.stride.size() == signature.extent.size();
  for (const int64_t n : signature.extent) sound = sound && n >= 0;
  if (!sound) refuse(name);
  return signature;
}

// Combinations that no operator makes.
void check_parts(const PlanParts& parts) {
  const Request& request = parts.request;
  const bool scatters = request.direction == Direction::scatter;
  const std::size_t indices = request.planner == Planner::elementwise ? 0 : 1;
  const bool extras = parts.mask.given || parts.out.given || parts.fill.given;
  if (!request.tile.empty() && (request.planner != Planner::along_axis || !request.axis || extras || scatters)) {
    StateReader::refuse("tile");
  }
  if (request.coordinates && request.planner != Planner::at_points) StateReader::refuse("coordinates");
  if (!parts.takes_tuple() && parts.indices.size() != indices) StateReader::refuse("indices");
  if (scatters != parts.source.given || (scatters && parts.source.item != parts.input.item)) StateReader::refuse("src");
  if (!parts.input.given) StateReader::refuse("input");
  if (indices == 0 && !scatters) StateReader::refuse("direction");
}

}  // namespace

const char* name_of(Planner planner) {
  return words::kPlanner[static_cast<std::size_t>(planner)];
}
const char* name_of(Bounds bounds) {
  return words::kBounds[static_cast<std::size_t>(bounds)];
}
const char* name_of(Negative negative) {
  return words::kNegative[static_cast<std::size_t>(negative)];
}
const char* name_of(Reduce reduce) {
  return words::kReduce[static_cast<std::size_t>(reduce)];
}
const char* name_of(Duplicates duplicates) {
  return words::kDuplicates[static_cast<std::size_t>(duplicates)];
}

Operands PlanParts::operands() const {
  Operands all;
  all.input = input.operand();
  all.indices.resize(indices.size());
  for (std::size_t a = 0; a < indices.size(); ++a) all.indices[a] = indices[a].operand();
  all.mask = mask.operand();
  all.out = out.operand();
  all.fill = fill;
  all.source = source.operand();
  return all;
}

py::dict to_state(const PlanParts& parts) {
  const OperatorRequest& request = parts.request;
  py::list indices;
  for (const Signature& index : parts.indices) indices.append(signature_state(index));
  py::dict state;
  state["version"] = kPlanStateVersion;
  state["op"] = request.op;
  state["planner"] = name_of(request.planner);
  state["axis"] = request.axis ? py::object(py::int_(*request.axis)) : py::none();
  state["batch_dims"] = request.batch_dims;
  state["match"] = words::kMatch[static_cast<std::size_t>(request.match)];
  state["coordinates"] = request.coordinates;
  state["tile"] = to_tuple(request.tile);
  state["bounds"] = name_of(request.rule.bounds);
  state["negative"] = name_of(request.rule.negative);
  state["direction"] = words::kDirection[static_cast<std::size_t>(request.direction)];
  state["reduce"] = name_of(request.combine.reduce);
  state["include_self"] = request.combine.include_self;
  state["duplicates"] = name_of(request.duplicates);
  state["input"] = signature_state(parts.input);
  state["indices"] = indices;
  state["src"] = signature_state(parts.source);
  state["mask"] = signature_state(parts.mask);
  state["out"] = signature_state(parts.out);
  state["fill_value"] = parts.fill.given ? parts.fill.object : py::none();
  state["device"] = parts.device;
  return state;
}

PlanParts from_state(const py::dict& state) {
  const StateReader reader(state);
  const int64_t version = reader.integer("version");
  if (version != kPlanStateVersion) {
    throw py::value_error("the Plan was pickled with version " + std::to_string(version) + " of its state, expected " +
                          std::to_string(kPlanStateVersion) + ": make the plan again");
  }
  PlanParts parts;
  OperatorRequest& request = parts.request;
  request.op = reader.get("op");
  if (!py::isinstance<py::str>(request.op)) StateReader::refuse("op");
  if (request.name() == nullptr) throw py::error_already_set();  // not valid UTF-8
  request.planner = reader.word<Planner>("planner", words::kPlanner);
  if (const py::object axis = reader.get("axis"); !axis.is_none()) request.axis = axis.cast<int64_t>();
  request.batch_dims = reader.integer("batch_dims");
  request.match = reader.word<Match>("match", words::kMatch);
  request.coordinates = reader.boolean("coordinates");
  request.tile = reader.dims("tile");
  request.rule = {reader.word<Bounds>("bounds", words::kBounds), reader.word<Negative>("negative", words::kNegative)};
  if (reader.word<Direction>("direction", words::kDirection) == Direction::scatter) request.set_scatter();
  request.combine.reduce = reader.word<Reduce>("reduce", words::kReduce);
  request.combine.include_self = reader.boolean("include_self");
  request.duplicates = reader.word<Duplicates>("duplicates", words::kDuplicates);

  parts.input = reader.signature("input");
  for (const py::handle index : py::list(reader.get("indices"))) {
    parts.indices.push_back(StateReader::signature_of(index, "indices"));
  }
  parts.source = reader.signature("src");
  parts.mask = reader.signature("mask");
  parts.out = reader.signature("out");
  adopt(request.op, Role::fill, reader.get("fill_value"), parts.fill);
  if (parts.fill.given) borrow(Role::fill, parts.fill);
  const int64_t device = reader.integer("device");
  if (device < -1 || device > INT32_MAX) StateReader::refuse("device");
  parts.device = static_cast<int>(device);
  check_parts(parts);
  return parts;
}

}  // namespace gs
