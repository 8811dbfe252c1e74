// check_indices.cpp: checks all indices of a plan before anything is moved, on all threads. Where it pays, the check
// leaves the positions behind, so that the move reads 2 or 4 bytes for each index instead of the index again.
#include "backends/cpu/check_indices.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <numeric>

#include "backends/cpu/packed_tiles.h"
#include "backends/cpu/target_spans.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

constexpr int64_t kMinScanPoints = 16384;        // indices of a work chunk of a check
constexpr int64_t kMaxScanPoints = 1024 * 1024;  // the same, between two polls of Ctrl-C

struct Scan {
  const Plan* plan;
  const Buffers* buffers;
  int64_t count;
  int64_t chunk;
  int64_t chunks;
  std::mutex mutex;             // protects `bad`
  std::optional<BadIndex> bad;  // the lowest bad index so far; its count is that of all

  Scan(const Plan& scanned, const Buffers& memory, int64_t points, int threads, int64_t grain = kScanGrain)
      : plan(&scanned), buffers(&memory), count(points) {
    chunk = std::clamp(count / (int64_t{threads} * kChunksPerThread), kMinScanPoints,
                       std::max(kMaxScanPoints, (count >> 31) + 1));
    chunk = std::max(chunk / grain, int64_t{1}) * grain;
    chunks = (count + chunk - 1) / chunk;
  }
};

bool scan_chunk(void* context, int64_t chunk) {
  const auto& scan = *static_cast<Scan*>(context);
  const int64_t begin = chunk * scan.chunk;
  return !any_outside(*scan.plan, *scan.buffers, begin, std::min(begin + scan.chunk, scan.count));
}

bool find_chunk(void* context, int64_t chunk) {
  auto& scan = *static_cast<Scan*>(context);
  const int64_t begin = chunk * scan.chunk;
  const auto bad = gs::first_outside(*scan.plan, *scan.buffers, begin, std::min(begin + scan.chunk, scan.count));
  if (!bad) return true;
  const std::lock_guard<std::mutex> lock(scan.mutex);
  const int64_t counted = bad->count + (scan.bad ? scan.bad->count : 0);
  if (!scan.bad || bad->flat < scan.bad->flat) scan.bad = bad;
  scan.bad->count = counted;
  return true;
}

// Whether an index array has a stride along an axis.
bool reads_along(const Space& space, int axis) {
  for (int operand = kIndex; operand < space.operands(); ++operand) {
    if (space.stride(operand, axis) != 0) return true;
  }
  return false;
}

// The plan that reads each index of `plan` once: its space has only the axes of `space` along which indices lie, and
// the dense side is a contiguous array of positions. The space is not coalesced.
Plan reading_plan(const Plan& plan, const Space& space, int64_t bytes) {
  Plan reading;
  reading.rule = plan.rule;
  reading.index = plan.index;
  Dims extents;
  for (int axis = 0; axis < space.rank(); ++axis) {
    if (reads_along(space, axis)) extents.push_back(space.extent(axis));
  }
  reading.space = Space(extents, space.operands());
  int64_t dense = bytes;
  int to = extents.size() - 1;
  for (int axis = space.rank() - 1; axis >= 0; --axis) {
    if (!reads_along(space, axis)) continue;
    for (int operand = kIndex; operand < space.operands(); ++operand) {
      reading.space.stride(operand, to) = space.stride(operand, axis);
    }
    reading.space.stride(kDense, to) = dense;
    dense *= space.extent(axis);
    --to;
  }
  reading.item = reading.unit = bytes;
  return reading;
}

// What a check leaves behind: the positions, as numbers of `bytes` bytes, and the spans of blocks of them. Both may be
// null.
struct Kept {
  std::byte* positions = nullptr;
  int bytes = 0;
  BlockSpans* spans = nullptr;
};

struct CheckWork {
  const Kernels* kernels;
  const Plan* plan;
  const Job* job;
  Kept kept;
  int64_t chunk;
};

bool check_chunk(void* context, int64_t chunk) {
  const auto& work = *static_cast<CheckWork*>(context);
  const Kept& kept = work.kept;
  const CheckIndices check = work.kernels->check;
  const int64_t last = std::min((chunk + 1) * work.chunk, work.job->count);
  if (kept.spans == nullptr) return check(*work.job, chunk * work.chunk, last, kept.positions, kept.bytes, nullptr);
  const int64_t points = kept.spans->points;
  for (int64_t first = chunk * work.chunk; first < last; first += points) {
    const int64_t n = std::min(points, last - first);
    IndexSpan& span = kept.spans->of_block[static_cast<std::size_t>(first / points)];
    if (!check(*work.job, first, first + n, kept.positions, kept.bytes, &span)) return false;
    if (kept.positions != nullptr) continue;
    const IndexArray& index = work.plan->index[0];
    const std::byte* const indices = kept.spans->index + first * index_size(index.type);
    span = position_span(work.kernels->index_span, index, work.plan->rule, indices, n);
  }
  return true;
}

