// first_duplicate.cpp: finds the lowest point of a scatter that has the target of an earlier point.
#include <cstdlib>
#include <memory>
#include <new>

#include "core/plan.h"
#include "core/point.h"

namespace gs {
namespace {

constexpr int64_t kPollEvery = int64_t{1} << 16;  // points between two polls of `stop`: a few milliseconds

// One bit for every item between the lowest and the highest address. The zeroed pages of calloc cost nothing until they
// are touched.
class ItemMarks {
 public:
  explicit ItemMarks(int64_t count)
      : words_(static_cast<uint64_t*>(std::calloc(static_cast<std::size_t>(count / 64 + 1), sizeof(uint64_t)))) {
    if (!words_) throw std::bad_alloc();
  }
  // Returns whether the slot was marked before.
  bool mark(int64_t slot) {
    uint64_t& word = words_.get()[slot / 64];
    const uint64_t bit = uint64_t{1} << (slot % 64);
    const bool before = (word & bit) != 0;
    word |= bit;
    return before;
  }

 private:
  struct Free {
    void operator()(uint64_t* words) const { std::free(words); }
  };
  std::unique_ptr<uint64_t, Free> words_;
};

}  // namespace

std::optional<Duplicate> first_duplicate(const Plan& plan, const Buffers& buffers, bool (*stop)()) {
  if (plan.is_one_to_one() || plan.item == 0 || plan.space.count() == 0) return std::nullopt;
  const PlanView view = view_of(plan, buffers);
  const Span span = indexed_span(plan);
  // Items never overlap, so two different items never have the same slot, whatever the strides.
  const auto slots = (span.high - span.low) / plan.item;
  const auto stopped = [&](int64_t flat) { return flat % kPollEvery == kPollEvery - 1 && stop != nullptr && stop(); };
  const auto slot_at = [&](int64_t flat) -> int64_t {
    const PointOffsets at = locate(view, flat);
    if (at.indexed == kNowhere) return -1;
    const int64_t slot = (at.indexed - span.low) / plan.item;
    return slot < 0 || slot >= slots ? -1 : slot;  // outside only with an unchecked bad index
  };
  ItemMarks marks(slots);
  for (int64_t flat = 0; flat < view.count; ++flat) {
    if (stopped(flat)) return std::nullopt;
    const int64_t slot = slot_at(flat);
    if (slot < 0 || !marks.mark(slot)) continue;
    for (int64_t earlier = 0; earlier < flat; ++earlier) {
      if (stopped(earlier)) return std::nullopt;
      if (slot_at(earlier) != slot) continue;
      return Duplicate{earlier * plan.unit_items(), flat * plan.unit_items()};
    }
    // Another thread has changed the indices, so the earlier point no longer has this target. The search continues.
  }
  return std::nullopt;
}

}  // namespace gs
