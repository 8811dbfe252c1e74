// column_tiles.cpp: packs tiles of columns and gathers from them.
// A row of the source array is far longer than a cache line, and a gather along columns uses one element of each line
// that it reads. In a packed tile every line is used many times.
#include "backends/cpu/column_tiles.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "host/memory_pool.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

struct ColumnTiles {
  Run run;
  const Tuning* tuning;
  const Plan* plan;
  const Buffers* buffers;
  int64_t columns;
  int64_t per_matrix;  // number of tiles
  bool stream;
  std::atomic<bool> bad = false;
};

struct Release {
  void operator()(void* memory) const { host::release(memory); }
};

// Copies rows of `bytes` bytes, `stride` bytes apart, to contiguous memory.
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

bool gather_tile(const ColumnTiles& tiles, int64_t number) {
  const int last = tiles.plan->space.rank() - 1;
  Buffers buffers = *tiles.buffers;
  int64_t matrix = number / tiles.per_matrix;
  const int64_t first = number % tiles.per_matrix * tiles.columns;
  Plan part =
      sliced(*tiles.plan, buffers, last, first, std::min(first + tiles.columns, tiles.plan->space.extent(last)));
  for (int axis = last - 2; axis >= 0; --axis) {
    const int64_t at = matrix % part.space.extent(axis);
    matrix /= part.space.extent(axis);
    part = sliced(part, buffers, axis, at, at + 1);
  }
  const int64_t bytes = part.space.extent(last) * part.unit;
  IndexArray& index = part.index[0];
  const std::unique_ptr<void, Release> tile(host::allocate(static_cast<std::size_t>(index.extent * bytes)));
  pack(static_cast<std::byte*>(tile.get()), buffers.indexed, index.extent, index.step, bytes);
  index.step = bytes;
  buffers.indexed = static_cast<std::byte*>(tile.get());
  Prepared prepared;
  prepare(part, buffers, Direction::gather, *tiles.tuning, prepared);
  prepared.job.stream = tiles.stream && prepared.job.packed;
  return tiles.run(prepared.job, 0, prepared.job.count);
}

bool run_tile(void* context, int64_t chunk) {
  auto& tiles = *static_cast<ColumnTiles*>(context);
  const bool good = gather_tile(tiles, chunk);
  if (!good) tiles.bad.store(true, std::memory_order_relaxed);
  return good;
}

}  // namespace

int64_t column_tile_width(const Plan& plan, const Tuning& tuning, Direction direction) {
  const Space& space = plan.space;
  const int last = space.rank() - 1;
  if (direction != Direction::gather || tuning.general || plan.kind != PlanKind::axis || last < 1) return 0;
  const IndexArray& index = plan.index[0];
  if (space.stride(kIndexed, last - 1) != 0 || index.extent < 2 || !is_far(plan, tuning)) return 0;
  if (space.extent(last - 1) < index.extent / kTileRowsPerUse) return 0;
  for (int64_t bytes = kTileRowBytes; bytes >= 64; bytes /= 2) {
    if (index.extent > tuning.l2_bytes / kTilePartOfL2 / bytes) continue;
    const int64_t columns = bytes / plan.unit;
    if (space.extent(last) >= 2 * columns) return columns;
  }
  return 0;
}

Outcome gather_column_tiles(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, int64_t columns,
                            const RunOptions& options) {
  const Space& space = plan.space;
  const int last = space.rank() - 1;
  ColumnTiles tiles{run,
                    &tuning,
                    &plan,
                    &buffers,
                    columns,
                    (space.extent(last) + columns - 1) / columns,
                    streaming(plan, tuning, Direction::gather).is_met()};
  const int64_t matrices = space.count() / space.extent(last) / space.extent(last - 1);
  host::InterruptPoller poller(options.interrupted);
  const host::Task task{matrices * tiles.per_matrix, run_tile, &tiles, &poller};
  if (host::run_task(options.threads, task)) return Outcome::done;
  return tiles.bad.load() ? Outcome::bad_index : Outcome::interrupted;
}

}  // namespace gs::cpu
