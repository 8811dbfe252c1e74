// test_check_indices.cpp: checks of all indices before a move, and the plans that move by the positions that were kept.
#include <sys/resource.h>

#include <cstring>
#include <vector>

#include "backends/cpu/check_indices.h"
#include "cpu_cases.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

// A tuning that keeps positions of every plan where `resolve_with` can.
cpu::Tuning eager() {
  cpu::Tuning tuning;
  tuning.resolve_points = 1;
  tuning.l2_bytes = 64;
  tuning.resolve_index_bytes = 1;
  tuning.serial_points = 0;
  return tuning;
}

CaseSpec random_spec(Random& random) {
  CaseSpec spec;
  spec.direction = random.chance(50) ? Direction::gather : Direction::scatter;
  spec.rule = {random.chance(80) ? Bounds::raise : Bounds::deferred,
               random.chance(60) ? Negative::from_end : Negative::out_of_bounds};
  spec.type = static_cast<IndexType>(random.from(0, 7));
  spec.items = random.pick<int64_t>({1, 1, 3});
  spec.arrays = static_cast<int>(random.from(1, 3));
  spec.bad = random.chance(30);
  spec.plain = random.chance(40);
  spec.masked = random.chance(10);
  if (random.chance(15)) {
    spec.arrays = 1;
    spec.folds = static_cast<int>(random.from(1, 3));
  }
  spec.extent = Dims{random.from(1, 5), random.from(1, 4), random.from(1, random.chance(50) ? 600 : 40)};
  return spec;
}

template <class Index>
Buffers on(std::vector<Index>& index, const std::vector<float>& source, std::vector<float>& result) {
  Buffers buffers;
  buffers.dense = reinterpret_cast<std::byte*>(result.data());
  buffers.indexed = reinterpret_cast<std::byte*>(const_cast<float*>(source.data()));
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  return buffers;
}

std::vector<float> counted(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return values;
}

}  // namespace

TEST_CASE("every level finds what the scan of the core finds, and kept positions move the same points") {
  Random random(11);
  const std::vector<std::string> known = levels();
  int kept = 0;
  for (int round = 0; round < 3000; ++round) {
    CaseSpec spec = random_spec(random);
    Case test = make_case(spec, random);
    const cpu::Kernels& kernels = *cpu::kernels_of(random.pick(known));
    const int threads = static_cast<int>(random.from(1, 3));
    const bool bad = first_outside(test.plan, test.buffers()).has_value();
    cpu::Tuning tuning = eager();
    tuning.general = random.chance(20);
    REQUIRE(cpu::any_outside_with(kernels, tuning, test.plan, test.buffers(), {threads, nullptr}) == bad);
    std::optional<ResolvedPlan> resolved;
    REQUIRE(cpu::resolve_with(kernels, tuning, test.plan, test.buffers(), 0, {threads, nullptr}, resolved) == bad);
    if (bad || !resolved) continue;
    ++kept;
    REQUIRE(resolved->plan.space.count() == test.plan.space.count());
    REQUIRE_FALSE(first_outside(resolved->plan, resolved->buffers));
    Case expected = test;
    REQUIRE(naive(expected.plan, expected.buffers(), spec.direction));
    REQUIRE(cpu::move_with(kernels, tuning, resolved->plan, resolved->buffers, spec.direction, {threads, nullptr}) ==
            Outcome::done);
    REQUIRE(test.dense.bytes == expected.dense.bytes);
    REQUIRE(test.indexed.bytes == expected.indexed.bytes);
  }
  REQUIRE(kept > 300);
}

TEST_CASE("one bad index at any place of a long run is found, under every index type") {
  const IndexType types[] = {IndexType::i8, IndexType::i16, IndexType::i32, IndexType::i64,
                             IndexType::u8, IndexType::u16, IndexType::u32, IndexType::u64};
  for (const std::string& level : levels()) {
    const cpu::Kernels& kernels = *cpu::kernels_of(level);
    for (const IndexType type : types) {
      for (const int64_t count : {1, 63, 64, 65, 500}) {
        const int64_t size = index_size(type);
        Bytes index(static_cast<size_t>(count * size), std::byte{0});
        const Plan plan = take_plan(count, 4, type, 100);
        Buffers buffers;
        buffers.index.push_back(index.data());
        for (const int64_t at : {int64_t{0}, count / 2, count - 1}) {
          for (const int64_t value : {int64_t{100}, int64_t{-101}}) {
            if (value < 0 && !index_is_signed(type)) continue;
            store(index.data() + at * size, type, value);
            std::optional<ResolvedPlan> resolved;
            REQUIRE(cpu::any_outside_with(kernels, eager(), plan, buffers, {2, nullptr}));
            REQUIRE(cpu::resolve_with(kernels, eager(), plan, buffers, 0, {2, nullptr}, resolved));
          }
          store(index.data() + at * size, type, index_is_signed(type) ? -100 : 99);
          std::optional<ResolvedPlan> resolved;
          REQUIRE_FALSE(cpu::any_outside_with(kernels, eager(), plan, buffers, {2, nullptr}));
          REQUIRE_FALSE(cpu::resolve_with(kernels, eager(), plan, buffers, 0, {2, nullptr}, resolved));
        }
      }
    }
  }
}

