// backend.h: the interface of a backend, which runs accepted plans on memory that it can access.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/column_kernels.h"
#include "backends/table_tuning.h"
#include "core/combine.h"
#include "core/plan.h"
#include "host/memory_pool.h"
#include "host/thread_count.h"

namespace gs {

namespace device {
class Machine;
class Receipt;
}  // namespace device

enum class Outcome { done, bad_index, interrupted };

struct RunOptions {
  ThreadCount threads = 1;
  // Polled about every 10 ms on the calling thread; the run stops when it returns true. May be null.
  bool (*interrupted)() = nullptr;
  // The indices were checked before, so that a run need not look for bad ones ahead of its first write.
  bool is_checked = false;
};

// Work on [0, count). Its work chunks may run in any order and on any thread. `run` may throw std::bad_alloc and no
// other exception.
struct ParallelWork {
  int64_t count = 0;
  int64_t grain = 1;  // every work chunk begins at a multiple of it
  int64_t least = 1;  // a shorter work chunk costs more than another thread saves
  void (*run)(void* context, int64_t begin, int64_t end) = nullptr;
  void* context = nullptr;
};

// The memory of one run of a small move. All index arrays lie in one, which begins at `index`. Operands that the plan
// does not have are null; a null `fill` means zero bytes, and else it is one item.
struct SmallBuffers {
  std::byte* dense = nullptr;
  std::byte* indexed = nullptr;
  const std::byte* index = nullptr;
  const std::byte* mask = nullptr;
  const std::byte* fill = nullptr;
};

// A small move or reduction whose decisions are already made. It runs on the calling thread alone, again and again on
// other memory of the same geometry. Several threads may call `run` and `allows` of one object at the same time.
class SmallMove {
 public:
  virtual ~SmallMove() = default;
  // As Backend::move or Backend::reduce. Returns false if the rule forbids an index; part of the destination may be
  // written by then.
  virtual bool run(const SmallBuffers& buffers) const = 0;
  // As `run`, for an object that one thread alone uses: nothing has to be copied first.
  virtual bool run_alone(const SmallBuffers& buffers) = 0;
  // Returns true if the rule forbids none of the indices, of which it reads those that the mask does not hide. Writes
  // nothing.
  virtual bool allows(const SmallBuffers& buffers) const = 0;
};

// What a small move is made for, besides its plan.
struct SmallRequest {
  Direction direction = Direction::gather;
  Combine combine;             // of a scatter
  int64_t index_distance = 0;  // index array a begins a * index_distance bytes after the first
  bool has_fill = false;       // every run has an item to fill with
};

// A decision about how a plan is run, as explain shows it: what was chosen, and the comparison by which.
struct Decision {
  const char* name;
  std::string chosen;
  const char* quantity = nullptr;  // what was compared; null if the decision needs no number
  int64_t amount = 0;
  const char* threshold = nullptr;  // its name in `thresholds`
  int64_t value = 0;
  const char* reason = nullptr;  // of a decision without a number
};

// A plan that makes the same move as another one whose indices were checked: by their positions, which lie in memory of
// their own, or by the same indices. The spans are those that the check has found.
struct ResolvedPlan {
  struct ReleasePositions {
    void operator()(std::byte* memory) const noexcept { host::release(memory); }
  };
  ResolvedPlan() = default;
  ResolvedPlan(const ResolvedPlan&) = delete;  // `buffers` may refer to `spans`
  ResolvedPlan& operator=(const ResolvedPlan&) = delete;

  Plan plan;
  Buffers buffers;
  std::unique_ptr<std::byte, ReleasePositions> positions;
  BlockSpans spans;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const char* name() const = 0;

  // Moves every point of the plan. Each index is loaded once, so that the value that is checked is the value that is
  // used. `bad_index` means that the rule forbids an index; part of the destination may be written by then, but never
  // anything outside of it. A scatter writes duplicates in ascending flat position.
  virtual Outcome move(const Plan& plan, const Buffers& buffers, Direction direction,
                       const RunOptions& options) const = 0;

