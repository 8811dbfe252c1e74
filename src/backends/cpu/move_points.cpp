// move_points.cpp: divides independent points into work chunks, or into pieces of long units, and runs them.
#include "backends/cpu/move_points.h"

#include <algorithm>
#include <atomic>

#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/trace.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

struct MoveWork {
  const Kernels* kernels;
  const Job* job;
  Cut cut;
  std::atomic<bool> bad = false;
};

// Moves one piece of a long unit, as a shorter unit.
bool run_piece(const MoveWork& work, int64_t point, int64_t piece) {
  Job job = *work.job;
  const int64_t begin = piece * work.cut.piece;
  job.unit = std::min(work.cut.piece, job.unit - begin);
  job.dense += begin;
  job.indexed += begin;
  if (job.nowhere == Nowhere::read_one || job.nowhere == Nowhere::read_own) job.fill += begin;
  if (job.nowhere == Nowhere::write && job.fill != nullptr) job.fill_phase = begin % job.item;
  job.block = 1;
  job.packed = !job.general;
  return work.kernels->run(job, point, point + 1);
}

bool run_chunk(void* context, int64_t chunk) {
  auto& work = *static_cast<MoveWork*>(context);
  const Cut& cut = work.cut;
  bool good = false;
  if (cut.pieces > 1) {
    good = run_piece(work, chunk / cut.pieces, chunk % cut.pieces);
  } else {
    const int64_t first = chunk * cut.points;
    good = work.kernels->run(*work.job, first, std::min(first + cut.points, work.job->count));
  }
  if (!good) work.bad.store(true, std::memory_order_relaxed);
  return good;
}

}  // namespace

Outcome move_points(const Kernels& kernels, const Job& job, const Cut& cut, bool (*interrupted)()) {
  trace(job);
  if (cut.is_one) return kernels.run(job, 0, job.count) ? Outcome::done : Outcome::bad_index;
  trace(cut.pieces > 1 ? "chunks of units" : "chunks");
  if (cut.threads == 1 && (cut.chunks == 1 || interrupted == nullptr)) {
    return kernels.run(job, 0, job.count) ? Outcome::done : Outcome::bad_index;
  }
  MoveWork work{&kernels, &job, cut, {}};
  host::InterruptPoller poller(interrupted);
  const host::Task task{cut.chunks, run_chunk, &work, &poller};
  if (host::run_task(cut.threads, task)) return Outcome::done;
  return work.bad.load() ? Outcome::bad_index : Outcome::interrupted;
}

Outcome move_short(const Kernels& kernels, const Plan& plan, const Buffers& buffers, Direction direction) {
  trace("short");
  const IndexArray& index = plan.index[0];
  const ShortMove moves = kernels.short_move(index.type, plan.unit);
  const ShortMove::Move move = direction == Direction::gather ? moves.gather : moves.scatter;
  const bool good = move(buffers.dense, buffers.indexed, buffers.index[0], plan.space.count(), index.extent);
  return good ? Outcome::done : Outcome::bad_index;
}

}  // namespace gs::cpu
