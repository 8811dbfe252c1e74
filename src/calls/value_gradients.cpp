// value_gradients.cpp: finds which unit of the targets each point of a block has, and combines units with values.
#include "calls/value_gradients.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "backends/gradient_kernels.h"
#include "calls/attempt.h"
#include "calls/copy.h"
#include "calls/make_plan.h"
#include "core/error.h"
#include "core/point_blocks.h"
#include "host/interrupt_poller.h"

namespace gs {
namespace {

constexpr int64_t kBlockBytes = 128 * 1024;          // of values. Chosen: the numbers of a block stay in L2
constexpr int64_t kBlocksOfRound = 128;              // between two polls of Ctrl-C
constexpr int64_t kSerialItems = 32 * 1024;          // so few are combined on one thread
constexpr int64_t kStreamedBytes = 8 * 1024 * 1024;  // a gradient of so many bytes is written past the caches
constexpr uint32_t kNoUnit = UINT32_MAX;             // of a point that is nowhere

ArrayView array_of(int64_t count, int64_t item) {
  return contiguous_view(nullptr, Dims{count}, item);
}

// Bytes of a granule of the targets, which are packed: every unit begins with one. A unit may be a part of a longer
// row, whose length it need not divide.
int64_t granule_of(const Plan& plan) {
  return std::gcd(plan.unit, indexed_pitch(plan));
}

// The plan that gathers the number of the granule with which each unit begins, and packs them.
Plan numbering(const Plan& plan) {
  constexpr int64_t kNumber = sizeof(uint32_t);
  Plan numbers = with_items_for(plan, granule_of(plan), kNumber);
  Space& space = numbers.space;
  int64_t points = 1;
  for (int axis = space.rank() - 1; axis >= 0; --axis) {
    space.stride(kDense, axis) = points * kNumber;
    points *= space.extent(axis);
  }
  numbers.finish();
  // Values are packed as well, so that an axis which joins the units of the numbers has joined those of the plan.
  if (numbers.unit != kNumber) throw std::logic_error("the units of a scatter have no numbers");
  return numbers;
}

// Consecutive points, and the numbers of the granules with which their units begin in the targets.
struct UnitBlock {
  int64_t number;
  int64_t first;
  int64_t points;
  const uint32_t* unit;
  uint32_t* own;  // room for the number of each point
};

// The points of a scatter in blocks.
class Points {
 public:
  Points(const HostBackend& backend, const Plan& plan, const Buffers& buffers, int64_t granules)
      : backend_(backend),
        plan_(numbering(plan)),
        buffers_(buffers),
        blocks_(plan_, std::max<int64_t>(kBlockBytes / plan.unit, 1)),
        numbers_(backend, array_of(granules, sizeof(uint32_t))) {
    auto* const number = reinterpret_cast<uint32_t*>(numbers_.view().data);
    std::iota(number, number + granules, uint32_t{0});
    buffers_.indexed = numbers_.view().data;
    buffers_.fill = reinterpret_cast<const std::byte*>(&kNoUnit);
    buffers_.dense = numbers_.view().data;  // of which the address of a block tells its first point
  }

  int64_t blocks() const { return blocks_.count(); }

  // Calls body(block) for the blocks [begin, end), or those with a flag, until an index is bad. Returns false then.
  template <class Body>
  bool each(int64_t begin, int64_t end, const std::byte* flags, const Body& body) const {
    const ScopedArray memory(backend_, array_of(2 * blocks_.most_points(), sizeof(uint32_t)));
    auto* const unit = reinterpret_cast<uint32_t*>(memory.view().data);
    for (int64_t number = begin; number < end; ++number) {
      if (flags != nullptr && flags[number] == std::byte{0}) continue;
      Buffers own = buffers_;
      const Plan part = blocks_.at(number, plan_, own);
      const int64_t first = (own.dense - buffers_.dense) / static_cast<int64_t>(sizeof(uint32_t));
      own.dense = memory.view().data;
      if (backend_.move(part, own, Direction::gather, {1, nullptr, true}) != Outcome::done) return false;
      body(UnitBlock{number, first, part.space.count(), unit, unit + blocks_.most_points()});
    }
    return true;
  }

