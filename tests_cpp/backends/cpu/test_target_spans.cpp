// test_target_spans.cpp: which blocks of points have targets in a range, and that scatters read each index about once
// where these blocks have neighbouring targets.
#include <algorithm>
#include <atomic>

#include "backends/cpu/check_indices.h"
#include "backends/cpu/run.h"
#include "backends/cpu/scatter_run.h"
#include "backends/cpu/target_spans.h"
#include "cpu_cases.h"
#include "host/interrupt_poller.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

const cpu::Kernels& kBaseline = *cpu::kernels_of("baseline");

// A kernel that counts the points whose indices it reads.
std::atomic<int64_t> points_read;
bool counting_run(const cpu::Job& job, int64_t first, int64_t last) {
  if (job.step != cpu::JobStep::finish) points_read += last - first;
  return kBaseline.run(job, first, last);
}
const cpu::Kernels counting_kernels = baseline_with(counting_run);

// Polls of Ctrl-C follow each other without a pause.
struct PollAlways {
  PollAlways() { host::InterruptPoller::interval = 0; }
  ~PollAlways() { host::InterruptPoller::interval = host::InterruptPoller::kInterval; }
};

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

// All runs of blocks with targets in a range, a few points at a time.
template <class Visit>
bool for_each_run(const cpu::TargetSpans& spans, cpu::AddressRange own, const Visit& visit, int64_t most = 200) {
  int64_t next = 0;
  while (next < spans.blocks()) {
    int64_t visited = 0;
    const auto count = [&](int64_t first, int64_t last, bool all) {
      REQUIRE(visited < most);
      visited += last - first;
      return visit(first, last, all);
    };
    if (!spans.for_each_run(own, next, most, count)) return false;
  }
  return true;
}

