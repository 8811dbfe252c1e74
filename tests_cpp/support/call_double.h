// call_double.h: provides a backend and a context for calls that tests script: races, interrupts and failed
// allocations.
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "calls/call_context.h"
#include "calls/views.h"
#include "catch.h"
#include "core/point.h"

namespace gs::test {

// The number of allocations of this thread until one fails; negative: none fails.
inline thread_local int allocations_left = -1;

inline void count_allocation() {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
}

enum class Step { any_outside, first_outside, first_duplicate, move, reduce };

// Runs everything on the CPU backend. `before(step)` is called before each step, and may change memory.
class ScriptedBackend final : public HostBackend {
 public:
  std::function<void(Step)> before = [](Step) {};
  bool asynchronous = false;  // then its calls do not wait for the status of a move, as those of a GPU
  mutable std::vector<Step> steps;
  mutable int live_blocks = 0;  // allocated and not released

  const char* name() const override { return "scripted"; }
  Outcome move(const Plan& plan, const Buffers& buffers, Direction direction,
               const RunOptions& options) const override {
    note(Step::move);
    return cpu().move(plan, buffers, direction, options);
  }
  Outcome reduce(const Plan& plan, const Buffers& buffers, const Combine& combine,
                 const RunOptions& options) const override {
    note(Step::reduce);
    // What Backend::reduce may rely on.
    for (int axis = 0; axis < plan.space.rank(); ++axis) REQUIRE(plan.space.stride(kIndexed, axis) % plan.item == 0);
    for (const IndexArray& index : plan.index) REQUIRE(index.step % plan.item == 0);
    return cpu().reduce(plan, buffers, combine, options);
  }
  bool is_asynchronous() const override { return asynchronous; }
  // Moves the points that are good, and leaves the others.
  std::shared_ptr<device::Receipt> move_later(const Plan& plan, const Buffers& buffers,
                                              Direction direction) const override {
    note(Step::move);
    if (buffers.base != nullptr) {
      std::memcpy(buffers.indexed, buffers.base, static_cast<std::size_t>(buffers.base_bytes));
    }
    const PlanView view = gs::view_of(plan, buffers);
    for (int64_t flat = 0; flat < view.count; ++flat) {
      const PointOffsets at = locate(view, flat);
      if (at.indexed == kNowhere) continue;
      std::byte* const dense = view.dense + at.dense;
      std::byte* const indexed = view.indexed + at.indexed;
      const bool gathers = direction == Direction::gather;
      std::memcpy(gathers ? dense : indexed, gathers ? indexed : dense, static_cast<std::size_t>(view.unit));
    }
    return nullptr;
  }
  bool any_outside(const Plan& plan, const Buffers& buffers, const RunOptions& options) const override {
    note(Step::any_outside);
    return cpu().any_outside(plan, buffers, options);
  }
  bool resolve(const Plan& plan, const Buffers& buffers, Direction direction, const RunOptions& options,
               std::optional<ResolvedPlan>& resolved) const override {
    note(Step::any_outside);
    return cpu().resolve(plan, buffers, direction, options, resolved);
  }
  std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers,
                                        const RunOptions& options) const override {
    note(Step::first_outside);
    return cpu().first_outside(plan, buffers, options);
  }
  std::optional<Duplicate> first_duplicate(const Plan& plan, const Buffers& buffers,
                                           const RunOptions& options) const override {
    note(Step::first_duplicate);
    return cpu().first_duplicate(plan, buffers, options);
  }
  std::byte* allocate(int64_t bytes) const override {
    count_allocation();
    std::byte* const memory = cpu().allocate(bytes);
    ++live_blocks;
    return memory;
  }
  void release(std::byte* memory) const noexcept override {
    --live_blocks;
    cpu().release(memory);
  }
  std::string kernel(const Plan&, Direction, const Combine&, int) const override { return name(); }
  int threads(const Plan&, Direction, int) const override { return 1; }
  const ColumnKernels& columns() const override { return cpu().columns(); }
  Outcome parallel_for(const ParallelWork& work, const RunOptions& options) const override {
    return cpu().parallel_for(work, options);
  }

 private:
  static const HostBackend& cpu() { return gs::cpu::backend(); }
  void note(Step step) const {
    steps.push_back(step);
    before(step);
  }
};

// A call on one thread, without any lock.
class TestContext final : public CallContext {
 public:
  explicit TestContext(const ScriptedBackend& backend) : backend_(backend) { interrupt = false; }
  TestContext(const TestContext&) = delete;
  TestContext& operator=(const TestContext&) = delete;
  ~TestContext() override {
    for (std::byte* memory : memory_) backend_.release(memory);
  }

  static inline bool interrupt = false;  // what a poll answers
  std::vector<Lock> locks;               // of the runs so far
  std::vector<std::string> waits;        // what each wait for the backend was announced for

  const Backend& backend() const override { return backend_; }
  bool is_interrupted() const override { return interrupt; }
  void about_to_wait(const char* reason) override {
    REQUIRE(backend_.asynchronous);  // no other backend is waited for
    waits.emplace_back(reason);
  }
  std::byte* allocate(int64_t bytes) override {
    memory_.reserve(memory_.size() + 1);
    memory_.push_back(backend_.allocate(bytes));
    return memory_.back();
  }

 private:
  void run_erased(Lock lock, void (*work)(void*, const RunOptions&), void* context) override {
    locks.push_back(lock);
    RunOptions options;
    if (lock == Lock::released) options.interrupted = [] { return interrupt; };
    work(context, options);
  }

  const ScriptedBackend& backend_;
  std::vector<std::byte*> memory_;
};

// A view of consecutive int64 values.
inline ArrayView view_of(int64_t* values, int64_t count) {
  return contiguous_view(reinterpret_cast<std::byte*>(values), Dims{count}, 8);
}
inline IndexView index_of(int64_t* values, int64_t count) {
  IndexView view;
  static_cast<ArrayView&>(view) = view_of(values, count);
  return view;
}

// Runs `call` with the first allocation failing, then with the second, and so on until it returns. `check_untouched`
// runs after each failure. Returns the number of failures.
template <class Run, class Check>
int fail_each_allocation(Run&& call, Check&& check_untouched) {
  for (int failures = 0;; ++failures) {
    allocations_left = failures;
    try {
      call();
      allocations_left = -1;
      return failures;
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
      check_untouched();
    }
  }
}

}  // namespace gs::test

// Every allocation of the test counts, so that each of them can fail. GCC takes the pair of `new` and `free` for a
// mistake where it inlines only one of the two.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t bytes) {
  gs::test::count_allocation();
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  gs::test::count_allocation();
  const auto multiple = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(multiple, (bytes + multiple - 1) / multiple * multiple)) return memory;
  throw std::bad_alloc();
}
// A sanitizer has this operator, whose memory must not come to our `delete`. Catch2 uses it.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