 private:
  const HostBackend& backend_;
  Plan plan_;
  Buffers buffers_;
  PointBlocks blocks_;
  ScopedArray numbers_;
};

template <class Body>
Outcome in_parallel(const HostBackend& backend, int64_t count, int64_t least, const RunOptions& options,
                    const Body& body) {
  ParallelWork work;
  work.count = count;
  work.least = least;
  work.context = const_cast<Body*>(&body);
  work.run = [](void* context, int64_t begin, int64_t end) { (*static_cast<const Body*>(context))(begin, end); };
  return backend.parallel_for(work, options);
}

// One call: what is known of its scatter, and how its points are divided.
struct Call {
  const HostBackend& backend;
  const GradientKernels& kernels;
  const Points& points;
  const RunOptions& options;
  const std::byte* values;
  const std::byte* results;
  int64_t items;    // of a unit
  int64_t granule;  // items of a granule
  int64_t targets;  // elements
  int64_t item;
  int64_t bytes;  // of all values

  bool streams() const { return bytes >= kStreamedBytes; }
  int64_t offset_of(const UnitBlock& block) const { return block.first * items * item; }

  // Calls body(block) for all blocks, or those with a flag, in any order on several threads.
  template <class Body>
  Outcome each_block(const std::byte* flags, const Body& body) const {
    std::atomic<bool> good = true;
    const Outcome outcome = in_parallel(backend, points.blocks(), 1, options, [&](int64_t begin, int64_t end) {
      if (!points.each(begin, end, flags, body)) good = false;
    });
    return good ? outcome : Outcome::bad_index;
  }

  // Calls body(block, first, last) for these blocks in their order, on each of several threads, which own the
  // units that begin with the granules [first, last) of the targets.
  template <class Body>
  Outcome each_range(const std::byte* flags, const Body& body) const {
    const int64_t granules = targets / granule;
    const int64_t all = points.blocks();
    const int64_t ranges = all == 1 ? 1 : std::clamp<int64_t>(int64_t{options.threads}, 1, granules);
    host::InterruptPoller poller(options.interrupted);
    std::atomic<bool> good = true;
    for (int64_t round = 0; round < all; round += kBlocksOfRound) {
      const int64_t end = std::min(round + kBlocksOfRound, all);
      in_parallel(backend, ranges, 1, {options.threads, nullptr}, [&](int64_t begin, int64_t last) {
        const auto low = static_cast<uint32_t>(begin * granules / ranges);
        const auto high = static_cast<uint32_t>(last * granules / ranges);
        if (!points.each(round, end, flags, [&](const UnitBlock& block) { body(block, low, high); })) good = false;
      });
      if (!good) return Outcome::bad_index;
      if (!poller.proceed(end, all)) return Outcome::interrupted;
    }
    return Outcome::done;
  }
};

// The points of a block whose units begin with the granules [first, last).
GradientBlock own_points(const Call& call, const UnitBlock& block, uint32_t first, uint32_t last) {
  int64_t n = 0;
  for (int64_t j = 0; j < block.points; ++j) {
    block.own[n] = static_cast<uint32_t>(j);
    n += block.unit[j] - first < last - first ? 1 : 0;
  }
  return {call.values + call.offset_of(block),
          call.results,
          block.unit,
          block.own,
          n,
          call.items,
          call.granule,
          call.streams()};
}
GradientBlock all_points(const Call& call, const UnitBlock& block) {
  return own_points(call, block, 0, kNoUnit);
}

// Writes zeros to the points that are nowhere.
void clear_nowhere(const Call& call, const UnitBlock& block, std::byte* to) {
  const int64_t bytes = call.items * call.item;
  for (int64_t j = 0; j < block.points; ++j) {
    if (block.unit[j] == kNoUnit) std::memset(to + j * bytes, 0, static_cast<std::size_t>(bytes));
  }
}

// An array for the time of a call, mostly of one item for each target.
class TargetArray {
 public:
  TargetArray(const Call& call, int64_t count, int64_t item) : array_(call.backend, array_of(count, item)) {}
  std::byte* data() const { return array_.view().data; }
  void clear() const { std::memset(data(), 0, static_cast<std::size_t>(bytes_of(array_.view()))); }

