// keywords.cpp: parses the keywords of operators and formats the errors for unknown values.
#include "bindings/numpy_api.h"
// NumPy's header first
#include <array>
#include <string>
#include <string_view>

#include "bindings/arguments/from_python.h"
#include "bindings/arguments/keywords.h"
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
  // `hint` has the end of the error for a word, or "".
  int find(PyObject* word, const char* (*hint)(std::string_view word) = nullptr) const {
    for (std::size_t i = 0; i < N; ++i) {
      if (word == interned_[i]) return static_cast<int>(i);
    }
    if (PyUnicode_Check(word)) {
      for (std::size_t i = 0; i < N; ++i) {
        if (PyUnicode_Compare(word, interned_[i]) == 0) return static_cast<int>(i);
      }
    }
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

}  // namespace

std::string shown(const py::handle& object) {
  return python_part("gatherscatter.errors", "shown")(object).cast<std::string>();
}

Rule parse_rule(PyObject* bounds, PyObject* negative, Direction direction) {
  static const Words<6> gather_words("bounds", {"raise", "deferred", "fill", "clip", "wrap", "unchecked"});
  static const Words<6> scatter_words("bounds", {"raise", "deferred", "drop", "clip", "wrap", "unchecked"});
  static const Words<2> negative_words("negative", {"from_end", "out_of_bounds"});
  const Words<6>& bounds_words = direction == Direction::gather ? gather_words : scatter_words;
  const auto hint = direction == Direction::gather ? gather_hint : scatter_hint;
  return {static_cast<Bounds>(bounds_words.find(bounds, hint)), static_cast<Negative>(negative_words.find(negative))};
}

Match parse_match(PyObject* match) {
  static const Words<2> words("match", {"prefix", "broadcast"});
  return static_cast<Match>(words.find(match));
}

bool parse_bool(PyObject* object, const char* what) {
  if (PyBool_Check(object)) return object == Py_True;
  if (PyArray_IsScalar(object, Bool)) return PyObject_IsTrue(object) == 1;
  throw DTypeError(std::string(what) + " is " + shown(object) + ", expected a bool");
}

ScatterKeywords parse_scatter_keywords(PyObject* reduce, bool include_self, PyObject* duplicates) {
  static const Words<10> reduce_words("reduce",
                                      {"add", "sum", "mul", "prod", "multiply", "min", "amin", "max", "amax", "mean"});
  constexpr Reduce kReduce[] = {Reduce::add, Reduce::add, Reduce::mul, Reduce::mul, Reduce::mul,
                                Reduce::min, Reduce::min, Reduce::max, Reduce::max, Reduce::mean};
  static const Words<3> duplicates_words("duplicates", {"last", "first", "error"});
  ScatterKeywords words;
  words.duplicates = static_cast<Duplicates>(duplicates_words.find(duplicates));
  if (reduce != Py_None) words.combine.reduce = kReduce[reduce_words.find(reduce)];
  words.combine.include_self = include_self;
  if (words.combine.reduce == Reduce::set && !include_self) {
    throw ShapeError("include_self=False needs reduce=: without a reduction, the old value is replaced in any case");
  }
  if (words.combine.reduce != Reduce::set && words.duplicates != Duplicates::last) {
    throw ShapeError("duplicates=" + py::repr(duplicates).cast<std::string>() +
                     " and reduce=" + py::repr(reduce).cast<std::string>() +
                     " exclude each other: a reduction combines the values of all duplicates");
  }
  return words;
}

}  // namespace gs
