// queue.cpp: submits plans to the machine of a Queue, and waits for their status or returns a receipt.
#include "backends/device/queue.h"

#include <utility>

#include "backends/device/move.h"
#include "backends/device/reduce.h"
#include "backends/device/scan.h"

namespace gs::device {
namespace {

// Holds a status of the machine, or none if no index of the plan can be an error. `is_clean` and `later` give the
// status back to the machine, otherwise the destructor does.
class StatusScope {
 public:
  StatusScope(Machine& machine, const Plan& plan)
      : machine_(machine), status_(plan.can_fail() ? machine.status() : nullptr) {}
  StatusScope(const StatusScope&) = delete;
  StatusScope& operator=(const StatusScope&) = delete;
  ~StatusScope() {
    if (status_ == nullptr) return;
    try {
      machine_.later(status_);
    } catch (...) {  // an exception is already propagating, and it says more
    }
  }
  Status* status() const { return status_; }
  bool is_clean() { return status_ == nullptr || machine_.read_status(std::exchange(status_, nullptr)).is_clean(); }
  std::unique_ptr<Receipt> later() {
    return status_ == nullptr ? nullptr : machine_.later(std::exchange(status_, nullptr));
  }

 private:
  Machine& machine_;
  Status* status_;
};

// Returns work(), or `otherwise` if options.interrupted stopped it.
template <class Answer, class Work>
Answer interruptible(Machine& machine, const RunOptions& options, Answer otherwise, Work&& work) {
  machine.interrupt_by(options.interrupted);
  try {
    return work();
  } catch (const Interrupted&) {
    return otherwise;
  }
}

// Runs work(status), waits, and returns the outcome that the status gives.
template <class Work>
Outcome run_and_wait(Machine& machine, const Plan& plan, const RunOptions& options, Work&& work) {
  return interruptible(machine, options, Outcome::interrupted, [&] {
    StatusScope scope(machine, plan);
    work(scope.status());
    return scope.is_clean() ? Outcome::done : Outcome::bad_index;
  });
}

}  // namespace

Outcome Queue::move(const Plan& plan, const Buffers& buffers, Direction direction, const RunOptions& options) const {
  return run_and_wait(*machine_, plan, options,
                      [&](Status* status) { device::move(*machine_, plan, buffers, direction, status); });
}

std::shared_ptr<Receipt> Queue::move_later(const Plan& plan, const Buffers& buffers, Direction direction) const {
  StatusScope scope(*machine_, plan);
  device::move(*machine_, plan, buffers, direction, scope.status());
  return scope.later();
}

Outcome Queue::reduce(const Plan& plan, const Buffers& buffers, const Combine& combine,
                      const RunOptions& options) const {
  return run_and_wait(*machine_, plan, options,
                      [&](Status* status) { device::reduce(*machine_, plan, buffers, combine, status); });
}

std::shared_ptr<Receipt> Queue::reduce_later(const Plan& plan, const Buffers& buffers, const Combine& combine) const {
  StatusScope scope(*machine_, plan);
  device::reduce(*machine_, plan, buffers, combine, scope.status());
  return scope.later();
}

bool Queue::any_outside(const Plan& plan, const Buffers& buffers, const RunOptions& options) const {
  return interruptible(*machine_, options, false, [&] { return !scan(*machine_, plan, buffers).is_clean(); });
}

std::optional<BadIndex> Queue::first_outside(const Plan& plan, const Buffers& buffers,
                                             const RunOptions& options) const {
  return interruptible(*machine_, options, std::optional<BadIndex>(),
                       [&] { return device::first_outside(*machine_, plan, buffers); });
}

std::optional<Duplicate> Queue::first_duplicate(const Plan& plan, const Buffers& buffers,
                                                const RunOptions& options) const {
  return interruptible(*machine_, options, std::optional<Duplicate>(),
                       [&] { return device::first_duplicate(*machine_, plan, buffers); });
}

std::string Queue::kernel(const Plan& plan, Direction direction, const Combine& combine, int) const {
  const bool reduces = combine.reduce != Reduce::set;
  return std::string(name()) + " " + (reduces ? kernel_name(plan, combine) : kernel_name(plan, direction));
}

}  // namespace gs::device
