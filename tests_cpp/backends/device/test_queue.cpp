// test_queue.cpp: outcomes, receipts and interrupts of a queue, on the machine that is the CPU.
#include <atomic>

#include "backends/device/queue.h"
#include "device_cases.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

std::atomic<int> polls;

RunOptions interrupted_at_once() {
  polls = 0;
  return {1, [] { return ++polls == 1; }};
}

// One index, whose value is given, at so many points that any launch takes longer than the time between two polls.
struct Long {
  explicit Long(int8_t value) : index(value) {
    plan.item = plan.unit = 1;
    plan.space = Space(Dims{int64_t{1} << 28}, kIndex + 1);
    plan.index.push_back({IndexType::i8, 0, 4, 1});
    plan.index_space = plan.space;
    plan.finish();
    buffers.dense = dense;
    buffers.indexed = indexed;
    buffers.index.push_back(reinterpret_cast<const std::byte*>(&index));
  }
  int8_t index;
  std::byte dense[16] = {};
  std::byte indexed[16] = {};
  Plan plan;
  Buffers buffers;
};

}  // namespace

TEST_CASE("an interrupted queue has no result, whatever it has found") {
  const device::Queue queue = queue_on({std::nullopt, 1024});
  Long bad(4);
  REQUIRE_FALSE(queue.first_outside(bad.plan, bad.buffers, interrupted_at_once()));
  REQUIRE(polls == 1);
  REQUIRE_FALSE(queue.any_outside(bad.plan, bad.buffers, interrupted_at_once()));
  REQUIRE(polls == 1);
  Long good(3);
  REQUIRE(queue.move(good.plan, good.buffers, Direction::gather, interrupted_at_once()) == Outcome::interrupted);
  REQUIRE(polls == 1);
}

TEST_CASE("a queue works on after an interrupt") {
  const device::Queue queue = queue_on({std::nullopt, 1024});
  Long good(3);
  REQUIRE(queue.move(good.plan, good.buffers, Direction::gather, interrupted_at_once()) == Outcome::interrupted);
  const std::vector<int32_t> source = {10, 20, 30};
  std::vector<int64_t> index = {2, -3, 1};
  std::vector<int32_t> result(3);
  const Plan plan = take_plan(3, 4, IndexType::i64, 3);
  Buffers buffers;
  buffers.dense = reinterpret_cast<std::byte*>(result.data());
  buffers.indexed = reinterpret_cast<std::byte*>(const_cast<int32_t*>(source.data()));
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  REQUIRE(queue.move(plan, buffers, Direction::gather, {}) == Outcome::done);
  REQUIRE(result == std::vector<int32_t>{30, 10, 20});
  index[1] = 3;
  REQUIRE(queue.move(plan, buffers, Direction::gather, {}) == Outcome::bad_index);
}

TEST_CASE("a move that may fail gives a receipt of its status, and any other gives none") {
  const device::Queue queue = queue_on({std::nullopt, 1024});
  std::vector<int32_t> source = {10, 20, 30};
  const std::vector<int64_t> index = {2, 7, 1, -4};
  std::vector<int32_t> result(4);
  Plan plan = take_plan(4, 4, IndexType::i64, 3);
  Buffers buffers;
  buffers.dense = reinterpret_cast<std::byte*>(result.data());
  buffers.indexed = reinterpret_cast<std::byte*>(source.data());
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  const auto receipt = queue.move_later(plan, buffers, Direction::gather);
  REQUIRE(receipt != nullptr);
  REQUIRE(receipt->status().first() == 1);
  REQUIRE(receipt->status().count == 2);
  plan.rule.bounds = Bounds::clip;
  REQUIRE(queue.move_later(plan, buffers, Direction::gather) == nullptr);
  REQUIRE(result == std::vector<int32_t>{30, 30, 20, 10});
}
