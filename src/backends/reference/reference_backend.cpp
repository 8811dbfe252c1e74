// reference_backend.cpp: implements the reference backend: a Queue for every call, so that any thread may call it, and
// columns item by item.
#include "backends/reference/reference_backend.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <stdexcept>

#include "backends/device/queue.h"
#include "backends/devices.h"
#include "host/host_info.h"

namespace gs::reference {
namespace {

std::atomic<const Devices*> runner{nullptr};

std::unique_ptr<device::Machine> new_machine() {
  const Devices* devices = runner.load(std::memory_order_acquire);
  if (devices == nullptr)
    throw std::runtime_error(
        "GS_BACKEND=reference: no devices are set to run the kernel bodies; import gatherscatter._core, "
        "or call gs::reference::run_on first");
  return devices->machine(0, 0);
}

device::Queue queue() {
  return device::Queue(new_machine());
}

void pick_items(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end, bool,
                std::byte* target) {
  for (int64_t i = begin; i < end; ++i) pick_item(items, width, rows, i, target + i * width);
}

int64_t pick_words(const BitSource* bits, RowNumbers rows, int64_t begin, int64_t end, const uint64_t* mask,
                   uint64_t* target) {
  int64_t ones = 0;
  for (int64_t i = begin; i < end; i += 64) {
    const uint64_t word = pick_bits(bits, rows, i, std::min<int64_t>(end - i, 64));
    target[i / 64] = mask == nullptr ? word : word & mask[i / 64];
    ones += std::popcount(target[i / 64]);
  }
  return ones;
}

void put_items(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t first, const uint64_t* places,
               int64_t begin, int64_t end, std::byte* target) {
  for_each_set_place(places, begin, end, first,
                     [&](int64_t k, int64_t i) { pick_item(items, width, rows, k, target + i * width); });
}

void put_bits(const BitSource* bits, RowNumbers rows, int64_t first, const uint64_t* places, int64_t begin, int64_t end,
              uint64_t* target) {
  for_each_set_place(places, begin, end, first, [&](int64_t k, int64_t i) {
    target[i / 64] = (target[i / 64] & ~(uint64_t{1} << (i & 63))) | pick_bits(bits, rows, k, 1) << (i & 63);
  });
}

class Reference final : public HostBackend {
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
  std::string kernel(const Plan& plan, Direction direction, const Combine& combine, int available) const override {
    return queue().kernel(plan, direction, combine, available);
  }
  int threads(const Plan&, Direction, int) const override { return 1; }
  const ColumnKernels& columns() const override {
    static const ColumnKernels kernels{pick_items, pick_words, put_items, put_bits};
    return kernels;
  }
  Outcome parallel_for(const ParallelWork& work, const RunOptions& options) const override {
    const int64_t step = (work.least + work.grain - 1) / work.grain * work.grain;
    for (int64_t begin = 0; begin < work.count; begin += step) {
      if (begin > 0 && options.interrupted != nullptr && options.interrupted()) return Outcome::interrupted;
      work.run(work.context, begin, std::min(begin + step, work.count));
    }
    return Outcome::done;
  }
  TableTuning table_tuning() const override { return {2 * host::info().l2_bytes}; }
  std::unique_ptr<device::Machine> new_machine() const override { return reference::new_machine(); }
};

}  // namespace

void run_on(const Devices& devices) {
  runner.store(&devices, std::memory_order_release);
}

const HostBackend& backend() {
  static const Reference instance;
  return instance;
}

}  // namespace gs::reference
