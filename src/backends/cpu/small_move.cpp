// small_move.cpp: runs small calls, with all decisions made once for their geometry.
#include "backends/cpu/small_move.h"

#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/parallel_scatter.h"
#include "backends/cpu/plan_form.h"
#include "backends/cpu/read_ahead.h"
#include "backends/cpu/tiling.h"

namespace gs::cpu {
namespace {

// Whether the only index array is contiguous, under the default rule.
bool has_one_flat_index(const Plan& plan) {
  const Space& space = plan.index_space;
  return plan.index.size() == 1 && plan.rule == Rule{} && space.rank() == 1 &&
         space.stride(kIndex, 0) == index_size(plan.index[0].type);
}

class Small final : public SmallMove {
 public:
  Small(Run kernels, const Tuning& tuning, const Plan& plan, Direction direction, int64_t index_distance)
      : run_(kernels),
        plan_(plan),
        index_distance_(index_distance),
        is_worth_a_lookup_(is_worth_a_lookup(plan)),
        low_(indexed_span(plan).low) {
    Buffers nothing;
    nothing.index.resize(plan_.index.size(), nullptr);
    prepare(plan_, nothing, direction, tuning, prepared_);
    prepared_.job.stream = false;  // a short result stays in the caches, and its address is not known yet
    count_ = prepared_.job.count;
    extent_ = plan_.index[0].extent;
    if (form_of(plan_, tuning, direction, prepared_.job) == Form::short_move) {
      const ShortMove moves = short_move_of(kernels, plan_.index[0].type, plan_.unit);
      short_ = direction == Direction::gather ? moves.gather : moves.scatter;
    }
    if (has_one_flat_index(plan_)) allows_ = short_move_of(kernels, plan_.index[0].type, 1).allows;
  }

  [[gnu::hot]] bool run(std::byte* dense, std::byte* indexed, const std::byte* index) const override {
    if (is_in_file(indexed)) {
      return run_small_with_pages(plan_, buffers_of(dense, indexed, index),
                                  [=, this] { return run_here(dense, indexed, index); });
    }
    return run_here(dense, indexed, index);
  }

  [[gnu::hot]] bool run_alone(std::byte* dense, std::byte* indexed, const std::byte* index) override {
    if (is_in_file(indexed)) return run(dense, indexed, index);
    if (short_ != nullptr) return short_(dense, indexed, index, count_, extent_);
    set(prepared_.index, index);
    prepared_.job.dense = dense;
    prepared_.job.indexed = indexed;
    return run_(prepared_.job, 0, count_);
  }

  bool allows(const std::byte* index) const override {
    if (allows_ != nullptr) return allows_(index, plan_.index_space.count(), extent_);
    if (!plan_.can_fail()) return true;
    return !any_outside(plan_, buffers_of(nullptr, nullptr, index), 0, plan_.index_space.count());
  }

 private:
  bool run_here(std::byte* dense, std::byte* indexed, const std::byte* index) const {
    if (short_ != nullptr) return short_(dense, indexed, index, count_, extent_);
    SmallVector<JobIndex, 4> arrays = prepared_.index;  // copies, because several threads may run this object
    Job job = prepared_.job;
    set(arrays, index);
    job.index = arrays.data();
    job.dense = dense;
    job.indexed = indexed;
    return run_(job, 0, count_);
  }
  bool is_in_file(const std::byte* indexed) const {
    return is_worth_a_lookup_ && host::known_mapping(indexed + low_).mapping.is_file();
  }
  Buffers buffers_of(std::byte* dense, std::byte* indexed, const std::byte* index) const {
    Buffers buffers;
    buffers.dense = dense;
    buffers.indexed = indexed;
    for (int a = 0; a < plan_.index.size(); ++a) buffers.index.push_back(index + a * index_distance_);
    return buffers;
  }
  void set(SmallVector<JobIndex, 4>& arrays, const std::byte* index) const {
    for (JobIndex& array : arrays) {
      array.data = index;
      index += index_distance_;
    }
  }

  Run run_;
  Plan plan_;
  int64_t index_distance_;
  bool is_worth_a_lookup_;
  int64_t low_;  // the lowest byte of the indexed side
  Prepared prepared_;
  int64_t count_ = 0;
  int64_t extent_ = 0;
  ShortMove::Move short_ = nullptr;
  bool (*allows_)(const std::byte*, int64_t, int64_t) = nullptr;
};

}  // namespace

std::unique_ptr<SmallMove> small_move_with(Run kernels, const Tuning& tuning, const Plan& plan, Direction direction,
                                           int64_t index_distance) {
  const int64_t points = plan.space.count();
  if (points == 0 || plan.index.empty() || plan.masked || plan.rule.fills()) return nullptr;
  for (const IndexArray& index : plan.index) {
    if (index.extent == 0) return nullptr;
  }
  if (points > tuning.round_points || tiling_of(plan, tuning, direction)) return nullptr;
  const int threads = may_meet(plan, direction) ? scatter_threads(plan, tuning, 2) : cut(plan, tuning, 2).threads;
  if (threads > 1) return nullptr;
  return std::make_unique<Small>(kernels, tuning, plan, direction, index_distance);
}

}  // namespace gs::cpu
