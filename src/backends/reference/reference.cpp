// reference.cpp: works point by point; slow, simple, the check for every other kernel.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "backends/backend.h"
#include "core/combine_point.h"
#include "core/point.h"

namespace gs::reference {
namespace {

// Calls visit(flat) for every point in ascending order, in pieces small enough to ask for an interruption every few
// milliseconds.
template <class Visit>
Outcome for_each_point(const PlanView& view, const RunOptions& options, Visit visit) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kPiece = 4096;
  auto asked = Clock::now();
  for (int64_t begin = 0; begin < view.count; begin += kPiece) {
    const int64_t end = view.count - begin < kPiece ? view.count : begin + kPiece;
    for (int64_t flat = begin; flat < end; ++flat) {
      if (!visit(flat)) return Outcome::bad_index;
    }
    if (options.interrupted == nullptr || Clock::now() - asked < std::chrono::milliseconds(10)) continue;
    if (options.interrupted()) return Outcome::interrupted;
    asked = Clock::now();
  }
  return Outcome::done;
}

std::shared_ptr<void> zeroed(int64_t count, int64_t size) {
  std::shared_ptr<void> memory(std::calloc(static_cast<std::size_t>(count) + 1, static_cast<std::size_t>(size)),
                               std::free);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void pick_items(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t begin, int64_t end, bool,
                std::byte* target) {
  for (int64_t i = begin; i < end; ++i) pick_item(items, width, rows, i, target + i * width);
}

int64_t pick_words(const BitSource* bits, RowNumbers rows, int64_t begin, int64_t end, const uint64_t* mask,
                   uint64_t* target) {
  int64_t ones = 0;
  for (int64_t i = begin; i < end; i += 64) {
    const uint64_t word = pick_bits(bits, rows, i, std::min<int64_t>(end - i, 64));
    target[i / 64] = mask == nullptr ? word : word & mask[i / 64];
    ones += std::popcount(target[i / 64]);
  }
  return ones;
}

void put_items(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t first, const uint64_t* places,
               int64_t begin, int64_t end, std::byte* target) {
  for_each_set_place(places, begin, end, first,
                     [&](int64_t k, int64_t i) { pick_item(items, width, rows, k, target + i * width); });
}

void put_bits(const BitSource* bits, RowNumbers rows, int64_t first, const uint64_t* places, int64_t begin, int64_t end,
              uint64_t* target) {
  for_each_set_place(places, begin, end, first, [&](int64_t k, int64_t i) {
    target[i / 64] = (target[i / 64] & ~(uint64_t{1} << (i & 63))) | pick_bits(bits, rows, k, 1) << (i & 63);
  });
}

class Reference final : public Backend {
 public:
  const char* name() const override { return "reference"; }

  Outcome move(const Plan& plan, const Buffers& buffers, Direction direction,
               const RunOptions& options) const override {
    if (buffers.base_bytes > 0)
      std::memcpy(buffers.indexed, buffers.base, static_cast<std::size_t>(buffers.base_bytes));
    const PlanView view = view_of(plan, buffers);
    return for_each_point(view, options, [&](int64_t flat) { return move_point(view, direction, flat); });
  }

  Outcome reduce(const Plan& plan, const Buffers& buffers, const Combine& combine,
                 const RunOptions& options) const override {
    const PlanView view = view_of(plan, buffers);
    const Span span = indexed_span(plan);
    Totals totals;
    std::shared_ptr<void> sums;
    std::shared_ptr<void> hits;
    if (view.count > 0 && !combines_directly(combine)) {
      const int64_t slots = (span.high - span.low) / plan.item;
      sums = zeroed(slots, kWidestNumber);
      hits = zeroed(slots, sizeof(int64_t));
      totals = {sums.get(), static_cast<int64_t*>(hits.get()), span.low};
    }
    const Outcome outcome =
        for_each_point(view, options, [&](int64_t flat) { return combine_point(view, combine, totals, flat); });
    if (outcome != Outcome::done || totals.hits == nullptr) return outcome;
    return for_each_point(view, options, [&](int64_t flat) { return finish_point(view, combine, totals, flat); });
  }

  bool any_outside(const Plan& plan, const Buffers& buffers, const RunOptions& options) const override {
    return gs::any_outside(plan, buffers, 0, plan.index_space.count(), options.interrupted);
  }

  std::string kernel(const Plan&, Direction) const override { return "reference point"; }
  int threads(const Plan&, Direction, int) const override { return 1; }

  const ColumnKernels& columns() const override { return columns_; }

  Outcome share(const Share& work, const RunOptions& options) const override {
    const int64_t piece = (work.least + work.grain - 1) / work.grain * work.grain;
    for (int64_t begin = 0; begin < work.count; begin += piece) {
      if (begin > 0 && options.interrupted != nullptr && options.interrupted()) return Outcome::interrupted;
      work.run(work.context, begin, std::min(begin + piece, work.count));
    }
    return Outcome::done;
  }

 private:
  ColumnKernels columns_{pick_items, pick_words, put_items, put_bits};
};

}  // namespace

const Backend& backend() {
  static const Reference instance;
  return instance;
}

}  // namespace gs::reference
