// test_cpu_backend.cpp: scans for bad indices, shared work and interrupts of the CPU backend, and what explain says.
#include <atomic>
#include <thread>

#include "backends/cpu/check_indices.h"
#include "cpu_cases.h"
#include "host/host_info.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

bool same(const BadIndex& a, const BadIndex& b) {
  return a.flat == b.flat && a.count == b.count && a.size == b.size && a.axis == b.axis && a.type == b.type &&
         a.bits == b.bits;
}

}  // namespace

TEST_CASE("a scan in pieces finds the bad index that one scan finds") {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    CaseSpec spec;
    spec.bad = random.chance(50);
    spec.masked = random.chance(50);
    spec.arrays = static_cast<int>(random.from(1, 3));
    spec.type = static_cast<IndexType>(random.from(0, 7));
    spec.extent = Dims{random.from(1, 6), random.from(1, 5), random.from(1, 900)};
    Case test = make_case(spec, random);
    const int64_t count = test.plan.index_space.count();
    const auto bad = first_outside(test.plan, test.buffers(), 0, count);
    const bool expected = bad.has_value();
    for (const int64_t piece : {int64_t{1}, int64_t{7}, random.from(1, count), count}) {
      bool found = false;
      for (int64_t begin = 0; begin < count; begin += piece) {
        found = any_outside(test.plan, test.buffers(), begin, std::min(begin + piece, count)) || found;
      }
      REQUIRE(found == expected);
    }
    cpu::Tuning tuning;
    tuning.serial_points = 0;
    REQUIRE(cpu::any_outside_with(*cpu::kernels_of("baseline"), tuning, test.plan, test.buffers(), {3, nullptr}) ==
            expected);
    const auto found = cpu::first_outside_with(test.plan, test.buffers(), {3, nullptr});
    REQUIRE(found.has_value() == expected);
    if (expected) REQUIRE(same(*found, *bad));
  }
}

TEST_CASE("threads find the lowest bad index in any chunk, and count all of them") {
  std::vector<int32_t> index(200000, 3);
  Plan plan;
  plan.index_shape = plan.result_shape = Dims{static_cast<int64_t>(index.size())};
  plan.index_space = plan.space = Space(plan.index_shape, kIndex + 1);
  plan.index_space.stride(kIndex, 0) = plan.space.stride(kIndex, 0) = sizeof(int32_t);
  plan.index.push_back({IndexType::i32, 0, 100, 1});
  plan.finish();
  Buffers buffers;
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  REQUIRE_FALSE(cpu::first_outside_with(plan, buffers, {4, nullptr}));
  int64_t count = 0;
  for (const std::size_t at : {199999, 123456, 123455, 16384, 16383, 0}) {
    index[at] = 100 + static_cast<int32_t>(at);
    const auto bad = cpu::first_outside_with(plan, buffers, {4, nullptr});
    REQUIRE(bad);
    REQUIRE(bad->flat == static_cast<int64_t>(at));
    REQUIRE(bad->bits == 100 + at);
    REQUIRE(bad->count == ++count);
  }
}

TEST_CASE("an interrupted run stops early and reports it") {
  Random random(1);
  Case test;
  test.plan.item = test.plan.unit = 1;
  test.plan.space = Space(Dims{int64_t{1} << 33}, 5);  // takes seconds, with one byte of index and one of result
  test.plan.index.push_back({IndexType::u8, 0, 1, 1});
  test.plan.index_space = test.plan.space;
  test.plan.finish();
  test.dense = make_array({0, 1}, random);
  test.indexed = make_array({0, 1}, random);
  test.index.push_back(make_array({0, 1}, random));
  test.index[0].data()[0] = std::byte{0};
  static std::atomic<int> polls;
  polls = 0;
  RunOptions options;
  options.interrupted = [] { return ++polls >= 2; };
  REQUIRE(cpu::backend().move(test.plan, test.buffers(), Direction::scatter, options) == Outcome::interrupted);
  REQUIRE(polls == 2);
}

