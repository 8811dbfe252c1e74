// forms.cpp: reads the forms of calls, and refuses those that no call can have.
#include "bindings/operators/forms.h"

#include <string>

#include "bindings/arguments/keywords.h"

namespace gs {
namespace {

LaneForm::Part part_named(const std::string& name) {
  const char* const names[] = {"input", "index", "source", "axis", "out"};
  for (int part = 0; part < LaneForm::kParts; ++part) {
    if (name == names[part]) return static_cast<LaneForm::Part>(part);
  }
  throw py::value_error("a form has no part named " + name);
}

Planner planner_in(const std::string& name) {
  if (name == "take_axis") return Planner::take_axis;
  if (name == "along_axis") return Planner::along_axis;
  if (name == "coordinates") return Planner::at_points;
  throw py::value_error("no lane for planner " + name + ": expected take_axis, along_axis, coordinates or tile");
}

PyObject* interned(PyObject* text) {
  Py_INCREF(text);
  PyUnicode_InternInPlace(&text);
  return text;
}

RuleWord rule_word_in(py::handle word, Direction direction) {
  const char* const problem = "a rule of a form is a tuple of a keyword, its value, bounds and negative";
  if (!PyTuple_Check(word.ptr()) || PyTuple_GET_SIZE(word.ptr()) != 4) throw py::value_error(problem);
  const auto text = [&](Py_ssize_t i) {
    PyObject* const each = PyTuple_GET_ITEM(word.ptr(), i);
    if (!PyUnicode_CheckExact(each)) throw py::value_error(problem);
    return each;
  };
  const py::str keyword(text(0));
  if (keyword.equal(py::str("axis")) || keyword.equal(py::str("out")))
    throw py::value_error("axis and out set no rule");
  const Rule rule = parse_rule(text(2), text(3), direction);
  return {interned(text(0)), interned(text(1)), rule};
}

LaneForm form_in(const py::dict& record) {
  LaneForm form;
  const auto planner = record["planner"].cast<std::string>();
  form.is_tile = planner == "tile";
  form.key.planner = form.is_tile ? Planner::at_points : planner_in(planner);
  form.key.match = parse_match(py::object(record["match"]).ptr());
  for (const py::handle name : py::tuple(record["positional"])) {
    int8_t& at = form.at[part_named(name.cast<std::string>())];
    if (at >= 0) throw py::value_error("a form names a part twice");
    at = static_cast<int8_t>(form.count++);
  }
  for (const py::handle name : py::tuple(record["keywords"])) {
    const LaneForm::Part part = part_named(name.cast<std::string>());
    if (part != LaneForm::axis && part != LaneForm::out) throw py::value_error("keywords of a lane are axis and out");
    (part == LaneForm::axis ? form.takes_axis_keyword : form.takes_out_keyword) = true;
  }
  const auto has = [&](LaneForm::Part part) { return form.at[part] >= 0; };
  if (has(LaneForm::source)) form.key.direction = Direction::scatter;
  form.is_in_place = has(LaneForm::out);
  if (has(LaneForm::input) == form.is_in_place) {
    throw py::value_error("a form has either an input or an array that it writes to");
  }
  if (!has(LaneForm::index)) throw py::value_error("a form has no index");
  const bool has_optional_axis = has(LaneForm::axis) && (form.takes_axis_keyword || record.contains("axis"));
  form.required = form.count - (has_optional_axis ? 1 : 0);
  if (has_optional_axis && form.at[LaneForm::axis] != form.required) {
    throw py::value_error("a form has an optional part before a required one");
  }
  if (record.contains("axis")) {
    form.needs_axis = false;
    form.takes_no_axis = record["axis"].is_none();
    if (!form.takes_no_axis) {
      try {
        form.key.axis = record["axis"].cast<int64_t>();
      } catch (const py::cast_error&) {
        form.key.axis = CallKey::kNoAxis;
      }
      if (form.key.axis == CallKey::kNoAxis) throw py::value_error("a form has an axis that no array has");
    }
  }
  if (form.key.planner == Planner::at_points) {
    if (has(LaneForm::axis) || record.contains("axis")) throw py::value_error("coordinates have no axis");
    form.needs_axis = false;
  }
  if (form.is_tile && (has(LaneForm::source) != form.is_in_place || form.takes_out_keyword || form.takes_axis_keyword ||
                       py::len(record["rules"]) != 0)) {
    throw py::value_error("a tile form is a gather, or a scatter in place, and its keywords are those of the tile");
  }
  if (form.is_in_place && form.takes_out_keyword) throw py::value_error("a form writes to two arrays");
  for (const py::handle word : record["rules"]) form.rule_words.push_back(rule_word_in(word, form.key.direction));
  return form;
}

}  // namespace

std::vector<LaneForm> forms_in(const py::list& records) {
  std::vector<LaneForm> forms;
  for (const py::handle record : records) forms.push_back(form_in(py::reinterpret_borrow<py::dict>(record)));
  return forms;
}

const std::vector<LaneForm>& plan_forms() {
  static const auto& forms = *new std::vector<LaneForm>([] {
    LaneForm form;
    form.at[LaneForm::input] = 0;
    form.at[LaneForm::index] = 1;
    form.count = form.required = 2;
    form.needs_axis = false;
    form.takes_out_keyword = true;
    return std::vector<LaneForm>{form};
  }());
  return forms;
}

}  // namespace gs
