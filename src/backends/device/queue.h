// queue.h: the backend that runs plans by device kernels on a machine; the reference backend uses it too.
#pragma once

#include <memory>
#include <string>

#include "backends/backend.h"
#include "backends/device/machine.h"

namespace gs::device {

// All work goes to one machine, in order. The machine's kernels must be able to access the buffers. One thread at a
// time may use a Queue.
class Queue final : public Backend {
 public:
  explicit Queue(std::unique_ptr<Machine> machine) : machine_(std::move(machine)) {}
  Machine& machine() const { return *machine_; }

  const char* name() const override { return machine_->name(); }
  Outcome move(const Plan& plan, const Buffers& buffers, Direction direction, const RunOptions& options) const override;
  bool is_asynchronous() const override { return true; }
  std::shared_ptr<Receipt> move_later(const Plan& plan, const Buffers& buffers, Direction direction) const override;
  Outcome reduce(const Plan& plan, const Buffers& buffers, const Combine& combine,
                 const RunOptions& options) const override;
  std::shared_ptr<Receipt> reduce_later(const Plan& plan, const Buffers& buffers,
                                        const Combine& combine) const override;

  bool any_outside(const Plan& plan, const Buffers& buffers, const RunOptions& options) const override;
  std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers,
                                        const RunOptions& options) const override;
  std::optional<Duplicate> first_duplicate(const Plan& plan, const Buffers& buffers,
                                           const RunOptions& options) const override;

  std::byte* allocate(int64_t bytes) const override { return machine_->allocate(bytes); }
  void release(std::byte* memory) const noexcept override { machine_->release(memory); }
  void write(std::byte* target, const std::byte* host, int64_t bytes) const override {
    machine_->write(target, host, bytes);
  }

  std::string kernel(const Plan& plan, Direction direction, const Combine& combine, int available) const override;
  int threads(const Plan&, Direction, int) const override { return 1; }

 private:
  std::unique_ptr<Machine> machine_;
};

}  // namespace gs::device
