// cpu_backend.cpp: the CPU backend: picks the kernels of this processor once and shares the work between threads.
#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "backends/cpu/column_tiles.h"
#include "backends/cpu/parallel_scatter.h"
#include "host/host_info.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

struct MoveWork {
  Run run;
  const Job* job;
  Cut cut;
  std::atomic<bool> bad = false;
};

// One piece of a long unit is a move of one shorter unit.
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

class Cpu final : public HostBackend {
 public:
  Cpu() : run_(kernels(host::info().isa)), columns_(columns_of(run_)), tuning_(host_tuning(host::info())) {}

  const char* name() const override { return "cpu"; }

  Outcome move(const Plan& plan, const Buffers& buffers, Direction direction,
               const RunOptions& options) const override {
    return move_with(run_, tuning_, plan, buffers, direction, options);
  }

  std::unique_ptr<SmallMove> small_move(const Plan& plan, Direction direction) const override {
    return small_move_with(run_, tuning_, plan, direction);
  }

  Outcome reduce(const Plan& plan, const Buffers& buffers, const Combine& combine,
                 const RunOptions& options) const override {
    return reduce_with(run_, tuning_, plan, buffers, combine, options);
  }

  bool any_outside(const Plan& plan, const Buffers& buffers, const RunOptions& options) const override {
    return any_outside_with(tuning_, plan, buffers, options);
  }

  std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers,
                                        const RunOptions& options) const override {
    return first_outside_with(plan, buffers, options);
  }

  // The level is the one that was compiled into the kernels in use. Where the kernel of a kind does not serve the plan
  // (a mask, or wrapping), "blocks" does.
  std::string kernel(const Plan& plan, Direction direction) const override {
    Buffers nothing;
    nothing.index.resize(plan.index.size(), nullptr);
    Prepared prepared;
    prepare(plan, nothing, direction, tuning_, prepared);
    const bool is_narrow = plan.kind == PlanKind::elements || plan.kind == PlanKind::axis;
    const char* const by_kind = is_narrow ? "blocks" : kind_name(plan.kind);
    const char* const fast = plan.kind == PlanKind::axis ? "axis" : "elements";
    const std::string level = level_of(run_);
    const char* form = prepared.job.elements ? fast : by_kind;
    if (level == "v4" && prepared.job.vectors) form = "vectors";
    if (level == "v4" && prepared.job.byte_table) form = "byte table";
    if (slab_columns(plan, tuning_, direction) > 0) form = "slabs";
    return level + " " + form;
  }

  int threads(const Plan& plan, Direction direction, int available) const override {
    if (may_meet(plan, direction)) return scatter_threads(plan, tuning_, available);
    return cut(plan, tuning_, available).threads;
  }

  const ColumnKernels& columns() const override { return columns_; }
  Outcome parallel_for(const ParallelWork& work, const RunOptions& options) const override {
    return cpu::parallel_for(work, options);
  }
  std::vector<Threshold> thresholds() const override {
    return {{"far_table_bytes", tuning_.far_bytes},           {"far_vector_bytes", tuning_.far_vector_bytes},
            {"stream_bytes", tuning_.stream_bytes},           {"serial_points", tuning_.serial_points},
            {"serial_points_far", tuning_.serial_points_far}, {"serial_row_bytes", tuning_.serial_row_bytes}};
  }

 private:
  Run run_;
  ColumnKernels columns_;
  Tuning tuning_;
};

}  // namespace

Run kernels(std::string_view level) {
  if (level == "baseline") return baseline::run;
#ifdef GS_HAVE_X86_LEVELS
  if (level == "v3") return v3::run;
  if (level == "v4") return v4::run;
#endif
  return nullptr;
}

const char* level_of(Run run) {
#ifdef GS_HAVE_X86_LEVELS
  if (run == v3::run) return v3::level();
  if (run == v4::run) return v4::level();
#endif
  return run == baseline::run ? baseline::level() : "";
}

Appliers appliers_of([[maybe_unused]] Run run) {
#ifdef GS_HAVE_X86_LEVELS
  if (run == v3::run) return {v3::applier, v3::element_applier, v3::sweeper, v3::record_bytes};
  if (run == v4::run) return {v4::applier, v4::element_applier, v4::sweeper, v4::record_bytes};
#endif
  return {baseline::applier, baseline::element_applier, baseline::sweeper, baseline::record_bytes};
}

ColumnKernels columns_of([[maybe_unused]] Run run) {
#ifdef GS_HAVE_X86_LEVELS
  if (run == v3::run) return v3::columns();
  if (run == v4::run) return v4::columns();
#endif
  return baseline::columns();
}

