// test_marked_targets.cpp: scatters of rows whose targets differ, or all but one, in place and into new memory with a
// base.
#include <cstring>

#include "backends/cpu/marked_targets.h"
#include "cpu_cases.h"

using namespace gs;
using namespace gs::test;

namespace {

// Rows into an array of `slots` rows that begins `shift` bytes after a cache line. With `twice` one target or many are
// repeated.
struct Rows {
  Rows(int64_t unit, int64_t slots, int64_t n, int64_t shift, IndexType type, bool twice, Random& random)
      : shift_(shift) {
    plan.item = 1;
    plan.unit = unit;
    plan.space = Space(Dims{n}, kIndex + 1);
    plan.space.stride(kDense, 0) = unit;
    plan.space.stride(kIndex, 0) = index_size(type);
    IndexArray array;
    array.type = type;
    array.extent = slots;
    array.step = unit;
    plan.index.push_back(array);
    plan.result_shape = plan.index_shape = Dims{n};
    plan.index_space = plan.space;
    plan.finish();

    std::vector<int64_t> places(static_cast<std::size_t>(slots));
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), std::mt19937(static_cast<unsigned>(random.from(0, 1 << 30))));
    for (int64_t times = !twice ? 0 : random.chance(50) ? 1 : n; times > 0; --times) {
      const int64_t later = random.from(1, n - 1);
      places[static_cast<std::size_t>(later)] = places[static_cast<std::size_t>(random.from(0, later - 1))];
    }
    index.resize(static_cast<std::size_t>(n * index_size(type)));
    for (int64_t k = 0; k < n; ++k) {
      const int64_t place = places[static_cast<std::size_t>(k)];
      const bool from_end = index_is_signed(type) && random.chance(30);
      store(index.data() + k * index_size(type), type, from_end ? place - slots : place);
    }
    values.resize(static_cast<std::size_t>(n * unit));
    random.fill(values);
    table.resize(static_cast<std::size_t>(slots * unit));
    random.fill(table);
    memory.resize(table.size() + 3 * kGuard);
    random.fill(memory);
  }

  std::byte* target() {
    const auto address = reinterpret_cast<uint64_t>(memory.data());
    return memory.data() + kGuard - address % kGuard + static_cast<uint64_t>(shift_);
  }
  Buffers buffers() {
    Buffers buffers;
    buffers.dense = values.data();
    buffers.indexed = target();
    buffers.index.push_back(index.data());
    return buffers;
  }
  Bytes expected() {
    Bytes all = table;
    Buffers other = buffers();
    other.indexed = all.data();
    naive(plan, other, Direction::scatter);
    return all;
  }
  // Runs on memory that holds the target's values, or that the run itself fills from a base.
  bool runs(const std::string& level, const RunSetup& setup, bool in_place) {
    const Bytes before = memory;
    const auto size = static_cast<std::ptrdiff_t>(table.size());
    if (in_place) std::copy(table.begin(), table.end(), target());
    Buffers given = buffers();
    if (!in_place) given.base = table.data();
    if (!in_place) given.base_bytes = size;
    const RunOptions options{setup.threads, nullptr};
    const Outcome outcome =
        cpu::move_with(*cpu::kernels_of(level), setup.tuning, plan, given, Direction::scatter, options);
    const auto begin = target() - memory.data();
    const bool same = std::equal(target(), target() + size, expected().begin());
    const bool guarded = std::equal(before.begin(), before.begin() + begin, memory.begin()) &&
                         std::equal(before.begin() + begin + size, before.end(), memory.begin() + begin + size);
    memory = before;
    return outcome == Outcome::done && same && guarded;
  }

  Plan plan;
  Bytes index;
  Bytes values;
  Bytes table;
  Bytes memory;

 private:
  int64_t shift_;
};

}  // namespace

TEST_CASE("rows of any length get to their targets, whether or not two of them meet") {
  Random random(22);
  for (const std::string& level : levels()) {
    for (RunSetup setup : run_setups()) {
      setup.tuning.round_points = random.from(50, 700);  // marks in several rounds
      for (const int64_t unit : {1, 4, 16, 17, 24, 32, 64, 100, 128, 192, 520}) {
        for (int variant = 0; variant < 8; ++variant) {
          const int64_t slots = random.pick<int64_t>({2, 63, 64, 65, 127, 128, 129, 500, 1200});
          const int64_t n = random.chance(30) ? slots : random.from(2, slots);
          const int64_t shift = random.pick<int64_t>({0, 0, 16, 1});
          const IndexType type = slots < 128 ? static_cast<IndexType>(random.from(0, 7))
                                             : random.pick<IndexType>({IndexType::i32, IndexType::i64, IndexType::u16});
          const bool twice = random.chance(40);
          Rows rows(unit, slots, n, shift, type, twice, random);
          INFO(level << ", " << setup.name << ", unit " << unit << ", " << n << " of " << slots << ", twice " << twice);
          REQUIRE(rows.runs(level, setup, true));
          REQUIRE(rows.runs(level, setup, false));
        }
      }
    }
  }
}