// The base of the targets is 0, so that a target has the address of its offset.
cpu::TargetSpans spans_of(const Plan& plan, const Bytes& indices, const cpu::Tuning& tuning,
                          const cpu::Kernels& kernels = kBaseline) {
  Buffers buffers;
  for (int a = 0; a < plan.index.size(); ++a) buffers.index.push_back(indices.data());
  return {kernels, tuning, plan, buffers, {3, nullptr}};
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
      const cpu::TargetSpans spans = spans_of(plan, indices, tuning, *cpu::kernels_of(level));
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
        const bool ended = for_each_run(spans, own, [&](int64_t first, int64_t last, bool all) {
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
  const auto visit = [&](int64_t, int64_t, bool) { return ++visits < 2; };
  REQUIRE_FALSE(for_each_run(spans_of(plan, indices, tuning), {0, 2000}, visit));
  REQUIRE(visits == 2);
}

TEST_CASE("there are no spans where neighbours lie apart, where points are few, and where indices do not say all") {
  Random random(13);
  const cpu::Tuning tuning;
  const int64_t least = cpu::kLeastSpans * tuning.span_points;
  std::vector<int64_t> index(static_cast<std::size_t>(2 * least));
  for (std::size_t k = 0; k < index.size(); ++k) index[k] = static_cast<int64_t>(k);
  const Bytes sorted = indices_of<int64_t>(index);
  const Plan plan = take_plan(least, 4, IndexType::i64, 2 * least);
  REQUIRE_FALSE(spans_of(plan, sorted, tuning).empty());
  REQUIRE(spans_of(take_plan(least - 1, 4, IndexType::i64, 2 * least), sorted, tuning).empty());
  for (int64_t& one : index) one = random.from(0, 2 * least - 1);
  REQUIRE(spans_of(plan, indices_of<int64_t>(index), tuning).empty());

  const auto is_empty = [&](auto change) {
    Plan changed = plan;
    change(changed);
    return spans_of(changed, sorted, tuning).empty();
  };
  REQUIRE_FALSE(is_empty([](Plan& one) { one.index[0].step = 8; }));
  REQUIRE(is_empty([](Plan& one) { one.space.stride(kIndexed, 0) = 4; }));  // the target advances from point to point
  REQUIRE(is_empty([](Plan& one) { one.space.stride(kIndex, 0) = 16; }));
  REQUIRE(is_empty([](Plan& one) { one.index[0].step = -4; }));
  REQUIRE(is_empty([](Plan& one) { one.index[0].step = 0; }));
  REQUIRE(is_empty([](Plan& one) { one.index[0].extent = 0; }));
  REQUIRE(is_empty([](Plan& one) { one.masked = true; }));
  REQUIRE(is_empty([](Plan& one) { one.index.push_back(one.index[0]); }));
  REQUIRE(is_empty([](Plan& one) { one.fold.push_back({}); }));
  REQUIRE(spans_of(rows_plan(2, least / 2, 2 * least), sorted, tuning).empty());
}

TEST_CASE("indices that a rule changes may lead anywhere") {
  cpu::Tuning tuning;
  tuning.span_points = 64;
  constexpr int64_t kCount = 64 * cpu::kLeastSpans;
  const auto visited = [&](const Plan& plan, const Bytes& indices, const std::string& level) {
    int64_t points = 0;
    for_each_run(spans_of(plan, indices, tuning, *cpu::kernels_of(level)), {4 * 3999, 4 * 4000},
                 [&](int64_t first, int64_t last, bool all) {
                   REQUIRE((first == 64 && last == 128 && !all));
                   points += last - first;
                   return true;
                 });
    return points;
  };
  for (const std::string& level : levels()) {
    for (const int64_t other : {int64_t{-1}, int64_t{4000}, INT64_MIN, INT64_MAX}) {
      std::vector<int64_t> index(kCount, 0);
      index[100] = other;
      INFO(level << ", index " << other);
      REQUIRE(visited(take_plan(kCount, 4, IndexType::i64, 4000), indices_of<int64_t>(index), level) == 64);
      if (other == 4000) continue;
      REQUIRE(visited(take_plan(kCount, 4, IndexType::u64, 4000), indices_of<uint64_t>(index), level) == 64);
    }
  }
}

TEST_CASE("the spans that a check has found stand for a search, and only for the indices that it has checked") {
  cpu::Tuning tuning;
  tuning.span_points = 64;
  constexpr int64_t kCount = 64 * cpu::kLeastSpans;
  const Plan plan = take_plan(kCount, 4, IndexType::i64, 1000);
  const Bytes indices = indices_of<int64_t>(std::vector<int64_t>(kCount, 7));
  BlockSpans found = cpu::empty_spans(indices.data(), kCount, 64);
  for (IndexSpan& span : found.of_block) span = {3, 3};  // other ones than a search would find
  const auto points_of = [&](const BlockSpans& known, const Plan& moved, int64_t target) {
    Buffers buffers;
    buffers.index.push_back(indices.data());
    buffers.spans = &known;
    int64_t points = 0;
    for_each_run(cpu::TargetSpans(kBaseline, tuning, moved, buffers, {3, nullptr}),
                 {static_cast<cpu::Address>(4 * target), static_cast<cpu::Address>(4 * target + 1)},
                 [&](int64_t first, int64_t last, bool) {
                   points += last - first;
                   return true;
                 });
    return points;
  };
  REQUIRE(points_of(found, plan, 3) == kCount);
  REQUIRE(points_of(found, plan, 7) == 0);
  BlockSpans other = found;
  other.index = indices.data() + 8;
  REQUIRE(points_of(other, plan, 3) == 0);
  REQUIRE(points_of(other, plan, 7) == kCount);
  other = found;
  other.count = kCount + 1;
  REQUIRE(points_of(other, plan, 7) == kCount);
  Plan strided = plan;
  strided.space.stride(kIndex, 0) = 16;
  REQUIRE(points_of(found, strided, 3) == 0);
}

TEST_CASE("blocks of very many points begin at cache lines, and few of them need memory") {
  const cpu::Tuning tuning;
  const int64_t most = cpu::kMostSpans * tuning.span_points;
  for (const int64_t count : {int64_t{1}, most, most + 1, 3 * most, 3 * most + 1, int64_t{1} << 40}) {
    const int64_t points = cpu::span_points_for(tuning, count);
    REQUIRE(points >= tuning.span_points);
    REQUIRE(points % cpu::kScanGrain == 0);
    REQUIRE((count + points - 1) / points <= cpu::kMostSpans);
  }
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
    const Outcome outcome =
        reduce == Reduce::set
            ? cpu::move_with(counting_kernels, tuning, plan, buffers, Direction::scatter, {threads, nullptr})
            : cpu::reduce_with(counting_kernels, tuning, plan, buffers, {reduce, Number::f32, include_self},
                               {threads, nullptr});
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
        REQUIRE(points_read <= once + once / kCount * 256 * cpu::kPartsPerThread * threads);
      }
    }
  }
}

