// packed_tiles.cpp: copies the packed operands of each tile and hands its points to the kernels.
#include "backends/cpu/packed_tiles.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "backends/cpu/kernels/prefetch_distances.h"
#include "backends/cpu/prepare.h"
#include "backends/cpu/trace.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

// The axes of an operand's part of a tile, from its own layout to the packed one. The walk along its fast axis is last,
// so that cache lines are used up.
Box box_of(const Space& space, int operand, const Space& packed) {
  Box box;
  int fast = -1;
  for (int axis = 0; axis < space.rank(); ++axis) {
    const int64_t stride = std::abs(space.stride(operand, axis));
    if (stride == 0 || space.extent(axis) == 1) continue;
    box.push_back({space.extent(axis), space.stride(operand, axis), packed.stride(operand, axis)});
    const int here = box.size() - 1;
    if (fast < 0 || stride <= std::abs(box[fast].from)) fast = here;
  }
  if (fast >= 0) std::rotate(box.begin() + fast, box.begin() + fast + 1, box.end());
  return box;
}

struct TileWork {
  const Kernels* kernels;
  const Tuning* tuning;
  const Tiling* tiling;
  const Buffers* buffers;
  Direction direction;
  bool stream;
  int64_t tiles;  // of a work chunk
  std::atomic<bool> bad = false;
};

bool move_range(const TileWork& work, int64_t begin, int64_t end) {
  TilePacker packer(*work.tiling, *work.buffers, work.direction);
  for (int64_t tile = begin; tile < end; ++tile) {
    packer.load(tile);
    Prepared prepared;
    prepare(packer.plan(), packer.buffers(), work.direction, *work.tuning, prepared);
    Job& job = prepared.job;
    job.stream = work.stream && job.packed && !work.tiling->packed[kDense];
    trace(job);
    if (!work.kernels->run(job, 0, job.count)) return false;
    packer.store();
  }
  return true;
}

bool move_chunk(void* context, int64_t chunk) {
  auto& work = *static_cast<TileWork*>(context);
  const int64_t begin = chunk * work.tiles;
  const bool good = move_range(work, begin, std::min(begin + work.tiles, work.tiling->tiles));
  if (!good) work.bad.store(true, std::memory_order_relaxed);
  return good;
}

}  // namespace

TileMemory tile_memory(int64_t bytes) {
  try {
    return TileMemory(static_cast<std::byte*>(host::allocate(static_cast<std::size_t>(bytes))));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

TilePacker::TilePacker(const Tiling& tiling, const Buffers& buffers, Direction direction)
    : tiling_(tiling), all_(buffers), direction_(direction), memory_(tile_memory(tiling.bytes)) {}

void TilePacker::pack(int operand, const std::byte* source, std::byte* target) {
  Space& space = plan_.space;
  Space packed = space;
  int64_t stride = item_of(tiling_.plan, operand);
  for (int axis = space.rank() - 1; axis >= 0; --axis) {
    if (space.stride(operand, axis) == 0) continue;
    packed.stride(operand, axis) = stride;
    stride *= space.extent(axis);
  }
  Box box = box_of(space, operand, packed);
  if (operand == kDense && direction_ == Direction::gather) {
    for (BoxAxis& axis : box) std::swap(axis.from, axis.to);
    dense_box_ = box;
  } else {
    copy_box(box, source, target, item_of(tiling_.plan, operand));
  }
  space = packed;
}

void TilePacker::load(int64_t number) {
  plan_ = tiling_.plan;
  own_ = all_;
  for (int axis = plan_.space.rank() - 1; axis >= 0; --axis) {
    const int64_t extent = plan_.space.extent(axis);
    const int64_t along = (extent + tiling_.tile[axis] - 1) / tiling_.tile[axis];
    if (along == 1) continue;
    const int64_t begin = number % along * tiling_.tile[axis];
    number /= along;
    plan_ = sliced(plan_, own_, axis, begin, std::min(begin + tiling_.tile[axis], extent));
  }
  std::byte* free = memory_.get();
  for (int operand = 0; operand < plan_.space.operands(); ++operand) {
    if (!has_memory() || !tiling_.packed[operand]) continue;
    const int64_t bytes = tiling_.points * item_of(tiling_.plan, operand);
    if (operand == kDense) {
      dense_ = own_.dense;
      pack(operand, own_.dense, free);
      own_.dense = free;
    } else {
      const std::byte*& data = operand == kMask ? own_.mask : own_.index[operand - kIndex];
      pack(operand, data, free);
      data = free;
    }
    free += (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
  plan_.finish();
}

void TilePacker::store() const {
  if (!has_memory() || !tiling_.packed[kDense] || direction_ != Direction::gather) return;
  copy_box(dense_box_, own_.dense, dense_, item_of(tiling_.plan, kDense));
}

std::optional<Plan> whole_rows(const Plan& plan, Buffers& buffers, int64_t first, int64_t last) {
  const int64_t count = plan.space.count();
  if (plan.space.rank() == 0) return std::nullopt;
  if (first == 0 && last == count) return plan;
  const int64_t row = count / plan.space.extent(0);
  if (first % row != 0 || last % row != 0) return std::nullopt;
  return sliced(plan, buffers, 0, first / row, last / row);
}

bool move_tiles(const Kernels& kernels, const Tuning& tuning, const Tiling& tiling, const Buffers& buffers,
                Direction direction, bool stream) {
  return move_range({&kernels, &tuning, &tiling, &buffers, direction, stream, tiling.tiles, {}}, 0, tiling.tiles);
}

Outcome move_packed_tiles(const Kernels& kernels, const Tuning& tuning, const Tiling& tiling, const Buffers& buffers,
                          Direction direction, bool stream, int threads, bool (*interrupted)()) {
  const int64_t shares = int64_t{threads} * kChunksPerThread;
  const int64_t most = std::max(kMaxChunkPoints / tiling.points, (tiling.tiles >> 31) + 1);
  const Tuning own = direction == Direction::scatter ? tuning_of_parts(tiling.plan, tuning) : tuning;
  TileWork work{&kernels, &own, &tiling, &buffers, direction, stream, 1, {}};
  work.tiles = std::clamp<int64_t>(tiling.tiles / shares, 1, most);
  host::InterruptPoller poller(interrupted);
  const host::Task task{(tiling.tiles + work.tiles - 1) / work.tiles, move_chunk, &work, &poller};
  if (host::run_task(threads, task)) return Outcome::done;
  return work.bad.load() ? Outcome::bad_index : Outcome::interrupted;
}

}  // namespace gs::cpu
