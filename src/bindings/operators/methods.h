// methods.h: converts functions to entries of a table of Python methods.
#pragma once

#include <Python.h>

namespace gs {

// A function of a signature that METH_FASTCALL or METH_KEYWORDS asks for.
template <class Function>
PyCFunction as_method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace gs