TEST_CASE("an interrupted search for bad indices has no result, whatever it has found") {
  Plan plan;  // one index, which is bad, at so many points that the search takes longer than the time between two polls
  plan.item = plan.unit = 0;
  plan.space = Space(Dims{int64_t{1} << 31}, kIndex + 1);
  plan.index.push_back({IndexType::i8, 0, 4, 0});
  plan.index_space = plan.space;
  const int8_t index = 4;
  Buffers buffers;
  buffers.index.push_back(reinterpret_cast<const std::byte*>(&index));
  static std::atomic<int> polls;
  polls = 0;
  const RunOptions options{1, [] { return ++polls == 1; }};
  REQUIRE_FALSE(cpu::first_outside_with(plan, buffers, options));
  REQUIRE(polls == 1);
}

TEST_CASE("parallel_for covers every element once, in work chunks that begin at multiples of the grain") {
  struct Work {
    int64_t grain;
    std::vector<std::atomic<int>> seen;
    std::atomic<int> wrong = 0;
  };
  for (const int64_t count : {0, 1, 63, 64, 65, 1000, 4097}) {
    for (const int64_t grain : {1, 7, 64}) {
      for (const int64_t least : {1, 100, 5000}) {
        for (const int threads : {1, 3}) {
          Work work{grain, std::vector<std::atomic<int>>(static_cast<size_t>(count))};
          ParallelWork all{count, grain, least, nullptr, &work};
          all.run = [](void* context, int64_t begin, int64_t end) {
            auto& own = *static_cast<Work*>(context);
            own.wrong += begin % own.grain != 0 || begin >= end ? 1 : 0;
            for (int64_t i = begin; i < end; ++i) ++own.seen[static_cast<size_t>(i)];
          };
          INFO(count << " elements, grain " << grain << ", least " << least << ", " << threads << " threads");
          REQUIRE(cpu::parallel_for(all, {threads, nullptr}) == Outcome::done);
          REQUIRE(work.wrong == 0);
          REQUIRE(std::all_of(work.seen.begin(), work.seen.end(), [](const auto& times) { return times == 1; }));
        }
      }
    }
  }
}

TEST_CASE("parallel_for ends when it is interrupted") {
  static std::atomic<int> runs;
  runs = 0;
  ParallelWork work{1'000'000, 1, 1, nullptr, nullptr};
  work.run = [](void*, int64_t, int64_t) {
    ++runs;
    std::this_thread::sleep_for(std::chrono::milliseconds(11));
  };
  REQUIRE(cpu::parallel_for(work, {1, [] { return true; }}) == Outcome::interrupted);
  REQUIRE(runs <= 2);
}

TEST_CASE("the backend names its kernel and its threads") {
  const Plan plan = take_plan(1 << 20);
  const Backend& backend = cpu::backend();
  const std::string kernel_form = host::info().isa == "v4" ? " vectors" : " elements";
  REQUIRE(backend.kernel(plan, Direction::gather, {}, 1) == host::info().isa + kernel_form);
  REQUIRE(backend.threads(plan, Direction::gather, 2) == 2);
  REQUIRE(backend.threads(plan, Direction::gather, 1) == 1);
  REQUIRE(backend.threads(plan, Direction::scatter, 2) == 2);
  REQUIRE(backend.threads(take_plan(100), Direction::gather, 2) == 1);
}

TEST_CASE("a check looks for the targets of blocks where threads scatter by sorted indices") {
  constexpr int64_t kCount = 100'000;
  std::vector<int64_t> index(kCount);
  for (size_t k = 0; k < index.size(); ++k) index[k] = static_cast<int64_t>(k);
  std::vector<float> target(kCount);
  Buffers buffers;
  buffers.indexed = reinterpret_cast<std::byte*>(target.data());
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  const Plan plan = take_plan(kCount, 4, IndexType::i64, kCount);
  const auto has_spans = [&](const Plan& checked, Direction direction, int threads) {
    std::optional<ResolvedPlan> resolved;
    REQUIRE_FALSE(cpu::backend().resolve(checked, buffers, direction, {threads, nullptr}, resolved));
    return resolved && resolved->buffers.spans != nullptr;
  };
  REQUIRE(has_spans(plan, Direction::scatter, 2));
  REQUIRE_FALSE(has_spans(plan, Direction::scatter, 1));
  REQUIRE_FALSE(has_spans(plan, Direction::gather, 2));
  REQUIRE_FALSE(has_spans(take_plan(kCount, 100, IndexType::i64, kCount), Direction::scatter, 2));
  for (size_t k = 0; k < index.size(); ++k) index[k] = static_cast<int64_t>(k * 7919 % kCount);
  REQUIRE_FALSE(has_spans(plan, Direction::scatter, 2));
}
