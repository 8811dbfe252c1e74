// keywords.h: parses the string options of operators to enumerators.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "calls/request.h"

namespace gs {

namespace py = pybind11;

// The text of an object for a message, shortened if it is long.
std::string shown(const py::handle& object);

Rule parse_rule(PyObject* bounds, PyObject* negative, Direction direction);
Match parse_match(PyObject* match);

bool parse_bool(PyObject* object, const char* what);

struct ScatterKeywords {
  Combine combine;
  Duplicates duplicates = Duplicates::last;
};
ScatterKeywords parse_scatter_keywords(PyObject* reduce, bool include_self, PyObject* duplicates);

// The same words without an error: false for every other object. None is the reduction that sets.
bool read_bounds(PyObject* word, Direction direction, Bounds& bounds);
bool read_negative(PyObject* word, Negative& negative);
bool read_reduce(PyObject* word, Reduce& reduce);
bool read_duplicates(PyObject* word, Duplicates& duplicates);

// Adds `words`, the words of each keyword in the order of their enumerators, to the module.
void bind_words(py::module_& module);

}  // namespace gs
