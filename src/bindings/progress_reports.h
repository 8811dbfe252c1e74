// progress_reports.h: declares how a call from Python reports its progress to a callback of its context.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

namespace gs {

// A call that runs longer than half a second reports `done` of kProgressTotal, at the same polls that ask for Ctrl-C.
inline constexpr long kProgressTotal = 1000;

// The work whose progress begins: a whole call, or one of the two steps of an operator on tables.
enum class Stage { whole, read_map, move_rows };

// The first of these functions begins a stage on this thread. The other two need the GIL and return false if the
// callback has raised: Python's exception is then set. `end_progress` reports the end of a call if anything was
// reported.
void begin_progress(Stage stage);
bool report_progress();
bool end_progress(Stage stage);

// Runs the signal handlers of Python, which may call operators: their progress is not that of the current call. Returns
// false if one has raised an exception.
bool check_signals();

// Whether a callback runs on this thread, in which operators report nothing.
bool progress_is_hidden();

// Whether the map of the current operator on tables has reported, so that its rows have to report their end.
bool progress_has_begun();

// After how many milliseconds a call begins to report. Tests set it, to 0 for a poll between any two work chunks and a
// report at the first one, so that no machine is too fast for them.
int64_t progress_silence();
void set_progress_silence(int64_t milliseconds);

// The context variable of the callbacks: a tuple with one list for each block that was entered, innermost last. The
// list holds the callback while the block is open, or None to report nothing, and is empty afterwards.
pybind11::object progress_blocks();

}  // namespace gs
