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

}  // namespace gs