ShortGather short_gather_of([[maybe_unused]] Run run, IndexType type, int64_t unit) {
#ifdef GS_HAVE_X86_LEVELS
  if (run == v3::run) return v3::short_gather(type, unit);
  if (run == v4::run) return v4::short_gather(type, unit);
#endif
  return baseline::short_gather(type, unit);
}

Outcome move_with(Run run, const Tuning& tuning, const Plan& plan, const Buffers& buffers, Direction direction,
                  const RunOptions& options) {
  if (buffers.base != nullptr) return scatter_onto(run, tuning, plan, buffers, options);
  if (plan.space.count() == 0) return Outcome::done;
  if (may_meet(plan, direction)) return scatter_with(run, tuning, plan, buffers, options);
  if (const int64_t columns = slab_columns(plan, tuning, direction); columns > 0) {
    return gather_slabs(run, tuning, plan, buffers, columns, options);
  }
  Prepared prepared;
  prepare(plan, buffers, direction, tuning, prepared);
  if (prepared.job.count <= tuning.min_chunk_points && plan.bytes_moved() <= tuning.min_chunk_bytes) {
    return run(prepared.job, 0, prepared.job.count) ? Outcome::done : Outcome::bad_index;
  }
  MoveWork work;
  work.run = run;
  work.job = &prepared.job;
  work.cut = cut(plan, tuning, options.threads);
  if (work.cut.threads == 1 && (work.cut.chunks == 1 || options.interrupted == nullptr)) {
    return run(prepared.job, 0, prepared.job.count) ? Outcome::done : Outcome::bad_index;
  }
  host::InterruptPoller poller(options.interrupted);
  const host::Task task{work.cut.chunks, run_chunk, &work, &poller};
  if (host::run_task(work.cut.threads, task)) return Outcome::done;
  return work.bad.load() ? Outcome::bad_index : Outcome::interrupted;
}

namespace {

struct Scan {
  const Plan* plan;
  const Buffers* buffers;
  int64_t count;
  int64_t chunk;
  int64_t chunks;
  std::mutex one;
  std::optional<BadIndex> bad;  // the lowest so far, and all of them counted

  Scan(const Plan& its_plan, const Buffers& its_buffers, int threads)
      : plan(&its_plan), buffers(&its_buffers), count(its_plan.index_space.count()) {
    chunk = std::clamp(count / (int64_t{threads} * kChunksPerThread), kMinScanPoints,
                       std::max(kMaxScanPoints, (count >> 31) + 1));
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
  const std::lock_guard<std::mutex> lock(scan.one);
  const int64_t counted = bad->count + (scan.bad ? scan.bad->count : 0);
  if (!scan.bad || bad->flat < scan.bad->flat) scan.bad = bad;
  scan.bad->count = counted;
  return true;
}

}  // namespace

bool any_outside_with(const Tuning& tuning, const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  const int64_t count = plan.index_space.count();
  if (count < tuning.serial_points) return any_outside(plan, buffers, 0, count);
  Scan scan(plan, buffers, options.threads);
  host::InterruptPoller poller(options.interrupted);
  return !host::run_task(options.threads, {scan.chunks, scan_chunk, &scan, &poller});
}

std::optional<BadIndex> first_outside_with(const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  Scan scan(plan, buffers, options.threads);
  host::InterruptPoller poller(options.interrupted);
  if (!host::run_task(options.threads, {scan.chunks, find_chunk, &scan, &poller})) return std::nullopt;
  return scan.bad;
}

namespace {

struct SharedMove {
  const ParallelWork* work;
  int64_t chunk;
};

bool run_share(void* context, int64_t chunk) {
  const auto& shared = *static_cast<SharedMove*>(context);
  const int64_t begin = chunk * shared.chunk;
  shared.work->run(shared.work->context, begin, std::min(begin + shared.chunk, shared.work->count));
  return true;
}

}  // namespace

Outcome parallel_for(const ParallelWork& work, const RunOptions& options) {
  if (work.count <= work.least || (options.threads == 1 && options.interrupted == nullptr)) {
    if (work.count > 0) work.run(work.context, 0, work.count);
    return Outcome::done;
  }
  const int64_t even = work.count / (int64_t{options.threads} * kChunksPerThread);
  const int64_t most = std::max(work.least * kMostShares, (work.count >> 30) + 1);
  const int64_t wanted = std::clamp(even, work.least, most);
  const int64_t chunk = (wanted + work.grain - 1) / work.grain * work.grain;
  SharedMove shared{&work, chunk};
  host::InterruptPoller poller(options.interrupted);
  const host::Task task{(work.count + chunk - 1) / chunk, run_share, &shared, &poller};
  return host::run_task(options.threads, task) ? Outcome::done : Outcome::interrupted;
}

const HostBackend& backend() {
  static const Cpu& instance = *new Cpu;  // never destroyed: a thread may outlive the static objects of the program
  return instance;
}

}  // namespace gs::cpu
