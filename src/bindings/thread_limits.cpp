// thread_limits.cpp: keeps the thread limits of contexts and of the process.
#include "bindings/thread_limits.h"

#include <atomic>
#include <string>

#include "bindings/arguments/keywords.h"
#include "host/host_info.h"

namespace gs {

namespace py = pybind11;

namespace {

std::atomic<int> process_threads{0};
constexpr long kMostThreads = 1024;  // the maximum of GS_NUM_THREADS as well

PyObject* limits_variable() {
  static PyObject* const variable = [] {
    const py::tuple none;
    PyObject* made = PyContextVar_New("gatherscatter.thread_limits", none.ptr());
    if (made == nullptr) throw py::error_already_set();
    return made;
  }();
  return variable;
}

// The limit of the innermost open block of this context; 0 if there is none.
int limit_of_context() {
  PyObject* found = nullptr;
  if (PyContextVar_Get(limits_variable(), nullptr, &found) != 0) throw py::error_already_set();
  const auto blocks = py::reinterpret_steal<py::object>(found);
  // Python code can set the variable to any object.
  if (!PyTuple_CheckExact(found)) throw py::type_error("thread_limits holds " + shown(blocks) + ", expected a tuple");
  for (Py_ssize_t i = PyTuple_GET_SIZE(found); i-- > 0;) {
    PyObject* block = PyTuple_GET_ITEM(found, i);
    if (PyList_Check(block) && PyList_GET_SIZE(block) == 0) continue;
    PyObject* limit = PyList_Check(block) ? PyList_GET_ITEM(block, 0) : nullptr;
    int overflow = 0;
    const long count = limit != nullptr && PyLong_CheckExact(limit) ? PyLong_AsLongAndOverflow(limit, &overflow) : 0;
    if (count >= 1 && count <= kMostThreads && overflow == 0) return static_cast<int>(count);
    throw py::type_error("thread_limits holds " + shown(blocks) + ", expected lists of one number from 1 to " +
                         std::to_string(kMostThreads));
  }
  return 0;
}

}  // namespace

ThreadCount thread_count() {
  if (const int limit = limit_of_context(); limit > 0) return limit;
  return process_thread_count();
}

ThreadCount process_thread_count() {
  int count = process_threads.load(std::memory_order_relaxed);
  if (count == 0) count = host::info().threads;
  return count > 0 ? ThreadCount(count) : ThreadCount(host::processors);
}

void set_thread_count(int count) {
  process_threads.store(count, std::memory_order_relaxed);
}
py::object thread_limits() {
  return py::reinterpret_borrow<py::object>(limits_variable());
}

}  // namespace gs