TEST_CASE("an index that becomes bad after the check has no effect on the move") {
  const cpu::Kernels& kernels = *cpu::kernels_of(levels().back());
  for (const int64_t extent : {int64_t{100}, int64_t{65536}, int64_t{65537}}) {
    const std::vector<float> source = counted(extent);
    std::vector<int64_t> index(5000);
    for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int64_t>(i * 7919) % extent - (i % 2 ? extent : 0);
    std::vector<float> result(index.size());
    const Plan plan = take_plan(static_cast<int64_t>(index.size()), 4, IndexType::i64, extent);
    std::optional<ResolvedPlan> resolved;
    REQUIRE_FALSE(cpu::resolve_with(kernels, eager(), plan, on(index, source, result), 0, {2, nullptr}, resolved));
    REQUIRE(resolved);
    REQUIRE(index_size(resolved->plan.index[0].type) == (extent <= 65536 ? 2 : 4));
    std::fill(index.begin(), index.end(), INT64_MAX);
    REQUIRE(cpu::move_with(kernels, eager(), resolved->plan, resolved->buffers, Direction::gather, {2, nullptr}) ==
            Outcome::done);
    for (size_t i = 0; i < result.size(); ++i) {
      REQUIRE(result[i] == static_cast<float>(static_cast<int64_t>(i * 7919) % extent));
    }
  }
}

TEST_CASE("positions are kept where they take at most half of the bytes of many indices") {
  cpu::Tuning tuning;
  tuning.vectors = true;
  const int64_t many = tuning.resolve_points;
  REQUIRE(cpu::position_bytes(take_plan(many, 4, IndexType::i64, 65536), tuning, 1) == 2);
  REQUIRE(cpu::position_bytes(take_plan(many, 4, IndexType::u64, 65537), tuning, 1) == 4);
  REQUIRE(cpu::position_bytes(take_plan(many - 1, 4, IndexType::i64, 100), tuning, 1) == 0);
  REQUIRE(cpu::position_bytes(take_plan(many, 4, IndexType::i32, 100), tuning, 1) == 0);
  REQUIRE(cpu::position_bytes(take_plan(many, 4, IndexType::u8, 100), tuning, 1) == 0);
  REQUIRE(cpu::position_bytes(take_plan(many, 4, IndexType::i64, int64_t{1} << 33), tuning, 1) == 0);
  REQUIRE(cpu::position_bytes(take_plan(tuning.l2_bytes / 8, 4, IndexType::i64, 100), tuning, 2) == 0);
  REQUIRE(cpu::position_bytes(take_plan(tuning.l2_bytes / 8 + 1, 4, IndexType::i64, 100), tuning, 2) == 2);
  Plan outer = gather_plan(4096, 4096, 4096);  // two arrays of 4096 indices, and 16 Mi points
  outer.space = Space(Dims{4096, 4096}, kIndex + 2);
  outer.space.stride(kIndex, 0) = outer.space.stride(kIndex + 1, 1) = 8;
  outer.index.push_back({IndexType::i64, 1, 4096, 4});
  REQUIRE(cpu::position_bytes(outer, tuning, 1) == 0);
}

TEST_CASE("coordinates on axes that are one axis in memory become one position") {
  const cpu::Kernels& kernels = *cpu::kernels_of(levels().back());
  const std::vector<float> source = counted(1000);
  const int64_t count = 777;
  std::vector<int64_t> index(static_cast<size_t>(3 * count));
  for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int64_t>(i * 7919) % 20 - 10;
  std::vector<float> result(static_cast<size_t>(count));
  Plan plan = take_plan(count, 4, IndexType::i64, 10);
  plan.space = Space(Dims{count}, kIndex + 3);
  plan.space.stride(kDense, 0) = 4;
  plan.index.clear();
  Buffers buffers = on(index, source, result);
  buffers.index.clear();
  for (int a = 0; a < 3; ++a) {
    plan.space.stride(kIndex + a, 0) = 24;
    plan.index.push_back({IndexType::i64, a, 10, a == 0 ? 400 : a == 1 ? 40 : 4});
    buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data() + a));
  }
  plan.index_space = plan.space;
  plan.finish();
  std::optional<ResolvedPlan> resolved;
  REQUIRE_FALSE(cpu::resolve_with(kernels, eager(), plan, buffers, 0, {2, nullptr}, resolved));
  REQUIRE(resolved);
  REQUIRE(resolved->plan.index.size() == 1);
  REQUIRE(resolved->plan.index[0] == IndexArray{IndexType::u16, 0, 1000, 4});
  REQUIRE(cpu::move_with(kernels, eager(), resolved->plan, resolved->buffers, Direction::gather, {2, nullptr}) ==
          Outcome::done);
  const auto at = [&](size_t k) { return index[k] < 0 ? index[k] + 10 : index[k]; };
  for (size_t i = 0; i < result.size(); ++i) {
    REQUIRE(result[i] == static_cast<float>(100 * at(3 * i) + 10 * at(3 * i + 1) + at(3 * i + 2)));
  }
  plan.index[0].step = 404;  // a gap after each 100 items: a reduction must not touch it, so nothing is joined
  REQUIRE(cpu::position_bytes(plan, eager(), 1) == 0);
}

