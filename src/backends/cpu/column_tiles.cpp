// column_tiles.cpp: see column_tiles.h. A row of the table is far longer than a line, and a gather along columns wants
// one element of each line that it touches; packed, every line of a slab is used again and again.
#include "backends/cpu/column_tiles.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "host/memory_pool.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

struct Slabs {
  Run run;
  const Tuning* tuning;
  const Plan* plan;
  const Buffers* buffers;
  int64_t columns;
  int64_t per_matrix;  // slabs
  bool stream;
  std::atomic<bool> bad = false;
};

struct Release {
  void operator()(void* memory) const { host::release(memory); }
};

// Rows of `bytes` bytes, `stride` apart, side by side.
void pack(std::byte* target, const std::byte* source, int64_t rows, int64_t stride, int64_t bytes) {
  for (int64_t row = 0; row < rows; ++row) {
    const Address later = reinterpret_cast<Address>(source) + static_cast<Address>(kPackAhead * stride);
    for (int64_t byte = 0; byte < bytes; byte += 64) {
      __builtin_prefetch(reinterpret_cast<const void*>(later + static_cast<Address>(byte)), 0, 2);
    }
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
    target += bytes;
    source += stride;
  }
}

bool gather_slab(const Slabs& slabs, int64_t number) {
  const int last = slabs.plan->space.rank() - 1;
  Buffers buffers = *slabs.buffers;
  int64_t matrix = number / slabs.per_matrix;
  const int64_t first = number % slabs.per_matrix * slabs.columns;
  Plan part =
      sliced(*slabs.plan, buffers, last, first, std::min(first + slabs.columns, slabs.plan->space.extent(last)));
  for (int axis = last - 2; axis >= 0; --axis) {
    const int64_t at = matrix % part.space.extent(axis);
    matrix /= part.space.extent(axis);
    part = sliced(part, buffers, axis, at, at + 1);
  }
  const int64_t bytes = part.space.extent(last) * part.unit;
  IndexArray& index = part.index[0];
  const std::unique_ptr<void, Release> slab(host::allocate(static_cast<std::size_t>(index.extent * bytes)));
  pack(static_cast<std::byte*>(slab.get()), buffers.indexed, index.extent, index.step, bytes);
  index.step = bytes;
  buffers.indexed = static_cast<std::byte*>(slab.get());
  Prepared prepared;
  prepare(part, buffers, Direction::gather, *slabs.tuning, prepared);
  prepared.job.stream = slabs.stream && prepared.job.packed;
  return slabs.run(prepared.job, 0, prepared.job.count);
}

bool run_slab(void* context, int64_t chunk) {
  auto& slabs = *static_cast<Slabs*>(context);
  const bool good = gather_slab(slabs, chunk);
  if (!good) slabs.bad.store(true, std::memory_order_relaxed);
  return good;
}

}  // namespace

int64_t slab_columns(const Plan& plan, const Tuning& tuning, Direction direction) {
  const Space& space = plan.space;
  const int last = space.rank() - 1;
  if (direction != Direction::gather || tuning.general || plan.kind != PlanKind::axis || last < 1) return 0;
  const IndexArray& index = plan.index[0];
  if (space.stride(kIndexed, last - 1) != 0 || index.extent < 2 || !is_far(plan, tuning)) return 0;
  if (space.extent(last - 1) < index.extent / kSlabRowsPerUse) return 0;
  for (int64_t bytes = kSlabBytes; bytes >= 64; bytes /= 2) {
    if (index.extent > tuning.l2_bytes / kSlabPartOfL2 / bytes) continue;
    const int64_t columns = bytes / plan.unit;
    if (space.extent(last) >= 2 * columns) return columns;
  }
  return 0;
}

Outcome gather_slabs(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, int64_t columns,
                     const RunOptions& options) {
  const Space& space = plan.space;
  const int last = space.rank() - 1;
  Slabs slabs{run,
              &tuning,
              &plan,
              &buffers,
              columns,
              (space.extent(last) + columns - 1) / columns,
              plan.bytes_moved() >= tuning.stream_bytes};
  const int64_t matrices = space.count() / space.extent(last) / space.extent(last - 1);
  host::InterruptPoller poller(options.interrupted);
  const host::Task task{matrices * slabs.per_matrix, run_slab, &slabs, &poller};
  if (host::run_task(options.threads, task)) return Outcome::done;
  return slabs.bad.load() ? Outcome::bad_index : Outcome::interrupted;
}

}  // namespace gs::cpu
