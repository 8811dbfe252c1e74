// execute.h: declares the steps that gathers and scatters share once their arguments are views: GIL handling, Ctrl-C
// and temporary copies.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "bindings/gil.h"
#include "bindings/run.h"
#include "host/affinity.h"

namespace gs {

// A call of up to this many bytes takes less time than releasing and reacquiring the GIL.
inline constexpr int64_t kKeepLockBytes = 32 * 1024;
// Whether a call on the host keeps the GIL while the plan runs.
bool keeps_lock(const Plan& plan);

// Whether a signal handler has raised an exception. Backends poll it on the calling thread, which does not hold the
// GIL.
bool interrupted();
// Whether the current call of this thread was interrupted: a signal handler has raised an exception, which is thrown
// once the thread holds the GIL again.
bool& signalled();

// Runs work(options) with or without the GIL. Throws the exception that a signal handler has raised meanwhile.
template <class Work>
void run_work(bool keep_lock, Work&& work) {
  RunOptions options;
  options.threads = thread_count();
  signalled() = false;
  if (keep_lock) {
    work(options);
  } else {
    options.interrupted = interrupted;
    const Unlocked unlocked;
    const host::AffinityScope affinity;
    work(options);
  }
  if (signalled()) throw py::error_already_set();
}

Buffers buffers_of(const Request& request, const Operands& operands, std::byte* dense, std::byte* indexed);

// target[..] = source[..], for two arrays of one shape. copy_view releases the GIL for large arrays; run_copy neither
// releases nor acquires it.
void copy_view(const Backend& backend, const ArrayView& source, const ArrayView& target);
Outcome run_copy(const Backend& backend, const ArrayView& source, const ArrayView& target, const RunOptions& options);

ArrayView contiguous_view(std::byte* data, const Dims& extent, int64_t item);

// Memory for the duration of one call, allocated where the backend can access it.
struct TemporaryCopy {
  TemporaryCopy(const Backend& owner, const ArrayView& like);
  TemporaryCopy(TemporaryCopy&& other) noexcept : backend(other.backend), view(other.view) {
    other.view.data = nullptr;
  }
  TemporaryCopy(const TemporaryCopy&) = delete;
  TemporaryCopy& operator=(const TemporaryCopy&) = delete;
  ~TemporaryCopy();
  const Backend& backend;
  ArrayView view;
};

int64_t bytes_of(const ArrayView& view);

// The operands of a call, some of them replaced by private copies.
class Detached {
 public:
  explicit Detached(const Operands& given) : operands(given) {}
  // Replaces every operand except `out` that overlaps `target` by a private copy; `input` only if `input_too`.
  void detach(const ArrayView& target, bool input_too);
  Operands operands;

 private:
  void copy_if_overlapping(Operand& operand, const ArrayView& target);
  std::vector<TemporaryCopy> copies_;
};

// Like Backend::move. With `is_checked`, a call on a GPU does not wait for its status, because its indices were checked
// before; if another thread has written a bad index since, the kernel moves nothing for it.
Outcome move_checked(const Operands& operands, bool is_checked, const Plan& plan, const Buffers& buffers,
                     Direction direction, const RunOptions& options);

// Throws if `out` is read-only, has another dtype than the input, or overlaps itself.
void check_out(const Operands& operands);
// Returns the object that the caller passed as `out`, after marking it as written in the library that owns it.
py::object return_out(const Operands& operands);

// Another thread may change a bad index between the run that reports it and the search for it. If the search finds no
// bad index, the run is repeated, at most this many times in all.
inline constexpr int kTries = 8;

// Runs a gather along an axis tile by tile into a fresh array.
py::object execute_tiled(const Request& request, const Plan& plan, const Operands& operands);

// Copies host operands to the device of the call, then runs a scatter into `out`, or into a copy of the input.
// `planned` is a plan for such a copy, or null.
py::object execute_scatter(const Request& request, Operands& operands, const Plan* planned);

}  // namespace gs
