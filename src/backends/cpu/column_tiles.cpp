// column_tiles.cpp: packs tiles of columns and gathers from them.
// A row of the source array is far longer than a cache line, and a gather along columns uses one element of each line
// that it reads. In a packed tile every line is used many times, and lines of all sets of a cache are used.
#include "backends/cpu/column_tiles.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "backends/cpu/kernels/prefetch_distances.h"
#include "backends/cpu/packed_tiles.h"
#include "backends/cpu/trace.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

constexpr int64_t kPageOfSets = 4096;  // bytes after which addresses share sets of the first-level cache
// Near sources get tiles if at least this / d columns lie a multiple of d bytes apart (Zen 5).
constexpr int64_t kCrowdedBytes = 64 * 1024;
constexpr int64_t kCrowdingPitch = 256;         // bytes: the least such distance
constexpr int64_t kCrowdingStep = 1024;         // bytes of a row of the source array, at least
constexpr int64_t kCrowdingPoints = 32 * 1024;  // least points
constexpr int64_t kCrowdedRowsPerUse = 8;       // as kTileRowsPerUse, for scatters across crowded columns
// Bytes of the longest unit that is copied by tiles, if columns lie whole pages apart.
constexpr int64_t kCrowdedTileUnit = 4;

struct ColumnTiles {
  const Kernels* kernels;
  const Tuning* tuning;
  const Plan* plan;
  const Buffers* buffers;
  ColumnTiling tiling;
  bool stream;
  std::atomic<bool> bad = false;
};

bool gather_tile(const ColumnTiles& tiles, int64_t number) {
  const ColumnTiling& tiling = tiles.tiling;
  Buffers buffers = *tiles.buffers;
  Plan part = plan_of_tile(*tiles.plan, tiling, number, buffers);
  const int64_t bytes = part.space.extent(tiling.axis) * part.unit;
  IndexArray& index = part.index[0];
  const TileMemory tile = tile_memory(index.extent * bytes);
  if (tile != nullptr) {
    pack_columns(tile.get(), buffers.indexed, index.extent, index.step, bytes);
    index.step = bytes;
    buffers.indexed = tile.get();
  }
  const std::optional<Tiling> walk = tiling_of(part, *tiles.tuning, Direction::gather);
  if (walk && walk->is_tiled) {
    return move_tiles(*tiles.kernels, *tiles.tuning, *walk, buffers, Direction::gather, tiles.stream);
  }
  Prepared prepared;
  prepare(walk ? walk->plan : part, buffers, Direction::gather, *tiles.tuning, prepared);
  prepared.job.stream = tiles.stream && prepared.job.packed;
  trace(prepared.job);
  return tiles.kernels->run(prepared.job, 0, prepared.job.count);
}

bool run_tile(void* context, int64_t chunk) {
  auto& tiles = *static_cast<ColumnTiles*>(context);
  const bool good = gather_tile(tiles, chunk);
  if (!good) tiles.bad.store(true, std::memory_order_relaxed);
  return good;
}

// The columns of the indexed side of a plan: items that lie side by side along `side` begin different columns.
struct ColumnLayout {
  int side = -1;        // -1: the plan has none
  int64_t rows = 0;     // points of each column
  int64_t bytes = 0;    // of a matrix
  bool across = false;  // the indices of one row lie closer to each other than those of one column
};

ColumnLayout layout_of(const Plan& plan, const Tuning& tuning, Direction direction) {
  const Space& space = plan.space;
  ColumnLayout columns;
  if (tuning.general || !is_element(plan.unit)) return columns;
  if (plan.index.size() != 1 || !plan.fold.empty() || space.rank() < 2) return columns;
  int side = -1;
  int64_t rows = 1;
  for (int axis = 0; axis < space.rank(); ++axis) {
    const int64_t stride = space.stride(kIndexed, axis);
    const bool is_side = stride == plan.unit || (direction == Direction::scatter && stride == -plan.unit);
    if (is_side && space.stride(kIndex, axis) != 0) side = axis;
    if (space.stride(kIndexed, axis) == 0) rows *= space.extent(axis);
  }
  const IndexArray& index = plan.index[0];
  if (side < 0 || index.extent < 2 || std::abs(index.step) < space.extent(side) * plan.unit) return columns;
  bool across = false;
  for (int axis = 0; axis < space.rank(); ++axis) {
    const int64_t stride = std::abs(space.stride(kIndex, axis));
    across |= space.stride(kIndexed, axis) == 0 && stride != 0 && stride < std::abs(space.stride(kIndex, side));
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(index.extent, std::abs(index.step), &bytes)) bytes = INT64_MAX;
  return {side, rows, bytes, across};
}

// The distance of columns that lie in few sets of the caches, so that lines are evicted before their next items are
// used: its largest power of two, up to a page, after which the sets of a near cache repeat; 0 for others.
int64_t crowding_of(const Plan& plan) {
  const IndexArray& index = plan.index[0];
  const int64_t step = std::abs(index.step);
  const int64_t apart = std::gcd(step, kPageOfSets);
  if (step < kCrowdingStep || apart < kCrowdingPitch || plan.space.count() < kCrowdingPoints) return 0;
  return index.extent >= std::max(kCrowdedBytes / apart, kCrowdingColumns) ? apart : 0;
}

