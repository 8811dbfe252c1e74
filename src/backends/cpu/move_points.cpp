// move_points.cpp: divides independent points into work chunks, or into pieces of long units, and runs them.
#include "backends/cpu/move_points.h"

#include <algorithm>
#include <atomic>

#include "backends/cpu/kernel_levels.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

struct MoveWork {
  Run run;
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
  return work.run(job, point, point + 1);
}

bool run_chunk(void* context, int64_t chunk) {
  auto& work = *static_cast<MoveWork*>(context);
  const Cut& cut = work.cut;
  bool good = false;
  if (cut.pieces > 1) {
    good = run_piece(work, chunk / cut.pieces, chunk % cut.pieces);
  } else {
    const int64_t first = chunk * cut.points;
    good = work.run(*work.job, first, std::min(first + cut.points, work.job->count));
  }
  if (!good) work.bad.store(true, std::memory_order_relaxed);
  return good;
}

}  // namespace

Outcome move_points(Run run, const Tuning& tuning, const Plan& plan, const Job& job, const RunOptions& options) {
  if (job.count <= tuning.min_chunk_points && plan.bytes_moved() <= tuning.min_chunk_bytes) {
    return run(job, 0, job.count) ? Outcome::done : Outcome::bad_index;
  }
  MoveWork work;
  work.run = run;
  work.job = &job;
  work.cut = cut(plan, tuning, options.threads);
  if (work.cut.threads == 1 && (work.cut.chunks == 1 || options.interrupted == nullptr)) {
    return run(job, 0, job.count) ? Outcome::done : Outcome::bad_index;
  }
  host::InterruptPoller poller(options.interrupted);
  const host::Task task{work.cut.chunks, run_chunk, &work, &poller};
  if (host::run_task(work.cut.threads, task)) return Outcome::done;
  return work.bad.load() ? Outcome::bad_index : Outcome::interrupted;
}

Outcome move_short(Run run, const Plan& plan, const Buffers& buffers, Direction direction) {
  const IndexArray& index = plan.index[0];
  const ShortMove moves = short_move_of(run, index.type, plan.unit);
  const ShortMove::Move move = direction == Direction::gather ? moves.gather : moves.scatter;
  const bool good = move(buffers.dense, buffers.indexed, buffers.index[0], plan.space.count(), index.extent);
  return good ? Outcome::done : Outcome::bad_index;
}

}  // namespace gs::cpu
