// execute.h: what gathers and scatters have in common once their arguments are views: the interpreter lock, Ctrl-C,
// temporary copies.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "bindings/gil.h"
#include "bindings/run.h"
#include "host/affinity.h"

namespace gs {

// Up to this many bytes a call is shorter than giving the interpreter lock away and taking it back.
inline constexpr int64_t kKeepLockBytes = 32 * 1024;
bool keeps_lock(const Plan& plan);

// Asked by backends on the calling thread, which runs without the interpreter lock.
bool interrupted();
// Whether the call that this thread is in was interrupted: a signal handler raised, and its error waits for the lock.
bool& signalled();

// Runs work(options) with or without the lock; raises what a signal handler has raised meanwhile.
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
    const host::AffinityScope look;
    work(options);
  }
  if (signalled()) throw py::error_already_set();
}

Buffers buffers_of(const Request& request, const Operands& operands, std::byte* dense, std::byte* indexed);

// target[..] = source[..], of the same shape; `run_copy` with the lock as it is.
void copy_view(const Backend& backend, const ArrayView& source, const ArrayView& target);
Outcome run_copy(const Backend& backend, const ArrayView& source, const ArrayView& target, const RunOptions& options);

ArrayView contiguous_view(std::byte* data, const Dims& extent, int64_t item);

// Memory that lives for one call, where a backend reaches it.
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

// The operands of a call, of which some lie on private copies.
class Detached {
 public:
  explicit Detached(const Operands& given) : operands(given) {}
  // Gives every operand but `out` that overlaps `target` memory of its own; `input` only where `input_too`.
  void detach(const ArrayView& target, bool input_too);
  Operands operands;

 private:
  void move_away(Operand& operand, const ArrayView& target);
  std::vector<TemporaryCopy> copies_;
};

// As Backend::move. On a GPU, indices that were checked already are not waited for again: a bad one, written meanwhile
// by somebody else, moves nothing.
Outcome move_checked(const Operands& operands, bool is_checked, const Plan& plan, const Buffers& buffers,
                     Direction direction, const RunOptions& options);

// Refuses an `out` that is read-only, of another dtype than the input, or that overlaps itself.
void check_out(const Operands& operands);
// What a call with `out` returns; tells the library that owns it that it was written to.
py::object written(const Operands& operands);

// Another thread may change an index between the run that met it and the search that names it; then all is tried again.
inline constexpr int kTries = 8;

// Runs a gather along an axis tile by tile, into a fresh array.
py::object execute_tiled(const Request& request, const Plan& plan, const Operands& operands);

// Runs a scatter, once host operands have been brought to its device: into `out`, or into a copy of the input.
// `planned` was made for such a copy, or is null.
py::object execute_scatter(const Request& request, Operands& operands, const Plan* planned);

}  // namespace gs
