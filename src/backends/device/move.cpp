// move.cpp: see move.h.
#include "backends/device/move.h"

#include "backends/device/bodies.h"

namespace gs::device {
namespace {

// The tables of a plan where kernels reach them, for the time of a scope.
class FarView {
 public:
  FarView(Machine& machine, const Plan& plan, const Buffers& buffers)
      : view_(view_of(plan, buffers)),
        tables_(machine, extents(view_) + strides(view_) + indices(view_) + folds(view_) + pointers(view_)) {
    std::byte* at = tables_.data();
    const auto put = [&]<class T>(const T*& table, int64_t bytes) {
      if (bytes > 0) machine.write(at, table, bytes);
      table = reinterpret_cast<const T*>(at);
      at += bytes;
    };
    put(view_.extent, extents(view_));
    put(view_.stride, strides(view_));
    put(view_.index_data, pointers(view_));
    put(view_.index, indices(view_));
    put(view_.fold, folds(view_));
  }
  const PlanView& view() const { return view_; }

 private:
  static int64_t bytes(int64_t count, std::size_t size) { return count * static_cast<int64_t>(size); }
  static int64_t extents(const PlanView& view) { return bytes(view.rank, sizeof(int64_t)); }
  static int64_t strides(const PlanView& view) { return bytes(int64_t{view.rank} * view.operands, sizeof(int64_t)); }
  static int64_t indices(const PlanView& view) { return bytes(view.index_count, sizeof(IndexArray)); }
  static int64_t folds(const PlanView& view) { return bytes(view.fold_count, sizeof(FoldAxis)); }
  static int64_t pointers(const PlanView& view) { return bytes(view.index_count, sizeof(std::byte*)); }
  PlanView view_;
  Temporary tables_;
};

}  // namespace

void move(Machine& machine, const Plan& plan, const Buffers& buffers, Direction direction, Status* status) {
  if (buffers.base_bytes > 0) machine.copy(buffers.indexed, buffers.base, buffers.base_bytes);
  const FarView far(machine, plan, buffers);
  launch(machine, MovePoints{far.view(), direction, status}, plan.space.count());
}

std::string kernel_name(const Plan&, Direction) {
  return MovePoints::kName;
}

}  // namespace gs::device
