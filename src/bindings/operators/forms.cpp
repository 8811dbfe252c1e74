// forms.cpp: reads the forms of calls, and refuses those that no call can have.
#include "bindings/operators/forms.h"

#include <cstddef>
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

Keyword keyword_named(const std::string& name) {
  for (std::size_t i = 0; i < kKeywordNames.size(); ++i) {
    if (name == kKeywordNames[i]) return static_cast<Keyword>(i);
  }
  throw py::value_error("a lane reads no keyword " + name);
}

Pick pick_in(const std::string& name) {
  constexpr std::array kNames{"", "compress", "repeat", "roll", "putmask", "place"};
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<Pick>(i);
  }
  return Pick::none;
}

Planner planner_in(const std::string& name) {
  if (name == "take_axis") return Planner::take_axis;
  if (name == "along_axis") return Planner::along_axis;
  if (name == "coordinates") return Planner::at_points;
  throw py::value_error("no lane for planner " + name +
                        ": expected take_axis, along_axis, coordinates, tile or the name of a pick");
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
  for (const char* const keyword : kKeywordNames) {
    if (py::str(text(0)).equal(py::str(keyword))) throw py::value_error(std::string(keyword) + " is no rule of a form");
  }
  const Rule rule = parse_rule(text(2), text(3), direction);
  return {interned(text(0)), interned(text(1)), rule};
}

LaneForm form_in(const py::dict& record) {
  LaneForm form;
  const auto planner = record["planner"].cast<std::string>();
  form.is_tile = planner == "tile";
  form.pick = pick_in(planner);
  form.key.planner = form.is_tile              ? Planner::at_points
                     : form.pick != Pick::none ? Planner::take_axis
                                               : planner_in(planner);
  form.key.match = parse_match(py::object(record["match"]).ptr());
  for (const py::handle name : py::tuple(record["positional"])) {
    int8_t& at = form.at[part_named(name.cast<std::string>())];
    if (at >= 0) throw py::value_error("a form names a part twice");
    at = static_cast<int8_t>(form.count++);
  }
  for (const py::handle name : py::tuple(record["keywords"])) {
    form.keywords |= 1U << static_cast<int>(keyword_named(name.cast<std::string>()));
  }
  const auto has = [&](LaneForm::Part part) { return form.at[part] >= 0; };
  if (has(LaneForm::source)) form.key.direction = Direction::scatter;
  form.is_in_place = has(LaneForm::out);
  if (has(LaneForm::input) == form.is_in_place) {
    throw py::value_error("a form has either an input or an array that it writes to");
  }
  if (!has(LaneForm::index)) throw py::value_error("a form has no index");
  const bool has_optional_axis = has(LaneForm::axis) && (form.takes(Keyword::axis) || record.contains("axis"));
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
  if (form.is_tile &&
      (has(LaneForm::source) != form.is_in_place || form.keywords != 0 || py::len(record["rules"]) != 0)) {
    throw py::value_error("a tile form is a gather, or a scatter in place, and its keywords are those of the tile");
  }
  if (form.is_in_place && form.takes(Keyword::out)) throw py::value_error("a form writes to two arrays");
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
    form.keywords = 1U << static_cast<int>(Keyword::out);
    return std::vector<LaneForm>{form};
  }());
  return forms;
}

}  // namespace gs
