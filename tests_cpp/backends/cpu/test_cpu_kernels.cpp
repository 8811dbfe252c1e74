// test_cpu_kernels.cpp: all kernels of all instruction set levels, compared with a loop over points.
#include <sys/mman.h>

#include <atomic>

#include "backends/cpu/column_tiles.h"
#include "cpu_cases.h"
#include "host/host_info.h"

using namespace gs;
using namespace gs::test;

TEST_CASE("every unit, index type, rule, mask, fill and direction agrees with the oracle on every level") {
  const std::vector<std::pair<int64_t, int64_t>> units = {{0, 1},  {1, 1}, {2, 1},  {3, 1},  {4, 1},    {8, 1}, {4, 3},
                                                          {16, 1}, {8, 3}, {64, 1}, {4, 25}, {4096, 1}, {1, 8}, {2, 8}};
  const std::vector<RunSetup> setups = run_setups();
  for (const std::string& level : levels()) {
    Random random(20240607);
    int64_t runs = 0;
    for (const auto& [item, items] : units) {
      for (int type = 0; type < 8; ++type) {
        for (int bounds = 0; bounds < 6; ++bounds) {
          for (int variant = 0; variant < 16; ++variant) {
            CaseSpec spec;
            spec.item = item;
            spec.items = items;
            spec.type = static_cast<IndexType>(type);
            spec.rule.bounds = static_cast<Bounds>(bounds);
            spec.rule.negative = (variant & 1) != 0 ? Negative::from_end : Negative::out_of_bounds;
            spec.direction = (variant & 2) != 0 ? Direction::gather : Direction::scatter;
            spec.masked = (variant & 4) != 0;
            spec.with_fill = (variant & 8) != 0;
            spec.fill_varies = random.chance(40);
            const bool judged = spec.rule.bounds == Bounds::raise || spec.rule.bounds == Bounds::deferred;
            spec.bad = spec.rule.bounds != Bounds::unchecked && (!judged || random.chance(15));
            spec.plain = random.chance(50);
            spec.arrays = random.chance(75) ? 1 : static_cast<int>(random.from(0, 3));
            spec.folds = spec.arrays == 1 && random.chance(15) ? static_cast<int>(random.from(1, 3)) : 0;
            spec.extent = choose_extent(item * items, random);
            Case test = make_case(spec, random);
            const RunSetup setup = random.pick(setups);
            ++runs;
            if (agrees(test, spec.direction, level, setup)) continue;
            FAIL("level " << level << ", " << setup.name << ", unit " << item << "*" << items << ", "
                          << index_name(spec.type) << ", bounds " << bounds << ", variant " << variant << ", arrays "
                          << spec.arrays << ", folds " << spec.folds << ", kind " << kind_name(test.plan.kind));
          }
        }
      }
    }
    REQUIRE(runs == static_cast<int64_t>(units.size()) * 8 * 6 * 16);
  }
}

TEST_CASE("sizes around every block and chunk edge, on every path") {
  for (const std::string& level : levels()) {
    Random random(7);
    for (const RunSetup& setup : run_setups()) {
      for (const int64_t count :
           {0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1025, 4095, 4096, 4097}) {
        for (const int64_t unit : {1, 2, 4, 8, 16, 12, 32, 48, 96, 100, 128, 256}) {
          CaseSpec spec;
          spec.direction = Direction::scatter;  // these cases work for gathers too
          spec.item = unit;
          spec.plain = true;
          spec.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::clip, Bounds::wrap});
          spec.bad = spec.rule.bounds != Bounds::raise;
          spec.type = random.pick<IndexType>({IndexType::i32, IndexType::i64, IndexType::u8});
          spec.extent = Dims{count};
          Case test = make_case(spec, random);
          INFO(level << ", " << setup.name << ", count " << count << ", unit " << unit);
          if (!agrees(test, Direction::gather, level, setup)) FAIL("gather");
          if (!agrees(test, Direction::scatter, level, setup)) FAIL("scatter");
        }
      }
    }
  }
  SUCCEED("all agree");
}

TEST_CASE("indices that lie side by side give what a loop gives, one outside stops the run") {
  const std::vector<RunSetup> setups = run_setups();
  for (const std::string& level : levels()) {
    Random random(12);
    for (int round = 0; round < 3000; ++round) {
      CaseSpec spec;
      spec.interleaved = true;
      spec.arrays = static_cast<int>(random.from(2, 5));  // five are more than the form takes
      spec.type = static_cast<IndexType>(random.from(0, 7));
      spec.rule.bounds =
          random.pick<Bounds>({Bounds::raise, Bounds::raise, Bounds::deferred, Bounds::clip, Bounds::fill});
      spec.rule.negative = random.chance(70) ? Negative::from_end : Negative::out_of_bounds;
      spec.direction = random.chance(50) ? Direction::gather : Direction::scatter;
      spec.bad = round % 4 == 0;
      spec.plain = random.chance(70);
      spec.masked = random.chance(10);
      spec.item = random.pick<int64_t>({1, 4, 8, 16, 24, 100});
      spec.extent = random.chance(80) ? Dims{random.from(1, 300)} : Dims{random.from(1, 5), random.from(1, 90)};
      Case test = make_case(spec, random);
      const RunSetup setup = random.pick(setups);
      if (agrees(test, spec.direction, level, setup)) continue;
      FAIL("level " << level << ", " << setup.name << ", item " << spec.item << ", " << index_name(spec.type)
                    << ", arrays " << spec.arrays << ", round " << round);
    }
  }
  SUCCEED("all agree");
}

