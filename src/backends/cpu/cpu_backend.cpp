// cpu_backend.cpp: implements the CPU backend: selects the kernels once, and decides and runs or describes each call.
#include "backends/cpu/cpu_backend.h"

#include <algorithm>
#include <atomic>

#include "backends/cpu/check_indices.h"
#include "backends/cpu/describe.h"
#include "backends/cpu/marked_targets.h"
#include "backends/cpu/measure_gathers.h"
#include "backends/cpu/read_ahead.h"
#include "backends/cpu/run.h"
#include "backends/cpu/scatter_run.h"
#include "backends/cpu/small_move.h"
#include "core/reductions.h"
#include "host/host_info.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

constexpr int64_t kMostShares = 64;  // parallel_for: the longest work chunk, in multiples of the shortest that pays

class Cpu final : public HostBackend {
 public:
  Cpu() : kernels_(*kernels_of(host::info().isa)), tuning_(host_tuning(host::info())) {
    if (tuning_.vectors) tuning_.measured_percent = percent_of_gathers(kernels_);
  }

  const char* name() const override { return "cpu"; }

  Outcome move(const Plan& plan, const Buffers& buffers, Direction direction,
               const RunOptions& options) const override {
    const auto move_part = [&](const Plan& part, const Buffers& memory, const RunOptions& own) {
      return move_with(kernels_, tuning_, part, memory, direction, own);
    };
    if (buffers.base != nullptr) return move_part(plan, buffers, options);  // its target is fresh memory
    return run_with_pages(plan, buffers, options, Parts::contiguous, move_part);
  }

  std::unique_ptr<SmallMove> small_move(const Plan& plan, const SmallRequest& request) const override {
    return small_move_with(kernels_, tuning_, plan, request);
  }

  Outcome reduce(const Plan& plan, const Buffers& buffers, const Combine& combine,
                 const RunOptions& options) const override {
    const Parts parts =
        combines_directly(combine) ? Parts::contiguous : Parts::one;  // totals cannot be divided, nor flags
    return run_with_pages(plan, buffers, options, parts,
                          [&](const Plan& part, const Buffers& memory, const RunOptions& own) {
                            return reduce_with(kernels_, tuning_, part, memory, combine, own);
                          });
  }

  bool any_outside(const Plan& plan, const Buffers& buffers, const RunOptions& options) const override {
    return any_outside_with(kernels_, tuning_, plan, buffers, options);
  }

  bool resolve(const Plan& plan, const Buffers& buffers, Direction direction, const RunOptions& options,
               std::optional<ResolvedPlan>& resolved) const override {
    const int64_t span_points =
        direction == Direction::scatter ? span_points_of(kernels_, tuning_, plan, buffers, options) : 0;
    return resolve_with(kernels_, tuning_, plan, buffers, span_points, options, resolved);
  }

  std::optional<BadIndex> first_outside(const Plan& plan, const Buffers& buffers,
                                        const RunOptions& options) const override {
    return first_outside_with(plan, buffers, options);
  }

  std::optional<Duplicate> first_duplicate(const Plan& plan, const Buffers& buffers,
                                           const RunOptions& options) const override {
    return first_duplicate_with(kernels_, tuning_, plan, buffers, options);
  }

  std::string kernel(const Plan& plan, Direction direction, const Combine& combine, int available) const override {
    return kernel_name(kernels_, tuning_, plan, direction, combine, available);
  }

  int threads(const Plan& plan, Direction direction, int available) const override {
    Schedule schedule;
    decide(kernels_, tuning_, plan, direction, {}, available, schedule);
    return schedule.threads;
  }

  std::vector<Decision> decisions(const Plan& plan, Direction direction, const Combine& combine,
                                  int available) const override {
    return decisions_of(kernels_, tuning_, plan, direction, combine, available);
  }

  const ColumnKernels& columns() const override { return *kernels_.columns; }
  Outcome parallel_for(const ParallelWork& work, const RunOptions& options) const override {
    return cpu::parallel_for(work, options);
  }
  TableTuning table_tuning() const override { return tuning_.table; }
  std::vector<Threshold> thresholds() const override {
    return {{"far_table_bytes", tuning_.far_bytes},
            {"far_vector_bytes", tuning_.far_vector_bytes},
            {"far_target_bytes", tuning_.far_target_bytes},
            {"far_element_bytes", tuning_.far_element_bytes},
            {"stream_bytes", tuning_.stream_bytes},
            {"stream_late_bytes", tuning_.stream_late_bytes},
            {"serial_points", tuning_.serial_points},
            {"serial_points_far", tuning_.serial_points_far},
            {"serial_row_bytes", tuning_.serial_row_bytes},
            {"serial_near_bytes", tuning_.serial_near_bytes},
            {"far_column_bytes", tuning_.table.far_column_bytes},
            {"gather_percent", tuning_.gather_percent},
            {"gather_percent_sparse", tuning_.gather_percent_sparse}};
  }

 private:
  const Kernels& kernels_;
  Tuning tuning_;
};

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

std::string kernel_name(const Kernels& kernels, const Tuning& tuning, const Plan& plan, Direction direction,
                        const Combine& combine, int threads) {
  Schedule schedule;
  decide(kernels, tuning, plan, direction, combine, threads, schedule);
  return kernel_of(schedule);
}

std::vector<Decision> decisions_of(const Kernels& kernels, const Tuning& tuning, const Plan& plan, Direction direction,
                                   const Combine& combine, int available) {
  Schedule schedule;
  decide(kernels, tuning, plan, direction, combine, available, schedule);
  return decisions_of(schedule, available);
}

}  // namespace gs::cpu
