// test_target_spans.cpp: which blocks of points have targets in a range, and that scatters read each index about once
// where these blocks have neighbouring targets.
#include <algorithm>
#include <atomic>

#include "backends/cpu/parallel_scatter.h"
#include "backends/cpu/target_spans.h"
#include "cpu_cases.h"
#include "host/interrupt_poller.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

const cpu::Run kBaseline = cpu::kernels("baseline");

// A kernel that counts the points whose indices it reads.
std::atomic<int64_t> points_read;
bool counting_run(const cpu::Job& job, int64_t first, int64_t last) {
  if (job.step != cpu::JobStep::finish) points_read += last - first;
  return kBaseline(job, first, last);
}

// Points that lie near to the points before them, and a few anywhere.
std::vector<int64_t> clustered(int64_t count, int64_t extent, Random& random) {
  std::vector<int64_t> index(static_cast<std::size_t>(count));
  int64_t middle = 0;
  for (std::size_t k = 0; k < index.size(); ++k) {
    if (k % 1000 == 0) middle = random.from(0, extent - 1);
    index[k] = std::clamp<int64_t>(middle + random.from(-3, 3), 0, extent - 1);
    if (k % 900 == 0) index[k] = random.from(0, extent - 1);
  }
  return index;
}

template <class Index>
Bytes indices_of(const std::vector<int64_t>& index) {
  Bytes bytes(index.size() * sizeof(Index));
  for (std::size_t k = 0; k < index.size(); ++k) {
    const auto one = static_cast<Index>(index[k]);
    std::memcpy(&bytes[k * sizeof(Index)], &one, sizeof(Index));
  }
  return bytes;
}

cpu::TargetSpans spans_of(const Plan& plan, const Bytes& indices, const cpu::Tuning& tuning, int threads = 2) {
  Buffers buffers;
  buffers.indexed = nullptr;  // a target has the address of its offset
  buffers.index.push_back(indices.data());
  return {kBaseline, tuning, plan, buffers, {threads, nullptr}};
}

}  // namespace

TEST_CASE("the runs of blocks hold every point of a range of targets once, in order, and say if they hold no others") {
  Random random(11);
  constexpr int64_t kCount = 40'000;
  constexpr int64_t kExtent = 120;
  cpu::Tuning tuning;
  tuning.span_points = 64;
  const std::vector<int64_t> index = clustered(kCount, kExtent, random);
  for (const std::string& level : levels()) {
    for (int type = 0; type < 8; ++type) {
      const auto index_type = static_cast<IndexType>(type);
      const Plan plan = take_plan(kCount, 4, index_type, kExtent);
      const Bytes indices = visit_index(index_type, [&]<class Index>() { return indices_of<Index>(index); });
      Buffers buffers;
      buffers.index.push_back(indices.data());
      const cpu::TargetSpans spans(cpu::kernels(level), tuning, plan, buffers, {3, nullptr});
      REQUIRE_FALSE(spans.empty());
      int64_t skipped = 0;
      int64_t owned = 0;
      for (int round = 0; round < 30; ++round) {
        const auto low = static_cast<cpu::Address>(random.from(0, kExtent) * 4);
        const cpu::AddressRange own{low, low + static_cast<cpu::Address>(random.from(0, kExtent) * 4)};
        std::vector<int> seen(index.size(), 0);
        int64_t before = 0;
        const auto is_own = [&](int64_t k) {
          const auto target = static_cast<cpu::Address>(index[static_cast<std::size_t>(k)] * 4);
          return target >= own.low && target < own.high;
        };
        const bool ended = spans.for_each_run(own, [&](int64_t first, int64_t last, bool all) {
          REQUIRE(first >= before);
          REQUIRE(last > first);
          before = last;
          for (int64_t k = first; k < last; ++k) {
            ++seen[static_cast<std::size_t>(k)];
            if (all && !is_own(k)) FAIL("a point of another range at " << k);
          }
          owned += all ? last - first : 0;
          return true;
        });
        REQUIRE(ended);
        for (int64_t k = 0; k < kCount; ++k) {
          const int times = seen[static_cast<std::size_t>(k)];
          if (times > 1 || (times == 0 && is_own(k))) FAIL("point " << k << " was visited " << times << " times");
          skipped += times == 0;
        }
      }
      REQUIRE(skipped > 0);
      REQUIRE(owned > 0);
    }
  }
}