TEST_CASE("sequential, sorted and equal indices take the same answer from the shortcuts") {
  for (const std::string& level : levels()) {
    for (const RunSetup& setup : run_setups()) {
      for (const int64_t unit : {1, 4, 16, 100, 256}) {
        for (const int pattern : {0, 1, 2, 3}) {
          Random random(11);
          CaseSpec spec;
          spec.item = unit;
          spec.plain = true;
          spec.extent = Dims{700};
          spec.anchored = true;
          Case test = make_case(spec, random);
          const int64_t extent = 1500;
          test.plan.index[0].extent = extent;
          test.plan.index[0].step = unit;
          test.indexed = make_array({0, extent * unit}, random);
          for (int64_t k = 0; k < 700; ++k) {
            const int64_t value = pattern == 0   ? k + 3
                                  : pattern == 1 ? 2 * k
                                  : pattern == 2 ? 5
                                                 : (k < 650 ? k : 1499 - k);
            store(test.index[0].data() + 8 * k, IndexType::i64, value);
          }
          INFO(level << ", " << setup.name << ", unit " << unit << ", pattern " << pattern);
          REQUIRE(agrees(test, Direction::gather, level, setup));
          REQUIRE(agrees(test, Direction::scatter, level, setup));
        }
      }
    }
  }
}

TEST_CASE("one bad index anywhere stops the run, unless the mask hides it") {
  for (const std::string& level : levels()) {
    for (const RunSetup& setup : run_setups()) {
      for (const int64_t at : {0, 1, 63, 64, 255, 256, 999}) {
        for (const int64_t value : {int64_t{50}, int64_t{-51}, INT64_MAX, INT64_MIN}) {
          Random random(3);
          CaseSpec spec;
          spec.plain = true;
          spec.masked = true;
          spec.extent = Dims{1000};
          spec.anchored = true;
          Case test = make_case(spec, random);
          test.plan.index[0].extent = 50;
          test.plan.index[0].step = 4;
          test.indexed = make_array({0, 200}, random);
          for (int64_t k = 0; k < 1000; ++k) store(test.index[0].data() + 8 * k, IndexType::i64, k % 50);
          store(test.index[0].data() + 8 * at, IndexType::i64, value);
          RunOptions options;
          options.threads = setup.threads;
          const auto run = [&](const Plan& plan, Direction direction) {
            return cpu::move_with(*cpu::kernels_of(level), setup.tuning, plan, test.buffers(), direction, options);
          };
          INFO(level << ", " << setup.name << ", at " << at << ", value " << value);
          test.mask.data()[at] = std::byte{1};
          REQUIRE(run(test.plan, Direction::gather) == Outcome::bad_index);
          test.mask.data()[at] = std::byte{0};
          REQUIRE(run(test.plan, Direction::gather) == Outcome::done);
          REQUIRE(run(test.plan, Direction::scatter) == Outcome::done);
          Plan bare = test.plan;
          bare.masked = false;
          REQUIRE(run(bare, Direction::gather) == Outcome::bad_index);
          REQUIRE(run(bare, Direction::scatter) == Outcome::bad_index);
        }
      }
    }
  }
}

TEST_CASE("long units are cut into pieces for the threads") {
  for (const std::string& level : levels()) {
    for (const int64_t unit : {(5 << 20) + 12, 300000}) {
      for (const int64_t item : {unit, int64_t{4}}) {
        for (const bool with_fill : {false, true}) {
          Random random(5);
          CaseSpec spec;
          spec.item = item;
          spec.items = unit / item;
          spec.plain = true;
          spec.bad = true;
          spec.with_fill = with_fill;
          spec.rule.bounds = Bounds::fill;
          spec.extent = Dims{3};
          spec.anchored = true;
          Case test = make_case(spec, random);
          test.plan.index[0].extent = 2;
          test.plan.index[0].step = unit;
          test.indexed = make_array({0, 2 * unit}, random);
          for (int64_t k = 0; k < 3; ++k) store(test.index[0].data() + 8 * k, IndexType::i64, k);
          for (const int threads : {1, 3}) {
            RunSetup setup{"threads", {}, threads};
            REQUIRE(agrees(test, Direction::gather, level, setup));
            setup.tuning.stream_bytes = setup.tuning.stream_late_bytes = 1 << 19;
            REQUIRE(agrees(test, Direction::gather, level, setup));
            REQUIRE(agrees(test, Direction::scatter, level, setup));
          }
        }
      }
    }
  }
}