 private:
  ScopedArray array_;
};

Outcome share(const Call& call, const SharedGradient& to) {
  const GradientKernels& kernels = call.kernels;
  const TargetArray counts(call, call.targets, call.item);
  const TargetArray shares(call, call.targets, call.item);
  counts.clear();
  const Outcome outcome = call.each_range(nullptr, [&](const UnitBlock& block, uint32_t first, uint32_t last) {
    kernels.count_ties(own_points(call, block, first, last), counts.data());
  });
  if (outcome != Outcome::done) return outcome;
  in_parallel(call.backend, call.targets, kSerialItems, {call.options.threads, nullptr},
              [&](int64_t begin, int64_t end) {
                const int64_t at = begin * call.item;
                const std::byte* const own = to.own == nullptr ? nullptr : to.own + at;
                kernels.divide(to.gradient + at, counts.data() + at, call.results + at, own, shares.data() + at,
                               to.input + at, end - begin);
              });
  return call.each_block(nullptr, [&](const UnitBlock& block) {
    std::byte* const rows = to.source + call.offset_of(block);
    clear_nowhere(call, block, rows);
    kernels.take_shares(all_points(call, block), shares.data(), rows);
  });
}

// The gradients of the values that are 0, in the blocks that have a flag.
Outcome share_zeros(const Call& call, const std::byte* flags, const std::byte* gradient, const std::byte* own,
                    std::byte* to) {
  const GradientKernels& kernels = call.kernels;
  const TargetArray counts(call, call.targets, call.item);
  const TargetArray products(call, call.targets, call.item);
  const TargetArray marks(call, call.targets / call.granule, 1);
  counts.clear();
  marks.clear();
  auto* const mark = reinterpret_cast<uint8_t*>(marks.data());
  kernels.fill(products.data(), own, call.targets);
  Outcome outcome = call.each_range(flags, [&](const UnitBlock& block, uint32_t first, uint32_t last) {
    kernels.count_zeros(own_points(call, block, first, last), counts.data(), mark);
  });
  if (outcome != Outcome::done) return outcome;
  outcome = call.each_range(nullptr, [&](const UnitBlock& block, uint32_t first, uint32_t last) {
    kernels.multiply_nonzeros(own_points(call, block, first, last), mark, products.data());
  });
  if (outcome != Outcome::done) return outcome;
  return call.each_block(flags, [&](const UnitBlock& block) {
    kernels.multiply_zeros(all_points(call, block), counts.data(), products.data(), gradient,
                           to + call.offset_of(block));
  });
}

Outcome share(const Call& call, const std::byte* gradient, const std::byte* own, std::byte* to) {
  const TargetArray flags(call, call.points.blocks(), 1);  // of the blocks with a 0
  flags.clear();
  std::atomic<bool> has_zero = false;
  const Outcome outcome = call.each_block(nullptr, [&](const UnitBlock& block) {
    std::byte* const rows = to + call.offset_of(block);
    clear_nowhere(call, block, rows);
    if (!call.kernels.multiply_others(all_points(call, block), gradient, rows)) return;
    flags.data()[block.number] = std::byte{1};
    has_zero.store(true, std::memory_order_relaxed);
  });
  if (outcome != Outcome::done || !has_zero) return outcome;
  return share_zeros(call, flags.data(), gradient, own, to);
}

// Runs body(call), which returns an Outcome.
template <class Body>
CallResult run(CallContext& context, const Request& request, const Views& views, const Body& body) {
  const Plan plan = make_plan_on(request, views, views.input);
  if (!is_packed(views.input) || !is_packed(*views.source) || !(plan.result_shape == views.source->extent)) {
    throw ShapeError("the gradient of a scatter needs packed arrays with one value for each point");
  }
  const GradientKernels* const kernels = gradient_kernels(request.combine.number);
  if (kernels == nullptr) throw DTypeError("the gradient of a scatter needs values of float32 or float64");
  const auto& backend = static_cast<const HostBackend&>(context.backend());  // the arrays are on the host
  const Buffers buffers = buffers_of(request, views, views.source->data, views.input.data);
  const int64_t targets = bytes_of(views.input) / views.input.item;
  const Attempt attempt{plan, buffers, Direction::gather, lock_for(backend, plan, bytes_of(views.input))};
  const int64_t granule = granule_of(plan) / views.input.item;
  return run_attempts(context, attempt, [&](const Plan&, const Buffers&, const RunOptions& options) {
    const Points points(backend, plan, buffers, targets / granule);
    return body(Call{backend, *kernels, points, options, views.source->data, views.input.data, plan.unit_items(),
                     granule, targets, views.input.item, bytes_of(*views.source)});
  });
}

}  // namespace

CallResult share_extremes(CallContext& context, const Request& request, const Views& views, const SharedGradient& to) {
  return run(context, request, views, [&](const Call& call) { return share(call, to); });
}

CallResult share_product(CallContext& context, const Request& request, const Views& views, const std::byte* gradient,
                         const std::byte* own, std::byte* to) {
  return run(context, request, views, [&](const Call& call) { return share(call, gradient, own, to); });
}

}  // namespace gs