TEST_CASE("a check finds the span of the positions of each block, with positions and without") {
  Random random(29);
  const std::vector<std::string> known = levels();
  int kept = 0;
  int anywhere = 0;
  for (int round = 0; round < 600; ++round) {
    const auto type = static_cast<IndexType>(random.from(0, 7));
    const int64_t extent = random.pick<int64_t>({1, 100, 127});
    const int64_t points = random.pick<int64_t>({1, 63, 64, 100, 128, 1000});
    const int64_t count = random.from(1, 3000);
    const auto threads = static_cast<int>(random.from(1, 3));
    const bool wraps = random.chance(70);
    Plan plan = take_plan(count, 4, type, extent);
    plan.rule.negative = wraps ? Negative::from_end : Negative::out_of_bounds;
    Bytes index(static_cast<size_t>(count * index_size(type)));
    std::vector<int64_t> position(static_cast<size_t>(count));
    std::vector<bool> counts_back(position.size());
    const int64_t sign = random.from(0, 2);  // of whole blocks, so that some have both and some have one
    for (int64_t k = 0; k < count; ++k) {
      const auto at = static_cast<size_t>(k);
      position[at] = random.from(0, extent - 1);
      counts_back[at] = wraps && index_is_signed(type) && (sign == 2 ? random.chance(1) : k / points % 2 == sign);
      store(index.data() + k * index_size(type), type, position[at] - (counts_back[at] ? extent : 0));
    }
    Buffers buffers;
    buffers.index.push_back(index.data());
    cpu::Tuning tuning = eager();
    if (random.chance(50)) tuning.resolve_points = INT64_MAX;
    if (random.chance(50)) tuning.stream_bytes = 0;
    const cpu::Kernels& kernels = *cpu::kernels_of(random.pick(known));
    std::optional<ResolvedPlan> resolved;
    REQUIRE_FALSE(cpu::resolve_with(kernels, tuning, plan, buffers, points, {threads, nullptr}, resolved));
    REQUIRE(resolved);
    const BlockSpans& spans = resolved->spans;
    REQUIRE(resolved->buffers.spans == &spans);
    REQUIRE(spans.index == resolved->buffers.index[0]);
    REQUIRE((spans.count == count && spans.points == points));
    REQUIRE(static_cast<int64_t>(spans.of_block.size()) == (count + points - 1) / points);
    REQUIRE(resolved->buffers.owns_index == (resolved->positions != nullptr));
    kept += resolved->positions != nullptr;
    for (int64_t k = 0; resolved->positions != nullptr && k < count; ++k) {
      const int64_t width = index_size(resolved->plan.index[0].type);
      uint64_t written = 0;
      std::memcpy(&written, resolved->positions.get() + k * width, static_cast<size_t>(width));
      if (written != static_cast<uint64_t>(position[static_cast<size_t>(k)])) FAIL("position " << k);
    }
    for (size_t block = 0; block < spans.of_block.size(); ++block) {
      IndexSpan expected;
      int back = 0;
      const size_t first = block * static_cast<size_t>(points);
      const size_t last = std::min(first + static_cast<size_t>(points), position.size());
      for (size_t k = first; k < last; ++k) {
        expected.add({position[k], position[k]});
        back += counts_back[k];
      }
      const bool mixed = back > 0 && back < static_cast<int>(last - first);
      if (resolved->positions == nullptr && mixed) expected = {INT64_MIN, INT64_MAX};
      anywhere += expected.lowest < 0;
      INFO("block " << block << " of " << points << ", type " << static_cast<int>(type));
      REQUIRE(spans.of_block[block].lowest == expected.lowest);
      REQUIRE(spans.of_block[block].highest == expected.highest);
    }
    const int64_t wrong = random.from(0, count - 1);
    store(index.data() + wrong * index_size(type), type, extent);
    REQUIRE(cpu::resolve_with(kernels, tuning, plan, buffers, points, {threads, nullptr}, resolved));
  }
  REQUIRE(kept > 100);
  REQUIRE(anywhere > 20);
}

// Sanitizers need memory of their own at any time, so that a process without any would end.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_CASE("without memory for positions the indices are checked alone") {
  const std::vector<float> source = counted(100);
  std::vector<int64_t> index(size_t{1} << 20, 99);
  std::vector<float> result(1);
  const Plan plan = take_plan(static_cast<int64_t>(index.size()));
  host::trim();
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  std::optional<ResolvedPlan> resolved;
  const rlimit none{1, before.rlim_max};
  setrlimit(RLIMIT_AS, &none);
  const bool bad = cpu::resolve_with(*cpu::kernels_of("baseline"), eager(), plan, on(index, source, result), 64,
                                     {1, nullptr}, resolved);
  setrlimit(RLIMIT_AS, &before);
  REQUIRE_FALSE(bad);
  REQUIRE_FALSE(resolved);
}
#endif
