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

void pick_items(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end, CopyHints,
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

void put_items(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t first, int64_t last,
               const uint16_t* place, int64_t origin, std::byte* target) {
  constexpr uint32_t kFirstRow = 0;
  for (int64_t k = first; k < last; ++k) {
    std::byte* const to = target + (place[k] - origin) * width;
    if (rows.row == nullptr) {
      pick_item(items, width, {&kFirstRow, nullptr}, 0, to);
    } else {
      pick_item(items, width, rows, k, to);
    }
  }
}

int64_t expand_bits(const uint64_t* packed, const uint64_t* places, int64_t words, uint64_t* target) {
  int64_t ones = 0;
  int64_t k = 0;
  for (int64_t i = 0; i < words * 64; ++i) {
    const uint64_t bit = uint64_t{1} << (i & 63);
    if ((places[i / 64] & bit) != 0) {
      const bool is_set = ((packed[k / 64] >> (k & 63)) & 1) != 0;
      target[i / 64] = is_set ? target[i / 64] | bit : target[i / 64] & ~bit;
      ++k;
    }
    ones += (target[i / 64] & bit) != 0;
  }
  return ones;
}

void copy_past_caches(std::byte* target, const std::byte* source, int64_t bytes) {
  for (int64_t b = 0; b < bytes; ++b) target[b] = source[b];
}

template <class Offset>
bool place_each(const OffsetRows& rows, int64_t i, int64_t before, int64_t base, SpanGroup& group) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(Offset));
  const auto load = [](const std::byte* values, int64_t row) {
    Offset value;
    std::memcpy(&value, values + row * kWidth, kWidth);
    return int64_t{value};
  };
  for (int k = 0; k < group.count; ++k) {
    const int64_t total = load(rows.offsets, i + k + 1);
    const int64_t items = total - std::exchange(before, total);
    const int64_t from = items > 0 ? load(rows.starts, i + k) : 0;
    const SpanPiece& piece = rows.pieces[rows.piece != nullptr ? rows.piece[k] : ((rows.second >> k) & 1) != 0];
    if (items < 0 || from < 0 || items > piece.reach - from) return false;
    group.from[k] = items > 0 ? piece.bytes + from * rows.item : nullptr;
    group.bytes[k] = items * rows.item;
    const auto offset = static_cast<Offset>(total + base);
    std::memcpy(rows.offsets + (i + k + 1) * kWidth, &offset, kWidth);
  }
  return true;
}

bool place_spans(const OffsetRows& rows, int64_t i, int64_t before, int64_t base, SpanGroup& group) {
  return rows.width == 4 ? place_each<int32_t>(rows, i, before, base, group)
                         : place_each<int64_t>(rows, i, before, base, group);
}

void copy_spans(SpanStage& stage, const SpanGroup& group, const SpanGroup*) {
  for (int k = 0; k < group.count; ++k) {
    copy_past_caches(stage.line + stage.end, group.from[k], group.bytes[k]);
    stage.end += group.bytes[k];
  }
}

void finish_spans(SpanStage&) {}

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
    static const ColumnKernels kernels{pick_items,       pick_words,  put_items,  expand_bits,
                                       copy_past_caches, place_spans, copy_spans, finish_spans};
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