TEST_CASE("a base comes first wherever points write: masked, dropped, along an axis, or none at all") {
  Random random(23);
  for (const std::string& level : levels()) {
    for (const RunSetup& setup : run_setups()) {
      for (int round = 0; round < 40; ++round) {
        CaseSpec spec;
        spec.direction = Direction::scatter;
        spec.item = random.pick<int64_t>({1, 4, 20, 64, 100});
        spec.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::clip});
        spec.bad = spec.rule.bounds != Bounds::raise;
        spec.masked = random.chance(40);
        spec.plain = random.chance(60);
        spec.anchored = random.chance(50);
        spec.extent = round == 0 ? Dims{0} : Dims{random.from(1, 6), random.from(1, 200)};
        Case test = make_case(spec, random);
        if (indexed_span(test.plan).low != 0) continue;
        const Bytes before = test.indexed.bytes;
        const bool good = naive(test.plan, test.buffers(), Direction::scatter);
        const Bytes expected = test.indexed.bytes;
        test.indexed.bytes = before;
        const auto begin = test.indexed.bytes.begin() + kGuard;
        const Bytes base(begin, test.indexed.bytes.end() - kGuard);
        std::fill(begin, test.indexed.bytes.end() - kGuard, std::byte{0x5A});
        Buffers given = test.buffers();
        given.base = base.data();
        given.base_bytes = static_cast<int64_t>(base.size());
        const RunOptions options{setup.threads, nullptr};
        INFO(level << ", " << setup.name << ", item " << spec.item << ", round " << round);
        const Outcome outcome =
            cpu::move_with(*cpu::kernels_of(level), setup.tuning, test.plan, given, Direction::scatter, options);
        REQUIRE((outcome == Outcome::done) == good);
        if (good) REQUIRE((test.indexed.bytes == expected));
      }
    }
  }
}

TEST_CASE("the first duplicate is that of a look at one point after the other") {
  Random random(24);
  for (const std::string& level : levels()) {
    for (const RunSetup& setup : run_setups()) {
      for (int round = 0; round < 60; ++round) {
        const int64_t unit = random.pick<int64_t>({1, 2, 3, 4, 8, 16, 24, 100});
        const int64_t slots = random.pick<int64_t>({2, 64, 65, 127, 500, 3000});
        const int64_t n = random.chance(50) ? slots : random.from(2, slots);
        Rows rows(unit, slots, n, random.from(0, 1), random.pick<IndexType>({IndexType::i16, IndexType::i64}),
                  random.chance(50), random);
        cpu::Tuning tuning = setup.tuning;
        tuning.min_chunk_points = random.pick<int64_t>({1, 1, 4000});
        const RunOptions options{setup.threads, nullptr};
        const auto expected = first_duplicate(rows.plan, rows.buffers());
        const auto found =
            cpu::first_duplicate_with(*cpu::kernels_of(level), tuning, rows.plan, rows.buffers(), options);
        INFO(level << ", " << setup.name << ", unit " << unit << ", " << n << " of " << slots);
        REQUIRE(found.has_value() == expected.has_value());
        if (!found) continue;
        REQUIRE(found->first == expected->first);
        REQUIRE(found->second == expected->second);
      }
      for (int round = 0; round < 20; ++round) {
        CaseSpec spec;
        spec.direction = Direction::scatter;
        spec.item = random.pick<int64_t>({1, 4, 20});
        spec.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::clip});
        spec.bad = spec.rule.bounds != Bounds::raise;
        spec.masked = random.chance(40);
        spec.arrays = random.chance(80) ? 1 : 2;
        spec.extent = Dims{random.from(1, 6), random.from(1, 200)};
        Case test = make_case(spec, random);
        cpu::Tuning tuning = setup.tuning;
        tuning.min_chunk_points = 1;
        const auto expected = first_duplicate(test.plan, test.buffers());
        const auto found = cpu::first_duplicate_with(*cpu::kernels_of(level), tuning, test.plan, test.buffers(),
                                                     RunOptions{setup.threads, nullptr});
        REQUIRE(found.has_value() == expected.has_value());
        if (found) REQUIRE(found->second == expected->second);
      }
    }
  }
}