  // Combines every dense value with its target in ascending flat position, so that the result depends on the operands
  // alone. The dtype must support the reduction, and the strides of the indexed side must be multiples of the item.
  virtual Outcome reduce(const Plan& plan, const Buffers& buffers, const Combine& combine,
                         const RunOptions& options) const = 0;

  // Whether calls may return before their work is done, in the order in which they were submitted. Then the next two
  // are as `move` and `reduce` without waiting for the status: their receipt is null if the rule forbids nothing.
  virtual bool is_asynchronous() const { return false; }
  virtual std::shared_ptr<device::Receipt> move_later(const Plan& plan, const Buffers& buffers,
                                                      Direction direction) const;
  virtual std::shared_ptr<device::Receipt> reduce_later(const Plan& plan, const Buffers& buffers,
                                                        const Combine& combine) const;

  // Returns true if the rule forbids any index. Writes nothing.
  virtual bool any_outside(const Plan& plan, const Buffers& buffers, const RunOptions& options) const = 0;
  // As any_outside. Where it pays, the check leaves a plan in `resolved` that makes the same move in less time; it is
  // valid if the result is false.
  virtual bool resolve(const Plan& plan, const Buffers& buffers, Direction /*direction*/, const RunOptions& options,
                       std::optional<ResolvedPlan>& /*resolved*/) const {
    return any_outside(plan, buffers, options);
  }
  // As first_outside and first_duplicate of core/plan.h, for memory that this backend can access. Empty after an
  // interrupt: a part of the points gives neither the first bad index nor their number.
  virtual std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers,
                                                const RunOptions& options) const = 0;
  virtual std::optional<Duplicate> first_duplicate(const Plan& plan, const Buffers& buffers,
                                                   const RunOptions& options) const = 0;

  // Memory for the duration of a call that this backend can access, and a copy from host memory into it. `allocate`
  // throws std::bad_alloc.
  virtual std::byte* allocate(int64_t bytes) const = 0;
  virtual void release(std::byte* memory) const noexcept = 0;
  virtual void write(std::byte* target, const std::byte* host, int64_t bytes) const = 0;

  // The name of the kernel that `move` would choose, and the number of threads that it would use.
  virtual std::string kernel(const Plan& plan, Direction direction, const Combine& combine, int available) const = 0;
  virtual int threads(const Plan& plan, Direction direction, int available) const = 0;
  // The decisions that depend on thresholds; empty if the backend has none.
  virtual std::vector<Decision> decisions(const Plan&, Direction, const Combine&, int /*available*/) const {
    return {};
  }
};

// A threshold: the name and the value of a measured number that decides how a plan is run.
using Threshold = std::pair<const char*, int64_t>;

// A backend whose memory is host memory, so that the table operators can access that memory as well.
class HostBackend : public Backend {
 public:
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

  // Returns null where every call has to be decided anew: threads may pay, there is nothing to move, or the backend has
  // no small moves.
  virtual std::unique_ptr<SmallMove> small_move(const Plan&, const SmallRequest&) const { return nullptr; }
  // The kernels for columns, and work that threads share (`parallel_for` returns `done` or `interrupted`).
  virtual const ColumnKernels& columns() const = 0;
  virtual Outcome parallel_for(const ParallelWork& work, const RunOptions& options) const = 0;
  // A machine that runs the bodies of device kernels on host memory, for one call; null if the backend has none.
  virtual std::unique_ptr<device::Machine> new_machine() const;
  virtual TableTuning table_tuning() const { return {}; }
  // The thresholds in force, under the names that show_config uses.
  virtual std::vector<Threshold> thresholds() const { return {}; }
};

// The backend for host arrays: GS_BACKEND=cpu (default) or reference. Throws std::invalid_argument for any other value.
const HostBackend& host_backend();

namespace reference {
const HostBackend& backend();  // runs kernel bodies thread by thread: the check for every other kernel
}
namespace cpu {
const HostBackend& backend();
}

}  // namespace gs
