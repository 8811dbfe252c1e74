// progress_reports.cpp: calls the progress callback of the context of a call that takes long.
#include "bindings/progress_reports.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "bindings/python_calls.h"
#include "host/interrupt_poller.h"
#include "host/progress.h"

namespace gs {

namespace py = pybind11;

namespace {

using ReportClock = std::chrono::steady_clock;

std::atomic<int64_t> silent_ms = 500;
constexpr double kShareOfMap = 0.25;  // of an operator on tables; rows take longer than their numbers
constexpr auto kBetween = std::chrono::milliseconds(50);

// The reports of the current call of a thread.
struct Reports {
  bool has_begun = false;  // whether `begun` is set: by the first poll, so that short calls do not ask for the time
  ReportClock::time_point begun;
  ReportClock::time_point last;
  bool any = false;
  bool has_map = false;      // rows of the map that was read follow
  bool in_callback = false;  // calls that the callback makes report nothing
};
thread_local Reports reports;

PyObject* blocks_variable() {
  static PyObject* const variable = [] {
    const py::tuple none;
    PyObject* made = PyContextVar_New("gatherscatter.progress", none.ptr());
    if (made == nullptr) throw py::error_already_set();
    return made;
  }();
  return variable;
}

// The callback of the innermost open block of this context, a new reference; null if there is none. Python code can set
// the variable to any object.
PyObject* callback_of_context() {
  PyObject* found = nullptr;
  if (PyContextVar_Get(blocks_variable(), nullptr, &found) != 0) return nullptr;
  const auto blocks = py::reinterpret_steal<py::object>(found);
  if (!PyTuple_CheckExact(found)) return nullptr;
  for (Py_ssize_t i = PyTuple_GET_SIZE(found); i-- > 0;) {
    PyObject* block = PyTuple_GET_ITEM(found, i);
    if (!PyList_Check(block) || PyList_GET_SIZE(block) == 0) continue;
    PyObject* callback = PyList_GET_ITEM(block, 0);
    return callback == Py_None ? nullptr : Py_NewRef(callback);
  }
  return nullptr;
}

// Calls the callback. It may call operators, whose progress is another one.
bool call_back(long done) {
  PyObject* callback = callback_of_context();
  if (callback == nullptr) return PyErr_Occurred() == nullptr;
  const host::Progress progress = host::Progress::current();
  Reports mine = reports;
  mine.any = true;
  mine.last = ReportClock::now();
  reports.in_callback = true;
  PyObject* answer = call_python([&] { return PyObject_CallFunction(callback, "ll", done, kProgressTotal); });
  reports = mine;
  host::Progress::current() = progress;
  Py_DECREF(callback);
  Py_XDECREF(answer);
  return answer != nullptr;
}

}  // namespace

void begin_progress(Stage stage) {
  host::Progress& progress = host::Progress::current();
  if (stage == Stage::move_rows && reports.has_map) {
    reports.has_map = false;
    progress = {kShareOfMap, 1, kShareOfMap};
    return;
  }
  const bool in_callback = reports.in_callback;
  reports = {};
  reports.in_callback = in_callback;
  reports.has_map = stage == Stage::read_map;
  progress = {0, reports.has_map ? kShareOfMap : 1, 0};
}

bool report_progress() {
  if (reports.in_callback) return true;
  const auto now = ReportClock::now();
  if (!reports.has_begun) {
    reports.has_begun = true;
    reports.begun = now;
  }
  if (now - reports.begun < std::chrono::milliseconds(silent_ms) || (reports.any && now - reports.last < kBetween))
    return true;
  const auto done = static_cast<long>(host::Progress::current().done * static_cast<double>(kProgressTotal));
  return call_back(std::clamp(done, 0L, kProgressTotal - 1));
}

bool end_progress(Stage stage) {
  if (stage == Stage::read_map || !reports.any || reports.in_callback) return true;
  reports.any = false;
  return call_back(kProgressTotal);
}

bool check_signals() {
  const Reports mine = reports;
  const host::Progress progress = host::Progress::current();
  const bool was_raised = PyErr_CheckSignals() != 0;
  reports = mine;
  host::Progress::current() = progress;
  return !was_raised;
}

bool progress_is_hidden() {
  return reports.in_callback;
}

bool progress_has_begun() {
  return reports.any;
}

int64_t progress_silence() {
  return silent_ms;
}

void set_progress_silence(int64_t milliseconds) {
  silent_ms = milliseconds;
  host::InterruptPoller::interval = std::min(milliseconds, host::InterruptPoller::kInterval);
}

py::object progress_blocks() {
  return py::reinterpret_borrow<py::object>(blocks_variable());
}

}  // namespace gs