struct TileCheck {
  CheckIndices check;
  const Tuning* tuning;
  const Tiling* tiling;
  const Buffers* buffers;
  int bytes;
  int64_t tiles;  // of a work chunk
};

bool check_tile_chunk(void* context, int64_t chunk) {
  const auto& work = *static_cast<TileCheck*>(context);
  TilePacker packer(*work.tiling, *work.buffers, Direction::gather);
  if (!packer.has_memory()) throw std::bad_alloc();
  const int64_t end = std::min((chunk + 1) * work.tiles, work.tiling->tiles);
  for (int64_t tile = chunk * work.tiles; tile < end; ++tile) {
    packer.load(tile);
    Prepared prepared;
    prepare(packer.plan(), packer.buffers(), Direction::gather, *work.tuning, prepared);
    prepared.job.stream = false;
    if (!work.check(prepared.job, 0, prepared.job.count, packer.buffers().dense, work.bytes, nullptr)) return false;
    packer.store();
  }
  return true;
}

// As has_bad, for indices whose positions are packed tile by tile.
bool check_tiles(CheckIndices check, const Tuning& tuning, const Tiling& tiling, const Buffers& buffers, int bytes,
                 const RunOptions& options) {
  TileCheck work{check, &tuning, &tiling, &buffers, bytes, 1};
  const int64_t shares = int64_t{options.threads} * kChunksPerThread;
  const int64_t most = std::max(kMaxScanPoints / tiling.points, (tiling.tiles >> 31) + 1);
  work.tiles = std::clamp<int64_t>(tiling.tiles / shares, 1, most);
  host::InterruptPoller poller(options.interrupted);
  return !host::run_task(options.threads,
                         {(tiling.tiles + work.tiles - 1) / work.tiles, check_tile_chunk, &work, &poller});
}

// Checks the indices of a reading plan. Returns true if one is bad, and if the check was interrupted.
bool has_bad(const Kernels& kernels, const Tuning& tuning, const Plan& reading, const Buffers& buffers, Kept kept,
             const RunOptions& options) {
  Buffers memory;
  memory.index = buffers.index;
  const std::optional<Tiling> tiling = tiling_of_check(reading, tuning, kept.positions != nullptr);
  const CheckIndices check = kernels.check;
  if (tiling && tiling->is_tiled) {  // never with spans, which one contiguous array has
    memory.dense = kept.positions;
    return check_tiles(check, tuning, *tiling, memory, kept.bytes, options);
  }
  Prepared prepared;
  prepare(tiling ? tiling->plan : reading, memory, Direction::gather, tuning, prepared);
  const int64_t count = prepared.job.count;
  if (count < tuning.serial_points && kept.spans == nullptr) {
    return !check(prepared.job, 0, count, kept.positions, kept.bytes, nullptr);
  }
  const Scan scan(reading, memory, count, options.threads, kept.spans != nullptr ? kept.spans->points : kScanGrain);
  CheckWork work{&kernels, &reading, &prepared.job, kept, scan.chunk};
  host::InterruptPoller poller(options.interrupted);
  return !host::run_task(options.threads, {scan.chunks, check_chunk, &work, &poller});
}

// The number of positions that several index arrays select as one axis, in multiples of `step`, their common divisor; 0
// unless there are as many combinations of indices as positions, as on the axes of a contiguous array.
int64_t joint_extent(const Plan& plan, int64_t& step) {
  step = 0;
  for (const IndexArray& index : plan.index) {
    if (index.step <= 0 || index.extent <= 0) return 0;
    step = std::gcd(step, index.step);
  }
  int64_t product = 1;
  int64_t last = 0;
  for (const IndexArray& index : plan.index) {
    if (__builtin_mul_overflow(product, index.extent, &product)) return 0;
    last += (index.extent - 1) * (index.step / step);  // planners have checked that the span fits in 64 bits
  }
  return product == last + 1 ? product : 0;
}

// What replaces the index arrays of a plan.
struct Joint {
  IndexArray index;  // the array of positions
  int bytes = 0;     // of a position; 0: none are kept
};

Joint joint_of(const Plan& plan) {
  Joint joint;
  if (plan.masked || plan.index.empty() || plan.space.count() == 0) return joint;
  if (plan.rule.bounds != Bounds::raise && plan.rule.bounds != Bounds::deferred) return joint;
  joint.index = plan.index[0];
  if (plan.index.size() > 1) joint.index.extent = joint_extent(plan, joint.index.step);
  const int64_t extent = joint.index.extent;
  if (extent <= 0 || extent >= UINT32_MAX) return joint;
  joint.index.type = extent <= int64_t{1} << 16 ? IndexType::u16 : IndexType::u32;
  joint.bytes = static_cast<int>(index_size(joint.index.type));
  return joint;
}

