// keywords.cpp: parses the keywords of operators and formats the errors for unknown values.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <array>
#include <string>
#include <string_view>

#include "bindings/arguments/from_python.h"
#include "bindings/arguments/keywords.h"
#include "bindings/python_calls.h"
#include "calls/words.h"
#include "core/error.h"

namespace gs {
namespace {

// The values that one keyword accepts. Python interns string literals, so comparing addresses usually finds the value.
template <std::size_t N>
class Words {
 public:
  Words(const char* what, const std::array<const char*, N>& words) : what_(what), words_(words) {
    for (std::size_t i = 0; i < N; ++i) interned_[i] = PyUnicode_InternFromString(words[i]);
  }
  // The number of a word; -1 for every other object.
  int number_of(PyObject* word) const {
    for (std::size_t i = 0; i < N; ++i) {
      if (word == interned_[i]) return static_cast<int>(i);
    }
    if (PyUnicode_Check(word)) {
      for (std::size_t i = 0; i < N; ++i) {
        if (PyUnicode_Compare(word, interned_[i]) == 0) return static_cast<int>(i);
      }
    }
    return -1;
  }
  // The same with an error, whose end for a word is in `hint`, or "".
  int find(PyObject* word, const char* (*hint)(std::string_view word) = nullptr) const {
    if (const int number = number_of(word); number >= 0) return number;
    std::string text = std::string(what_) + " is " + shown(word) + ", expected one of ";
    for (std::size_t i = 0; i < N; ++i) text += std::string(i > 0 ? ", '" : "'") + words_[i] + "'";
    if (hint != nullptr && PyUnicode_Check(word)) {
      const char* const given = PyUnicode_AsUTF8(word);
      if (given == nullptr) PyErr_Clear();
      text += hint(given == nullptr ? "" : given);
    }
    throw ShapeError(text);
  }

 private:
  const char* what_;
  std::array<const char*, N> words_;
  std::array<PyObject*, N> interned_{};
};

// Words for bounds that other operators take.
const char* gather_hint(std::string_view word) {
  if (word == "nullify")
    return "; arrays have no nulls: bounds='fill' gives fill_value, gatherscatter.table has nullify";
  if (word == "drop") return "; a gather fills: bounds='fill' gives fill_value";
  return "";
}

const char* scatter_hint(std::string_view word) {
  if (word == "nullify") return "; arrays have no nulls: bounds='drop' writes nothing";
  if (word == "fill") return "; a scatter has nothing to fill: bounds='drop' writes nothing";
  return "";
}

const Words<6>& bounds_words(Direction direction) {
  static const Words<6> gather("bounds", words::kBounds);
  static const Words<6> scatter("bounds", words::kScatterBounds);
  return direction == Direction::gather ? gather : scatter;
}

const Words<2>& negative_words() {
  static const Words<2> negative("negative", words::kNegative);
  return negative;
}

const Words<10>& reduce_words() {
  static const Words<10> reduce("reduce", words::kReduceAliases);
  return reduce;
}

const Words<3>& duplicates_words() {
  static const Words<3> duplicates("duplicates", words::kDuplicates);
  return duplicates;
}

// Sets an enumerator to the one of a word. Returns false for every other object.
template <class Enumerator, std::size_t N>
bool read_word(const Words<N>& words, PyObject* object, Enumerator& value) {
  const int number = words.number_of(object);
  if (number >= 0) value = static_cast<Enumerator>(number);
  return number >= 0;
}

}  // namespace

bool read_bounds(PyObject* word, Direction direction, Bounds& bounds) {
  return read_word(bounds_words(direction), word, bounds);
}

bool read_negative(PyObject* word, Negative& negative) {
  return read_word(negative_words(), word, negative);
}

bool read_reduce(PyObject* word, Reduce& reduce) {
  int number = -1;
  if (word != Py_None && !read_word(reduce_words(), word, number)) return false;
  reduce = word == Py_None ? Reduce::set : words::kReduceOfAlias[static_cast<std::size_t>(number)];
  return true;
}

bool read_duplicates(PyObject* word, Duplicates& duplicates) {
  return read_word(duplicates_words(), word, duplicates);
}

std::string shown(const py::handle& object) {
  return python::call(python_part("gatherscatter.errors", "shown"), object).cast<std::string>();
}

Rule parse_rule(PyObject* bounds, PyObject* negative, Direction direction) {
  const auto hint = direction == Direction::gather ? gather_hint : scatter_hint;
  return {static_cast<Bounds>(bounds_words(direction).find(bounds, hint)),
          static_cast<Negative>(negative_words().find(negative))};
}

Match parse_match(PyObject* match) {
  static const Words<2> known("match", words::kMatch);
  return static_cast<Match>(known.find(match));
}

bool parse_bool(PyObject* object, const char* what) {
  if (PyBool_Check(object)) return object == Py_True;
  if (PyArray_IsScalar(object, Bool)) return PyObject_IsTrue(object) == 1;
  throw DTypeError(std::string(what) + " is " + shown(object) + ", expected a bool");
}

ScatterKeywords parse_scatter_keywords(PyObject* reduce, bool include_self, PyObject* duplicates) {
  ScatterKeywords given;
  given.duplicates = static_cast<Duplicates>(duplicates_words().find(duplicates));
  if (!read_reduce(reduce, given.combine.reduce)) reduce_words().find(reduce);  // throws
  given.combine.include_self = include_self;
  if (given.combine.reduce == Reduce::set && !include_self) {
    throw ShapeError("include_self=False needs reduce=: without a reduction, the old value is replaced in any case");
  }
  if (given.combine.reduce != Reduce::set && given.duplicates != Duplicates::last) {
    throw ShapeError("duplicates=" + shown(duplicates) + " and reduce=" + shown(reduce) +
                     " exclude each other: a reduction combines the values of all duplicates");
  }
  return given;
}

void bind_words(py::module_& module) {
  const auto tuple_of = [](const auto& words) {
    py::tuple tuple(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) tuple[i] = py::str(words[i]);
    return tuple;
  };
  using namespace py::literals;
  module.attr("words") =
      py::dict("bounds"_a = tuple_of(words::kBounds), "scatter_bounds"_a = tuple_of(words::kScatterBounds),
               "negative"_a = tuple_of(words::kNegative), "reduce"_a = tuple_of(words::kReduce),
               "reduce_aliases"_a = tuple_of(words::kReduceAliases), "duplicates"_a = tuple_of(words::kDuplicates),
               "match"_a = tuple_of(words::kMatch), "planner"_a = tuple_of(words::kPlanner));
}

}  // namespace gs