TEST_CASE("a scatter takes the spans that its check has found, with the result of one thread") {
  Random random(16);
  constexpr int64_t kCount = 20'011;
  constexpr int64_t kExtent = 5'000;
  int found_spans = 0;
  for (int round = 0; round < 240; ++round) {
    const auto type = random.pick<IndexType>({IndexType::i64, IndexType::i32, IndexType::u64});
    const auto threads = static_cast<int>(random.from(2, 16));
    const bool keeps = random.chance(50);
    std::vector<int64_t> index(kCount);
    for (int64_t& one : index) one = random.from(0, kExtent - 1);
    std::sort(index.begin(), index.end());
    const int64_t negatives = index_is_signed(type) ? random.from(0, 2) : 0;
    for (int64_t& one : index) one -= negatives == 1 || (negatives == 2 && random.from(1, kCount) <= 3) ? kExtent : 0;
    const Bytes indices = visit_index(type, [&]<class Index>() { return indices_of<Index>(index); });
    std::vector<float> values(kCount);
    for (float& value : values) value = static_cast<float>(random.from(-1000, 1000)) / 7;
    cpu::Tuning tuning;
    tuning.span_points = random.pick<int64_t>({100, 256});
    tuning.resolve_points = keeps ? 1 : INT64_MAX;
    tuning.l2_bytes = 64;
    tuning.resolve_index_bytes = 1;
    tuning.stream_bytes = random.chance(50) ? 0 : tuning.stream_bytes;
    const Plan plan = take_plan(kCount, 4, type, kExtent);
    std::vector<float> target(kExtent);
    Buffers buffers;
    buffers.dense = reinterpret_cast<std::byte*>(values.data());
    buffers.indexed = reinterpret_cast<std::byte*>(target.data());
    buffers.index.push_back(indices.data());
    const cpu::Kernels& kernels = random.chance(50) ? counting_kernels : *cpu::kernels_of(levels().back());
    const RunOptions options{threads, nullptr};
    const int64_t points = cpu::span_points_of(kernels, tuning, plan, buffers, options);
    if (negatives == 2 && points == 0) continue;  // the sample has met one of the few negative indices
    ++found_spans;
    REQUIRE(points == tuning.span_points);
    std::optional<ResolvedPlan> resolved;
    REQUIRE_FALSE(cpu::resolve_with(kernels, tuning, plan, buffers, points, options, resolved));
    REQUIRE(resolved);
    REQUIRE((resolved->positions != nullptr) == keeps);
    REQUIRE(resolved->buffers.spans == &resolved->spans);
    const Reduce reduce = random.pick<Reduce>({Reduce::set, Reduce::add, Reduce::mean});
    const auto scattered = [&](const Plan& moved, const Buffers& memory, int with) {
      std::fill(target.begin(), target.end(), 1.5F);
      points_read = 0;
      const RunOptions own{with, nullptr};
      const Outcome outcome = reduce == Reduce::set
                                  ? cpu::move_with(kernels, tuning, moved, memory, Direction::scatter, own)
                                  : cpu::reduce_with(kernels, tuning, moved, memory, {reduce, Number::f32, true}, own);
      REQUIRE(outcome == Outcome::done);
      return target;
    };
    INFO("round " << round << ", threads " << threads << ", negatives " << negatives << ", keeps " << keeps);
    const std::vector<float> expected = scattered(plan, buffers, 1);
    REQUIRE((scattered(resolved->plan, resolved->buffers, threads) == expected));
    if (&kernels == &counting_kernels && reduce != Reduce::mean && (keeps || negatives != 2)) {
      REQUIRE(points_read <= kCount + tuning.span_points * cpu::kPartsPerThread * threads);
      const BlockSpans found = resolved->spans;  // a proof that it takes them: without a span, all threads read a block
      for (IndexSpan& span : resolved->spans.of_block) span = kAnywhere;
      REQUIRE((scattered(resolved->plan, resolved->buffers, threads) == expected));
      if (threads <= cpu::kReadAllThreads) REQUIRE(points_read == kCount * threads);
      resolved->spans.of_block = found.of_block;
    }
    // A plan of other points finds spans of its own.
    Buffers memory = resolved->buffers;
    const Plan turned = reversed(resolved->plan, memory);
    Buffers given = buffers;
    const Plan all_turned = reversed(plan, given);
    REQUIRE((scattered(turned, memory, threads) == scattered(all_turned, given, 1)));
    memory = resolved->buffers;
    given = buffers;
    const Plan part = sliced(resolved->plan, memory, 0, 0, kCount - 300);
    const Plan same = sliced(plan, given, 0, 0, kCount - 300);
    REQUIRE((scattered(part, memory, threads) == scattered(same, given, 1)));
  }
  REQUIRE(found_spans > 200);
}

TEST_CASE("Ctrl-C is polled after some points, also where one thread has all of them") {
  constexpr int64_t kCount = 1 << 20;
  const std::vector<int64_t> index(kCount, 5);
  const Plan plan = take_plan(kCount, 4, IndexType::i64, 1000);
  const Bytes values(4 * kCount, std::byte{1});
  Bytes target(4 * 1000, std::byte{0});
  Buffers buffers;
  buffers.dense = const_cast<std::byte*>(values.data());
  buffers.indexed = target.data();
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  cpu::Tuning tuning;
  tuning.round_points = 1 << 16;
  static std::atomic<int> polls;
  for (const int allowed : {4, 10, 1000}) {
    const PollAlways poll_always;
    polls = -allowed;
    points_read = 0;
    const RunOptions options{2, [] { return ++polls > 0; }};
    const Outcome outcome = cpu::move_with(counting_kernels, tuning, plan, buffers, Direction::scatter, options);
    REQUIRE(outcome == (allowed == 1000 ? Outcome::done : Outcome::interrupted));
    REQUIRE((allowed == 1000) == (points_read == kCount));
  }
}

TEST_CASE("Ctrl-C while the spans are found ends a scatter before it writes") {
  const PollAlways poll_always;
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
  REQUIRE(cpu::move_with(kBaseline, {}, plan, buffers, Direction::scatter, options) == Outcome::interrupted);
  REQUIRE((target == Bytes(4 * kCount, std::byte{0})));
}