// Makes the check write positions of `joint` in place of what several index arrays select, and `moved` read these.
void move_by_positions(const Plan& plan, Plan& reading, const Joint& joint, Plan& moved) {
  for (IndexArray& index : reading.index) index.step = plan.index.size() > 1 ? index.step / joint.index.step : 1;
  moved.rule = {Bounds::raise, Negative::out_of_bounds};  // a check in the kernels costs nothing
  moved.index.resize(1);
  moved.index[0] = joint.index;
  moved.space = Space(plan.space.extents(), kIndex + 1);
  int at = 0;
  for (int axis = 0; axis < plan.space.rank(); ++axis) {
    for (int operand = 0; operand < kIndex; ++operand) {
      moved.space.stride(operand, axis) = plan.space.stride(operand, axis);
    }
    if (reads_along(plan.space, axis)) moved.space.stride(kIndex, axis) = reading.space.stride(kDense, at++);
  }
  moved.index_space = Space(reading.space.extents(), kIndex + 1);
  for (int axis = 0; axis < reading.space.rank(); ++axis) {
    moved.index_space.stride(kIndex, axis) = reading.space.stride(kDense, axis);
  }
  moved.finish();
}

// The points at which indices lie: those of the axes along which an index array has a stride.
int64_t index_count(const Plan& plan) {
  int64_t count = 1;
  for (int axis = 0; axis < plan.space.rank(); ++axis) {
    if (reads_along(plan.space, axis)) count *= plan.space.extent(axis);
  }
  return count;
}

}  // namespace

int64_t index_bytes(const Plan& plan) {
  int64_t bytes = 0;
  for (int a = 0; a < plan.index.size(); ++a) {
    int64_t own = index_size(plan.index[a].type);
    for (int axis = 0; axis < plan.space.rank(); ++axis) {
      if (plan.space.stride(kIndex + a, axis) != 0) own *= plan.space.extent(axis);
    }
    bytes += own;
  }
  return bytes;
}

int position_bytes(const Plan& plan, const Tuning& tuning, int threads) {
  const int64_t count = index_count(plan);
  if (count < tuning.resolve_points) return 0;
  const Joint joint = joint_of(plan);
  // A position that another thread has written comes from that thread's L2. Levels without wide registers take three
  // times as long to write positions as to check indices.
  if ((threads > 1 || !tuning.vectors) && index_bytes(plan) <= tuning.l2_bytes) return 0;
  return index_bytes(plan) / tuning.resolve_index_bytes >= count ? joint.bytes : 0;
}

bool any_outside_with(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                      const RunOptions& options) {
  const int64_t count = plan.index_space.count();
  if (count == 0) return false;
  if (plan.masked) {
    if (count < tuning.serial_points) return any_outside(plan, buffers, 0, count);
    Scan scan(plan, buffers, count, options.threads);
    host::InterruptPoller poller(options.interrupted);
    return !host::run_task(options.threads, {scan.chunks, scan_chunk, &scan, &poller});
  }
  Plan reading = reading_plan(plan, plan.index_space, 1);
  reading.space.coalesce();
  return has_bad(kernels, tuning, reading, buffers, {}, options);
}

std::optional<BadIndex> first_outside_with(const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  Scan scan(plan, buffers, plan.index_space.count(), options.threads);
  host::InterruptPoller poller(options.interrupted);
  if (!host::run_task(options.threads, {scan.chunks, find_chunk, &scan, &poller})) return std::nullopt;
  return scan.bad;
}

bool resolve_with(const Kernels& kernels, const Tuning& tuning, const Plan& plan, const Buffers& buffers,
                  int64_t span_points, const RunOptions& options, std::optional<ResolvedPlan>& resolved) {
  const int bytes = position_bytes(plan, tuning, options.threads);
  const bool spans = span_points > 0;
  if (bytes == 0 && !spans) return any_outside_with(kernels, tuning, plan, buffers, options);
  const int64_t count = index_count(plan);
  resolved.emplace();
  Kept kept{nullptr, bytes, spans ? &resolved->spans : nullptr};
  try {
    if (bytes > 0) kept.positions = static_cast<std::byte*>(host::allocate(static_cast<std::size_t>(count * bytes)));
    resolved->positions.reset(kept.positions);
    const std::byte* const index = bytes > 0 ? kept.positions : buffers.index[0];
    if (spans) resolved->spans = empty_spans(index, count, span_points);
  } catch (const std::bad_alloc&) {  // the check itself needs no memory
    resolved.reset();
    return any_outside_with(kernels, tuning, plan, buffers, options);
  }

  Plan reading = reading_plan(plan, plan.space, std::max(bytes, 1));
  resolved->plan = plan;
  resolved->buffers = buffers;
  if (bytes > 0) {
    move_by_positions(plan, reading, joint_of(plan), resolved->plan);
    resolved->buffers.index = {kept.positions};
    resolved->buffers.owns_index = true;
  }
  resolved->buffers.spans = kept.spans;
  reading.space.coalesce();
  return has_bad(kernels, tuning, reading, buffers, kept, options);
}

}  // namespace gs::cpu