TEST_CASE("a visit that fails ends the runs") {
  Random random(12);
  cpu::Tuning tuning;
  tuning.span_points = 64;
  const Plan plan = take_plan(20'000, 4, IndexType::i64, 1000);
  const Bytes indices = indices_of<int64_t>(clustered(20'000, 1000, random));
  int visits = 0;
  REQUIRE_FALSE(
      spans_of(plan, indices, tuning).for_each_run({0, 2000}, [&](int64_t, int64_t, bool) { return ++visits < 2; }));
  REQUIRE(visits == 2);
}

TEST_CASE("there are no spans where neighbours lie apart, where points are few, and where indices do not say all") {
  Random random(13);
  const cpu::Tuning tuning;
  const int64_t least = cpu::kLeastSpans * tuning.span_points;
  std::vector<int64_t> ascending(static_cast<std::size_t>(least));
  for (std::size_t k = 0; k < ascending.size(); ++k) ascending[k] = static_cast<int64_t>(k);
  const Bytes sorted = indices_of<int64_t>(ascending);
  Plan plan = take_plan(least, 4, IndexType::i64, least);
  REQUIRE_FALSE(spans_of(plan, sorted, tuning).empty());
  REQUIRE(spans_of(take_plan(least - 1, 4, IndexType::i64, least), sorted, tuning).empty());
  for (int64_t& one : ascending) one = random.from(0, least - 1);
  REQUIRE(spans_of(plan, indices_of<int64_t>(ascending), tuning).empty());
  plan.space.stride(kIndexed, 0) = 4;  // the target advances from point to point
  REQUIRE(spans_of(plan, sorted, tuning).empty());
  plan = take_plan(least / 2, 4, IndexType::i64, least);
  plan.space.stride(kIndex, 0) = 16;
  REQUIRE(spans_of(plan, sorted, tuning).empty());
}

TEST_CASE("indices that a rule changes may lead anywhere") {
  cpu::Tuning tuning;
  tuning.span_points = 64;
  constexpr int64_t kCount = 64 * cpu::kLeastSpans;
  const Plan plan = take_plan(kCount, 4, IndexType::i64, 4000);
  for (const int64_t other : {int64_t{-1}, int64_t{4000}, INT64_MIN, INT64_MAX}) {
    std::vector<int64_t> index(kCount, 0);
    index[100] = other;
    int64_t visited = 0;
    const cpu::TargetSpans spans = spans_of(plan, indices_of<int64_t>(index), tuning);
    spans.for_each_run({4 * 3999, 4 * 4000}, [&](int64_t first, int64_t last, bool all) {
      REQUIRE((first == 64 && last == 128 && !all));
      visited += last - first;
      return true;
    });
    REQUIRE(visited == 64);
  }
  std::vector<uint64_t> index(kCount, 0);
  index[100] = UINT64_MAX;
  Bytes indices(kCount * 8);
  std::memcpy(indices.data(), index.data(), indices.size());
  int64_t visited = 0;
  spans_of(take_plan(kCount, 4, IndexType::u64, 4000), indices, tuning)
      .for_each_run({4 * 3999, 4 * 4000}, [&](int64_t first, int64_t last, bool) {
        visited += last - first;
        return true;
      });
  REQUIRE(visited == 64);
}

TEST_CASE("ranges divide blocks of neighbours, and not blocks that reach far") {
  Random random(14);
  cpu::Tuning tuning;
  tuning.span_points = 1024;
  constexpr int64_t kCount = 1024 * 64;
  const Plan plan = take_plan(kCount, 4, IndexType::i64, kCount);
  std::vector<int64_t> index(kCount);
  for (std::size_t k = 0; k < index.size(); ++k) index[k] = static_cast<int64_t>(k);
  const std::vector<cpu::Address> bounds{0, kCount, 2 * kCount, 3 * kCount, UINT64_MAX};
  const cpu::TargetSpans sorted = spans_of(plan, indices_of<int64_t>(index), tuning);
  REQUIRE(sorted.divide(bounds));
  std::vector<cpu::Address> many;
  for (cpu::Address bound = 0; bound < 4 * kCount; bound += 256) many.push_back(bound);
  REQUIRE_FALSE(sorted.divide(many));
  for (std::size_t k = 0; k < index.size(); k += 1024) index[k] = random.from(0, 1) * (kCount - 1);
  REQUIRE_FALSE(spans_of(plan, indices_of<int64_t>(index), tuning).divide(bounds));
}

TEST_CASE("sorted indices are read about once by any number of threads, with the result of one thread") {
  Random random(15);
  constexpr int64_t kCount = 200'000;
  constexpr int64_t kExtent = 50'000;
  std::vector<int64_t> index(kCount);
  for (int64_t& one : index) one = random.from(0, kExtent - 1);
  std::sort(index.begin(), index.end());
  const Plan plan = take_plan(kCount, 4, IndexType::i64, kExtent);
  std::vector<float> values(kCount);
  for (float& value : values) value = static_cast<float>(random.from(-1000, 1000)) / 7;
  cpu::Tuning tuning;
  tuning.span_points = 256;
  const auto scattered = [&](Reduce reduce, bool include_self, int threads) {
    std::vector<float> target(kExtent, 1.5F);
    Buffers buffers;
    buffers.dense = reinterpret_cast<std::byte*>(values.data());
    buffers.indexed = reinterpret_cast<std::byte*>(target.data());
    buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
    points_read = 0;
    const Outcome outcome = reduce == Reduce::set
                                ? cpu::scatter_with(counting_run, tuning, plan, buffers, {threads, nullptr})
                                : cpu::reduce_with(counting_run, tuning, plan, buffers,
                                                   {reduce, Number::f32, include_self}, {threads, nullptr});
    REQUIRE(outcome == Outcome::done);
    return target;
  };
  for (const Reduce reduce : {Reduce::set, Reduce::add, Reduce::max, Reduce::mean}) {
    for (const bool include_self : {true, false}) {
      const std::vector<float> expected = scattered(reduce, include_self, 1);
      const int64_t once = points_read;
      REQUIRE(once >= kCount);
      for (const int threads : {2, 3, 4, 7, 16}) {
        INFO("reduction " << static_cast<int>(reduce) << ", include_self " << include_self << ", threads " << threads);
        REQUIRE((scattered(reduce, include_self, threads) == expected));
        // A block that a bound divides is read twice.
        REQUIRE(points_read <= once + once / kCount * 256 * cpu::kSlicesPerThread * threads);
      }
    }
  }
}

TEST_CASE("Ctrl-C while the spans are found ends a scatter before it writes") {
  host::InterruptPoller::interval = 0;
  constexpr int64_t kCount = 1 << 20;
  std::vector<int64_t> index(kCount);
  for (std::size_t k = 0; k < index.size(); ++k) index[k] = static_cast<int64_t>(k);
  const Plan plan = take_plan(kCount, 4, IndexType::i64, kCount);
  const Bytes values(4 * kCount, std::byte{1});
  Bytes target(4 * kCount, std::byte{0});
  Buffers buffers;
  buffers.dense = const_cast<std::byte*>(values.data());
  buffers.indexed = target.data();
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  const RunOptions options{2, [] { return true; }};
  REQUIRE(cpu::scatter_with(kBaseline, {}, plan, buffers, options) == Outcome::interrupted);
  host::InterruptPoller::interval = host::InterruptPoller::kInterval;
  REQUIRE((target == Bytes(4 * kCount, std::byte{0})));
}