// Whether each coordinate along an axis belongs to another matrix of the indexed side.
bool counts_matrices(const Space& space, const ColumnTiling& tiling, int axis) {
  return axis != tiling.axis && space.stride(kIndexed, axis) != 0;
}

int64_t tiles_of_matrix(const Space& space, const ColumnTiling& tiling) {
  return (space.extent(tiling.axis) + tiling.columns - 1) / tiling.columns;
}

// The widest tile whose rows fit into a part of the L2 cache.
int64_t width_of(const Plan& plan, const Tuning& tuning, int side) {
  for (int64_t bytes = kTileRowBytes; bytes >= kLineBytes; bytes /= 2) {
    if (plan.index[0].extent > tuning.l2_bytes / kTilePartOfL2 / bytes) continue;
    const int64_t columns = bytes / plan.unit;
    if (plan.space.extent(side) >= 2 * columns) return columns;
  }
  return 0;
}

}  // namespace

int64_t tiles_of(const Space& space, const ColumnTiling& tiling) {
  int64_t tiles = tiles_of_matrix(space, tiling);
  for (int axis = 0; axis < space.rank(); ++axis) {
    if (counts_matrices(space, tiling, axis)) tiles *= space.extent(axis);
  }
  return tiles;
}

Plan plan_of_tile(const Plan& plan, const ColumnTiling& tiling, int64_t number, Buffers& buffers) {
  const Space& space = plan.space;
  const int64_t per_matrix = tiles_of_matrix(space, tiling);
  const int64_t first = number % per_matrix * tiling.columns;
  Plan part = sliced(plan, buffers, tiling.axis, first, std::min(first + tiling.columns, space.extent(tiling.axis)));
  int64_t matrix = number / per_matrix;
  for (int axis = space.rank() - 1; axis >= 0; --axis) {
    if (!counts_matrices(space, tiling, axis)) continue;
    const int64_t at = matrix % space.extent(axis);
    matrix /= space.extent(axis);
    part = sliced(part, buffers, axis, at, at + 1);
  }
  return part;
}

void pack_columns(std::byte* target, const std::byte* source, int64_t rows, int64_t stride, int64_t bytes) {
  for (int64_t row = 0; row < rows; ++row) {
    const Address later = reinterpret_cast<Address>(source) + static_cast<Address>(kPackAhead * stride);
    for (int64_t byte = 0; byte < bytes; byte += kLineBytes) {
      __builtin_prefetch(reinterpret_cast<const void*>(later + static_cast<Address>(byte)), 0, 2);
    }
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
    target += bytes;
    source += stride;
  }
}

ColumnTiling column_tiling_of(const Plan& plan, const Tuning& tuning) {
  const ColumnLayout columns = layout_of(plan, tuning, Direction::gather);
  if (columns.side < 0 || columns.rows < plan.index[0].extent / kTileRowsPerUse) return {};
  const Comparison far = farness(plan, tuning);
  if (!far.is_met() && !(columns.across && crowding_of(plan) > 0)) return {};
  return {columns.side, width_of(plan, tuning, columns.side), far.is_met() ? std::optional(far) : std::nullopt};
}

ColumnTiling column_tiling_of_scatter(const Plan& plan, const Tuning& tuning, bool reduces) {
  const ColumnLayout columns = layout_of(plan, tuning, Direction::scatter);
  // Of a masked plan it is not known how many points there are; a tile of few rows does little more than to begin.
  if (columns.side < 0 || plan.masked || plan.index[0].extent < tuning.target_tile_rows) return {};
  const auto tiling = [&](int64_t per_use, std::optional<Comparison> far) -> ColumnTiling {
    if (columns.rows < plan.index[0].extent / per_use) return {};
    return {columns.side, width_of(plan, tuning, columns.side), far};
  };
  const int64_t crowding = crowding_of(plan);
  if (columns.across && crowding > 0) return tiling(kCrowdedRowsPerUse, std::nullopt);
  const Comparison far = {"bytes of a matrix", columns.bytes, "far_target_bytes", tuning.far_target_bytes};
  const bool pays =
      reduces || plan.unit <= tuning.far_tile_unit || (crowding == kPageOfSets && plan.unit <= kCrowdedTileUnit);
  return far.is_met() && pays ? tiling(kTileRowsPerUse, far) : ColumnTiling{};
}

Outcome gather_column_tiles(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                            const ColumnTiling& tiling, bool stream, const RunOptions& options) {
  ColumnTiles tiles{&kernels, &tuning, &plan, &buffers, tiling, stream, {}};
  host::InterruptPoller poller(options.interrupted);
  const host::Task task{tiles_of(plan.space, tiling), run_tile, &tiles, &poller};
  if (host::run_task(options.threads, task)) return Outcome::done;
  return tiles.bad.load() ? Outcome::bad_index : Outcome::interrupted;
}

}  // namespace gs::cpu