TEST_CASE("offsets beyond 32 bits") {
  const size_t size = (size_t{5} << 31) + 4096;  // reserved address space; three pages are written
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* table = static_cast<std::byte*>(memory);
  Plan plan;
  plan.item = plan.unit = 8;
  plan.space = Space(Dims{3}, 5);
  plan.space.stride(kDense, 0) = 8;
  plan.space.stride(kIndex, 0) = 1;
  plan.index.push_back({IndexType::i8, 0, 6, int64_t{1} << 31});
  plan.index_space = plan.space;
  plan.finish();
  const int8_t index[] = {5, -6, 2};
  for (const int row : {0, 2, 5}) {
    const int64_t value = 1000 + row;
    std::memcpy(table + (int64_t{row} << 31), &value, 8);
  }
  for (const std::string& level : levels()) {
    for (const RunSetup& setup : run_setups()) {
      int64_t result[3] = {};
      Buffers buffers;
      buffers.dense = reinterpret_cast<std::byte*>(result);
      buffers.indexed = table;
      buffers.index.push_back(reinterpret_cast<const std::byte*>(index));
      const Outcome outcome =
          cpu::move_with(*cpu::kernels_of(level), setup.tuning, plan, buffers, Direction::gather, {});
      REQUIRE(outcome == Outcome::done);
      REQUIRE(result[0] == 1005);
      REQUIRE(result[1] == 1000);
      REQUIRE(result[2] == 1002);
    }
  }
  munmap(memory, size);
}

TEST_CASE("more than 2^31 points") {
  Plan plan;  // not in canonical variant, with items of 0 bytes: nothing is moved, but every index is checked
  plan.item = plan.unit = 0;
  plan.space = Space(Dims{(int64_t{1} << 31) + 100}, 5);
  plan.index.push_back({IndexType::i8, 0, 4, 0});
  plan.index_space = plan.space;
  int8_t index = 3;
  Buffers buffers;
  buffers.index.push_back(reinterpret_cast<const std::byte*>(&index));
  RunOptions options;
  options.threads = 2;
  REQUIRE(cpu::backend().move(plan, buffers, Direction::gather, options) == Outcome::done);
  index = 4;
  REQUIRE(cpu::backend().move(plan, buffers, Direction::gather, options) == Outcome::bad_index);
}

TEST_CASE("tables of bytes and words by bytes, for every extent and every value") {
  const bool has = host::has_byte_permutations();
  for (const std::string& level : levels()) {
    Random random(4);
    for (int64_t extent = 1; extent <= 256; ++extent) {
      for (const IndexType type : {IndexType::u8, IndexType::i8}) {
        for (const Bounds bounds : {Bounds::raise, Bounds::fill, Bounds::clip, Bounds::unchecked}) {
          const auto negative = random.chance(50) ? Negative::from_end : Negative::out_of_bounds;
          const int64_t count = random.from(1, 300);
          CaseSpec spec;
          spec.item = random.chance(50) ? 1 : 4;
          spec.type = type;
          spec.rule = {bounds, negative};
          spec.plain = spec.anchored = true;
          spec.with_fill = random.chance(50);
          spec.extent = Dims{count};
          Case test = make_case(spec, random);
          test.plan.index[0].extent = extent;
          test.plan.index[0].step = spec.item;
          test.indexed = make_array({0, extent * spec.item}, random);
          const bool any = bounds == Bounds::fill || bounds == Bounds::clip || random.chance(20);
          for (int64_t k = 0; k < count; ++k) {
            const int64_t value =
                any && bounds != Bounds::unchecked
                    ? random.from(0, 255)
                    : random.from(0, std::min<int64_t>(extent, type == IndexType::i8 ? 128 : 256) - 1);
            store(test.index[0].data() + k, type, value);
          }
          for (const int64_t stream : {int64_t{1}, int64_t{1} << 20}) {
            RunSetup setup{"bytes", {}, 1};
            setup.tuning.byte_tables = has;
            setup.tuning.byte_run = 1;
            setup.tuning.stream_bytes = setup.tuning.stream_late_bytes = stream;
            if (!agrees(test, Direction::gather, level, setup)) {
              FAIL("level " << level << ", items of " << spec.item << ", extent " << extent << ", " << index_name(type)
                            << ", bounds " << static_cast<int>(bounds) << ", count " << count);
            }
          }
        }
      }
    }
  }
  SUCCEED("all agree");
}
