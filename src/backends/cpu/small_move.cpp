// small_move.cpp: runs small calls, with all decisions made once for their geometry.
#include "backends/cpu/small_move.h"

#include <cstring>
#include <vector>

#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/read_ahead.h"
#include "backends/cpu/run.h"
#include "backends/cpu/schedule.h"

namespace gs::cpu {
namespace {

// Whether the only index array is contiguous, under the default rule, and read for every point.
bool has_one_flat_index(const Plan& plan) {
  const Space& space = plan.index_space;
  return plan.index.size() == 1 && plan.rule == Rule{} && !plan.masked && space.rank() == 1 &&
         space.stride(kIndex, 0) == index_size(plan.index[0].type);
}

bool has_one_fill(const Plan& plan) {
  for (int axis = 0; axis < plan.space.rank(); ++axis) {
    if (plan.space.stride(kFill, axis) != 0) return false;
  }
  return true;
}

class Small final : public SmallMove {
 public:
  Small(const Kernels& kernels, const Plan& plan, int64_t index_distance)
      : kernels_(kernels),
        plan_(plan),
        index_distance_(index_distance),
        is_worth_a_lookup_(is_worth_a_lookup(plan)),
        low_(indexed_span(plan).low) {}

  // Whether the schedule of the plan is one that this class can run: one thread moves the points in C order.
  bool decide_with(const Tuning& tuning, const SmallRequest& request) {
    decide(kernels_, tuning, plan_, request.direction, request.combine, 2, schedule_);
    const Strategy strategy = schedule_.strategy;
    const bool is_plain =
        strategy == Strategy::short_move || strategy == Strategy::chunks || strategy == Strategy::rounds;
    if (!is_plain || schedule_.tiling || schedule_.threads > 1) return false;
    is_prepared_ = schedule_.totals == Totals::targets;
    const std::vector<std::byte> item(static_cast<std::size_t>(plan_.item));
    Buffers nothing;
    nothing.index.resize(plan_.index.size(), nullptr);
    if (request.has_fill) nothing.fill = item.data();
    bind(plan_, nothing, tuning, schedule_.prepared);
    job().stream = false;  // a short result stays in the caches, and its address is not known yet
    count_ = job().count;
    extent_ = plan_.index[0].extent;
    if (schedule_.reduces() && is_prepared_) {
      job().to.sum.apply = schedule_.apply;
      job().to.sum.apply_elements = schedule_.apply_elements;
      job().form = schedule_.form;
    }
    if (strategy == Strategy::short_move) {
      const ShortMove moves = kernels_.short_move(plan_.index[0].type, plan_.unit);
      short_ = request.direction == Direction::gather ? moves.gather : moves.scatter;
    }
    if (has_one_flat_index(plan_)) allows_ = kernels_.short_move(plan_.index[0].type, 1).allows;
    return true;
  }

  [[gnu::hot]] bool run(const SmallBuffers& buffers) const override {
    if (is_in_file(buffers.indexed)) {
      return run_small_with_pages(plan_, buffers_of(buffers), [&] { return run_here(buffers); });
    }
    return run_here(buffers);
  }

  [[gnu::hot]] bool run_alone(const SmallBuffers& buffers) override {
    if (!is_prepared_ || is_in_file(buffers.indexed)) return run(buffers);
    if (short_ != nullptr) return short_(buffers.dense, buffers.indexed, buffers.index, count_, extent_);
    Prepared& prepared = schedule_.prepared;
    set(prepared.index, buffers.index);
    set(prepared.job, buffers);
    if (prepared.fill_row != nullptr) repeat_fill(buffers.fill, prepared.fill_row.get());
    return kernels_.run(prepared.job, 0, count_);
  }

  bool allows(const SmallBuffers& buffers) const override {
    if (allows_ != nullptr) return allows_(buffers.index, plan_.index_space.count(), extent_);
    if (!plan_.can_fail()) return true;
    return !any_outside(plan_, buffers_of(buffers), 0, plan_.index_space.count());
  }

 private:
  Job& job() { return schedule_.prepared.job; }
  bool run_here(const SmallBuffers& buffers) const {
    if (short_ != nullptr) return short_(buffers.dense, buffers.indexed, buffers.index, count_, extent_);
    if (!is_prepared_) {  // totals have memory of their own in each call
      return reduce_with(kernels_, *schedule_.tuning, plan_, buffers_of(buffers), schedule_.combine, RunOptions{}) ==
             Outcome::done;
    }
    const Prepared& prepared = schedule_.prepared;
    SmallVector<JobIndex, 4> arrays = prepared.index;  // copies, because several threads may run this object
    Job job = prepared.job;
    set(arrays, buffers.index);
    job.index = arrays.data();
    set(job, buffers);
    std::vector<std::byte> row;
    if (prepared.fill_row != nullptr) {
      row.resize(static_cast<std::size_t>(plan_.unit));
      repeat_fill(buffers.fill, row.data());
      job.fill = row.data();
    }
    return kernels_.run(job, 0, count_);
  }
  bool is_in_file(const std::byte* indexed) const {
    return is_worth_a_lookup_ && host::known_mapping(indexed + low_).mapping.is_file();
  }
  Buffers buffers_of(const SmallBuffers& small) const {
    Buffers buffers;
    buffers.dense = small.dense;
    buffers.indexed = small.indexed;
    buffers.mask = small.mask;
    buffers.fill = small.fill;
    for (int a = 0; a < plan_.index.size(); ++a) buffers.index.push_back(small.index + a * index_distance_);
    return buffers;
  }
  void set(SmallVector<JobIndex, 4>& arrays, const std::byte* index) const {
    for (JobIndex& array : arrays) {
      array.data = index;
      index += index_distance_;
    }
  }
  // Sets the addresses. A fill value that the job has as a row, or as zero bytes, is set by its owner.
  void set(Job& job, const SmallBuffers& buffers) const {
    job.dense = buffers.dense;
    job.indexed = buffers.indexed;
    job.mask = buffers.mask;
    if (buffers.fill != nullptr && schedule_.prepared.fill_row == nullptr) job.fill = buffers.fill;
  }
  void repeat_fill(const std::byte* item, std::byte* row) const {
    for (int64_t i = 0; i < plan_.unit; i += plan_.item) {
      std::memcpy(row + i, item, static_cast<std::size_t>(plan_.item));
    }
  }

  const Kernels& kernels_;
  Plan plan_;
  int64_t index_distance_;
  bool is_worth_a_lookup_;
  int64_t low_;  // the lowest byte of the indexed side
  Schedule schedule_;
  bool is_prepared_ = true;  // the job does all of it
  int64_t count_ = 0;
  int64_t extent_ = 0;
  ShortMove::Move short_ = nullptr;
  bool (*allows_)(const std::byte*, int64_t, int64_t) = nullptr;
};

}  // namespace

std::unique_ptr<SmallMove> small_move_with(const Kernels& kernels, const Tuning& tuning, const Plan& plan,
                                           const SmallRequest& request) {
  const int64_t points = plan.space.count();
  if (points == 0 || plan.index.empty() || (request.has_fill && !has_one_fill(plan))) return nullptr;
  for (const IndexArray& index : plan.index) {
    if (index.extent == 0) return nullptr;
  }
  if (points > tuning.round_points) return nullptr;
  auto small = std::make_unique<Small>(kernels, plan, request.index_distance);
  if (!small->decide_with(tuning, request)) return nullptr;
  return small;
}

}  // namespace gs::cpu
