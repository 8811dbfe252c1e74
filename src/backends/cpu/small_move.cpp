// small_move.cpp: runs small calls, with all decisions made once for their geometry.
#include "backends/cpu/small_move.h"

#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/parallel_scatter.h"
#include "backends/cpu/plan_form.h"

namespace gs::cpu {
namespace {

class Small final : public SmallMove {
 public:
  Small(Run kernels, const Tuning& tuning, const Plan& plan, Direction direction) : run_(kernels), plan_(plan) {
    Buffers nothing;
    nothing.index.resize(plan_.index.size(), nullptr);
    prepare(plan_, nothing, direction, tuning, prepared_);
    prepared_.job.stream = false;  // a short result stays in the caches, and its address is not known yet
    count_ = prepared_.job.count;
    extent_ = plan_.index[0].extent;
    if (form_of(plan_, tuning, direction, prepared_.job) == Form::short_gather) {
      short_ = short_gather_of(kernels, plan_.index[0].type, plan_.unit);
    }
  }

  bool run(std::byte* dense, std::byte* indexed, const std::byte* index) const override {
    if (short_.run != nullptr) return short_.run(dense, indexed, index, count_, extent_);
    JobIndex array = prepared_.index[0];
    array.data = index;
    Job job = prepared_.job;  // a copy, because several threads may run this object
    job.index = &array;
    job.dense = dense;
    job.indexed = indexed;
    return run_(job, 0, count_);
  }

  bool run_alone(std::byte* dense, std::byte* indexed, const std::byte* index) override {
    if (short_.run != nullptr) return short_.run(dense, indexed, index, count_, extent_);
    prepared_.index[0].data = index;
    prepared_.job.dense = dense;
    prepared_.job.indexed = indexed;
    return run_(prepared_.job, 0, count_);
  }

  bool allows(const std::byte* index) const override {
    if (short_.run != nullptr) return short_.allows(index, count_, extent_);
    if (!plan_.can_fail()) return true;
    Buffers buffers;
    buffers.index.push_back(index);
    return !any_outside(plan_, buffers, 0, plan_.index_space.count());
  }

 private:
  Run run_;
  Plan plan_;
  Prepared prepared_;
  int64_t count_ = 0;
  int64_t extent_ = 0;
  ShortGather short_{nullptr, nullptr};
};

}  // namespace

std::unique_ptr<SmallMove> small_move_with(Run kernels, const Tuning& tuning, const Plan& plan, Direction direction) {
  const int64_t points = plan.space.count();
  if (points == 0 || plan.index.size() != 1 || plan.index[0].extent == 0 || plan.masked || plan.rule.fills()) {
    return nullptr;
  }
  if (points > tuning.round_points) return nullptr;
  const int threads = may_meet(plan, direction) ? scatter_threads(plan, tuning, 2) : cut(plan, tuning, 2).threads;
  if (threads > 1) return nullptr;
  return std::make_unique<Small>(kernels, tuning, plan, direction);
}

}  // namespace gs::cpu
