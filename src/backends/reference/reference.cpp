// reference.cpp: moves point by point; slow, simple, the check for every other kernel.
#include <chrono>

#include "backends/backend.h"
#include "core/point.h"

namespace gs::reference {
namespace {

PlanView view_of(const Plan& plan, const Buffers& buffers) {
  PlanView view;
  view.rank = plan.space.rank();
  view.operands = plan.space.operands();
  view.index_count = plan.index.size();
  view.fold_count = plan.fold.size();
  view.extent = plan.space.extents().data();
  view.stride = plan.space.strides();
  view.index = plan.index.data();
  view.fold = plan.fold.data();
  view.item = plan.item;
  view.unit = plan.unit;
  view.count = plan.space.count();
  view.rule = plan.rule;
  view.masked = plan.masked;
  view.dense = buffers.dense;
  view.indexed = buffers.indexed;
  view.mask = buffers.mask;
  view.fill = buffers.fill;
  view.index_data = buffers.index.data();
  return view;
}

// Points are moved in ascending order, in pieces small enough to ask for an interruption every few milliseconds.
class Reference final : public Backend {
 public:
  const char* name() const override { return "reference"; }

  Outcome move(const Plan& plan, const Buffers& buffers, Direction direction,
               const RunOptions& options) const override {
    using Clock = std::chrono::steady_clock;
    constexpr int64_t kPiece = 4096;
    const PlanView view = view_of(plan, buffers);
    auto asked = Clock::now();
    for (int64_t begin = 0; begin < view.count; begin += kPiece) {
      const int64_t end = view.count - begin < kPiece ? view.count : begin + kPiece;
      for (int64_t flat = begin; flat < end; ++flat) {
        if (!move_point(view, direction, flat)) return Outcome::bad_index;
      }
      if (options.interrupted == nullptr || Clock::now() - asked < std::chrono::milliseconds(10)) continue;
      if (options.interrupted()) return Outcome::interrupted;
      asked = Clock::now();
    }
    return Outcome::done;
  }

  std::string kernel(const Plan&, Direction) const override { return "reference point"; }
  int threads(const Plan&, Direction, int) const override { return 1; }
};

}  // namespace

const Backend& backend() {
  static const Reference instance;
  return instance;
}

}  // namespace gs::reference
