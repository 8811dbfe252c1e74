// backend.h: what a backend offers: run an accepted plan on memory that it can reach.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/column_kernels.h"
#include "core/combine.h"
#include "core/plan.h"
#include "host/memory_pool.h"
#include "host/thread_count.h"

namespace gs {

namespace device {
class Machine;
}

enum class Outcome { done, bad_index, interrupted };

struct RunOptions {
  ThreadCount threads = 1;
  // Asked about every 10 ms on the calling thread; true stops the run. May be null.
  bool (*interrupted)() = nullptr;
};

// Work on [0, count) that may be done in any order and on any thread. `run` throws std::bad_alloc at most.
struct ParallelWork {
  int64_t count = 0;
  int64_t grain = 1;  // pieces begin at multiples of it
  int64_t least = 1;  // a shorter piece does not pay
  void (*run)(void* context, int64_t begin, int64_t end) = nullptr;
  void* context = nullptr;
};

// A small move whose decisions are made, run again and again on other memory of the same geometry, by the calling
// thread alone. Any number of threads may run one at a time.
class SmallMove {
 public:
  virtual ~SmallMove() = default;
  // As Backend::move: false means a forbidden index, and that part of the destination may have been written.
  virtual bool run(std::byte* dense, std::byte* indexed, const std::byte* index) const = 0;
  // Whether the rule forbids none of the indices; writes nothing.
  virtual bool allows(const std::byte* index) const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;

  // Moves everything that the plan covers. Indices are checked as they are used, each loaded once. `bad_index` means
  // that the rule forbids one of them; part of the destination may have been written by then, nothing outside of it
  // ever. A scatter with duplicate targets writes them in ascending flat position.
  virtual Outcome move(const Plan& plan, const Buffers& buffers, Direction direction,
                       const RunOptions& options) const = 0;

  // Combines every dense value with its target, in ascending flat position, so that the result depends on nothing else.
  // The dtype must have the reduction, and the strides of the indexed side must be multiples of the item.
  virtual Outcome reduce(const Plan& plan, const Buffers& buffers, const Combine& combine,
                         const RunOptions& options) const = 0;

  // Whether the rule forbids any index; writes nothing.
  virtual bool any_outside(const Plan& plan, const Buffers& buffers, const RunOptions& options) const = 0;
  // Which index that is, and which target has several values: as in plan.h, where the memory of this backend is.
  virtual std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers,
                                                const RunOptions& options) const = 0;
  virtual std::optional<Duplicate> first_duplicate(const Plan& plan, const Buffers& buffers,
                                                   const RunOptions& options) const = 0;

  // Memory for the time of a call, where this backend reaches it, and copies from the host's. std::bad_alloc.
  virtual std::byte* allocate(int64_t bytes) const = 0;
  virtual void release(std::byte* memory) const noexcept = 0;
  virtual void write(std::byte* target, const std::byte* host, int64_t bytes) const = 0;

  // Name of the kernel that `move` would pick, and the number of threads it would use.
  virtual std::string kernel(const Plan& plan, Direction direction) const = 0;
  virtual int threads(const Plan& plan, Direction direction, int available) const = 0;
};

// A number that decides how a plan is run, and its name.
using Threshold = std::pair<const char*, int64_t>;

// One whose memory is the host's, so that tables may look into it as well.
class HostBackend : public Backend {
 public:
  std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers,
                                        const RunOptions& options) const override {
    return gs::first_outside(plan, buffers, options.interrupted);
  }
  std::optional<Duplicate> first_duplicate(const Plan& plan, const Buffers& buffers,
                                           const RunOptions& options) const override {
    return gs::first_duplicate(plan, buffers, options.interrupted);
  }
  std::byte* allocate(int64_t bytes) const override {
    return static_cast<std::byte*>(host::allocate(static_cast<std::size_t>(bytes)));
  }
  void release(std::byte* memory) const noexcept override { host::release(memory); }
  void write(std::byte* target, const std::byte* host, int64_t bytes) const override {
    std::memcpy(target, host, static_cast<std::size_t>(bytes));
  }

  // For plans with one index array and neither mask nor fill value. Null where every call is decided anew: threads may
  // pay, there is nothing to move, or the backend has no such thing.
  virtual std::unique_ptr<SmallMove> small_move(const Plan&, Direction) const { return nullptr; }
  // Kernels of columns, and work that is shared by threads (`done` or `interrupted`).
  virtual const ColumnKernels& columns() const = 0;
  virtual Outcome parallel_for(const ParallelWork& work, const RunOptions& options) const = 0;
  // One that runs the bodies of device kernels on the memory of the host, for one call; null where none does.
  virtual std::unique_ptr<device::Machine> new_machine() const;
  // The thresholds in force, by the names that show_config gives them.
  virtual std::vector<Threshold> thresholds() const { return {}; }
};

// The backend that serves host arrays: GS_BACKEND=cpu (default) or reference. Throws std::invalid_argument for other
// names.
const HostBackend& host_backend();

namespace reference {
const HostBackend& backend();  // kernel bodies for one point, run thread by thread: the check for every other kernel
}
namespace cpu {
const HostBackend& backend();
}

}  // namespace gs
