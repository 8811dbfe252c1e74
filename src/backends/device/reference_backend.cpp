// reference_backend.cpp: the backend of GS_BACKEND=reference: a queue for every call, so that any thread may call.
#include <atomic>
#include <stdexcept>

#include "backends/device/queue.h"
#include "backends/devices.h"

namespace gs::reference {
namespace {

std::atomic<const Devices*> runner{nullptr};

std::unique_ptr<device::Machine> new_machine() {
  const Devices* devices = runner.load(std::memory_order_acquire);
  if (devices == nullptr) throw std::runtime_error("GS_BACKEND=reference: the module _reference was not loaded");
  return devices->machine(0, 0);
}

device::Queue queue() {
  return device::Queue(new_machine());
}

class Reference final : public Backend {
 public:
  const char* name() const override { return "reference"; }
  Outcome move(const Plan& plan, const Buffers& buffers, Direction direction,
               const RunOptions& options) const override {
    return queue().move(plan, buffers, direction, options);
  }
  Outcome reduce(const Plan& plan, const Buffers& buffers, const Combine& combine,
                 const RunOptions& options) const override {
    return queue().reduce(plan, buffers, combine, options);
  }
  bool any_outside(const Plan& plan, const Buffers& buffers, const RunOptions& options) const override {
    return queue().any_outside(plan, buffers, options);
  }
  std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers,
                                        const RunOptions& options) const override {
    return queue().first_outside(plan, buffers, options);
  }
  std::optional<Duplicate> first_duplicate(const Plan& plan, const Buffers& buffers,
                                           const RunOptions& options) const override {
    return queue().first_duplicate(plan, buffers, options);
  }
  std::string kernel(const Plan& plan, Direction direction) const override { return queue().kernel(plan, direction); }
  int threads(const Plan&, Direction, int) const override { return 1; }
  const ColumnKernels& columns() const override { return queue().columns(); }
  Outcome share(const Share& work, const RunOptions& options) const override { return queue().share(work, options); }
  std::unique_ptr<device::Machine> new_machine() const override { return reference::new_machine(); }
};

}  // namespace

void run_on(const Devices& devices) {
  runner.store(&devices, std::memory_order_release);
}

const Backend& backend() {
  static const Reference instance;
  return instance;
}

}  // namespace gs::reference
