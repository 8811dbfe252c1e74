// queue.cpp: see queue.h.
#include "backends/device/queue.h"

#include <utility>

#include "backends/device/move.h"
#include "backends/device/reduce.h"
#include "backends/device/scan.h"
#include "backends/devices.h"

namespace gs::device {
namespace {

// A status of the machine, unless the plan cannot fail; given back by whoever asks for it, or at the end.
class InterruptScope {
 public:
  InterruptScope(Machine& machine, const Plan& plan)
      : machine_(machine), status_(plan.can_fail() ? machine.status() : nullptr) {}
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  ~InterruptScope() {
    if (status_ == nullptr) return;
    try {
      machine_.later(status_);
    } catch (...) {  // an error is on its way already, and says more
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

// work(), or `stopped` where somebody has stopped it.
template <class Answer, class Work>
Answer stoppable(Machine& machine, const RunOptions& options, Answer stopped, Work&& work) {
  machine.interrupt_by(options.interrupted);
  try {
    return work();
  } catch (const Interrupted&) {
    return stopped;
  }
}

// Runs work(status) and waits for its status.
template <class Work>
Outcome waited(Machine& machine, const Plan& plan, const RunOptions& options, Work&& work) {
  return stoppable(machine, options, Outcome::interrupted, [&] {
    InterruptScope watch(machine, plan);
    work(watch.status());
    return watch.is_clean() ? Outcome::done : Outcome::bad_index;
  });
}

}  // namespace

Outcome Queue::move(const Plan& plan, const Buffers& buffers, Direction direction, const RunOptions& options) const {
  return waited(*machine_, plan, options,
                [&](Status* status) { device::move(*machine_, plan, buffers, direction, status); });
}

std::unique_ptr<Receipt> Queue::move_later(const Plan& plan, const Buffers& buffers, Direction direction) const {
  InterruptScope watch(*machine_, plan);
  device::move(*machine_, plan, buffers, direction, watch.status());
  return watch.later();
}

Outcome Queue::reduce(const Plan& plan, const Buffers& buffers, const Combine& combine,
                      const RunOptions& options) const {
  return waited(*machine_, plan, options,
                [&](Status* status) { device::reduce(*machine_, plan, buffers, combine, status); });
}

std::unique_ptr<Receipt> Queue::reduce_later(const Plan& plan, const Buffers& buffers, const Combine& combine) const {
  InterruptScope watch(*machine_, plan);
  device::reduce(*machine_, plan, buffers, combine, watch.status());
  return watch.later();
}

bool Queue::any_outside(const Plan& plan, const Buffers& buffers, const RunOptions& options) const {
  return stoppable(*machine_, options, false, [&] { return !scan(*machine_, plan, buffers).is_clean(); });
}

std::optional<BadIndex> Queue::first_outside(const Plan& plan, const Buffers& buffers,
                                             const RunOptions& options) const {
  return stoppable(*machine_, options, std::optional<BadIndex>(),
                   [&] { return device::first_outside(*machine_, plan, buffers); });
}

std::optional<Duplicate> Queue::first_duplicate(const Plan& plan, const Buffers& buffers,
                                                const RunOptions& options) const {
  return stoppable(*machine_, options, std::optional<Duplicate>(),
                   [&] { return device::first_duplicate(*machine_, plan, buffers); });
}

std::string Queue::kernel(const Plan& plan, Direction direction) const {
  return std::string(name()) + " " + kernel_name(plan, direction);
}

}  // namespace gs::device
