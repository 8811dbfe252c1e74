// test_rows.cpp: gathers of rows near every threshold of their kernel, with arrays at any alignment.
#include "cpu_cases.h"

using namespace gs;
using namespace gs::test;

namespace {

// An array of `size` bytes that begins a given number of bytes after a cache line.
Array array_at(int64_t size, int64_t behind, Random& random) {
  Array array = make_array({64, size + 64}, random);
  const auto begin = reinterpret_cast<uintptr_t>(array.bytes.data());
  array.origin = kGuard + static_cast<int64_t>((behind - static_cast<int64_t>((begin + kGuard) % 64) + 64) % 64);
  return array;
}

struct Rows {
  int64_t unit;
  int64_t count;
  IndexType type = IndexType::i64;
  Rule rule = {};
  int64_t extent = 47;
  int64_t target_behind = 0;
  int64_t table_behind = 0;
};

Case make_rows(const Rows& rows, Random& random) {
  CaseSpec spec;
  spec.item = rows.unit;
  spec.plain = true;
  spec.anchored = true;
  spec.type = rows.type;
  spec.rule = rows.rule;
  spec.extent = Dims{rows.count};
  Case test = make_case(spec, random);
  test.plan.index[0].extent = rows.extent;
  test.plan.index[0].step = rows.unit;
  test.dense = array_at(rows.unit * rows.count, rows.target_behind, random);
  test.indexed = array_at(rows.unit * rows.extent, rows.table_behind, random);
  const bool outside = rows.rule.bounds == Bounds::clip || rows.rule.bounds == Bounds::fill;
  for (int64_t k = 0; k < rows.count; ++k) {
    store(test.index[0].data() + k * index_size(rows.type), rows.type,
          choose_value(rows.type, rows.extent, rows.rule, outside, random));
  }
  return test;
}

const std::vector<int64_t> kUnits = {17,   31,   48,   63,   64,   65,   100,  127,  128,  192,  255,  256,
                                     257,  511,  512,  960,  1000, 1023, 1024, 1025, 1088, 1536, 2047, 2048,
                                     2049, 2112, 4032, 4095, 4096, 4097, 4160, 6000, 8192, 8200};

// Checks that every level and path gives the oracle's result.
void check_everywhere(Case& test, const std::string& what) {
  for (const std::string& level : levels()) {
    for (const RunSetup& setup : run_setups()) {
      if (!agrees(test, Direction::gather, level, setup)) FAIL(level << ", " << setup.name << ", " << what);
    }
  }
  SUCCEED("all agree");
}

std::string described(const Rows& rows) {
  return "unit " + std::to_string(rows.unit) + ", " + std::to_string(rows.count) + " rows of " + index_name(rows.type) +
         ", bounds " + std::to_string(static_cast<int>(rows.rule.bounds)) + ", target " +
         std::to_string(rows.target_behind) + " bytes behind a line, table " + std::to_string(rows.table_behind);
}

}  // namespace

TEST_CASE("rows of every length, wherever target and table begin, on every path") {
  Random random(31);
  for (const int64_t unit : kUnits) {
    for (const int64_t behind : {0, 1, 16, 63}) {
      Rows rows{unit, random.pick<int64_t>({1, 2, 15, 16, 17, 63, 64, 65, 100})};
      rows.type = static_cast<IndexType>(random.from(0, 7));
      rows.target_behind = behind;
      rows.table_behind = random.pick<int64_t>({0, 0, 4, 33});
      Case test = make_rows(rows, random);
      check_everywhere(test, described(rows));
    }
  }
}

TEST_CASE("numbers of rows around the blocks and the rows that are fetched ahead") {
  Random random(32);
  for (const int64_t unit : {20, 64, 100, 256, 1024}) {
    for (const int64_t count :
         {1, 11, 12, 13, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256, 257, 300}) {
      Rows rows{unit, count};
      rows.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::clip, Bounds::fill, Bounds::deferred});
      rows.target_behind = random.pick<int64_t>({0, 0, 16});
      Case test = make_rows(rows, random);
      check_everywhere(test, described(rows));
    }
  }
}

TEST_CASE("runs of rows that follow each other, between rows that do not") {
  Random random(33);
  for (const int64_t unit : {48, 64, 100, 1500, 2100}) {
    for (const int64_t begin : {0, 100, 128}) {
      Rows rows{unit, 500};
      rows.extent = 300;
      rows.target_behind = random.pick<int64_t>({0, 4});
      Case test = make_rows(rows, random);
      for (int64_t k = begin; k < begin + 256; ++k) {
        store(test.index[0].data() + 8 * k, IndexType::i64, k - begin + 7);
      }
      check_everywhere(test, described(rows) + ", a run from " + std::to_string(begin) + " on");
    }
  }
}

TEST_CASE("one bad index among rows stops the run wherever it is") {
  Random random(34);
  for (const int64_t unit : {64, 100, 2100}) {
    Case test = make_rows({unit, 300}, random);
    const Bytes good = test.index[0].bytes;
    for (const int64_t at : {0, 63, 64, 127, 128, 255, 299}) {
      for (const int64_t value : {int64_t{47}, int64_t{-48}, INT64_MIN}) {
        test.index[0].bytes = good;
        store(test.index[0].data() + 8 * at, IndexType::i64, value);
        for (const std::string& level : levels()) {
          for (const RunSetup& setup : run_setups()) {
            RunOptions options;
            options.threads = setup.threads;
            INFO(level << ", " << setup.name << ", unit " << unit << ", at " << at << ", value " << value);
            const Outcome outcome = cpu::move_with(*cpu::kernels_of(level), setup.tuning, test.plan, test.buffers(),
                                                   Direction::gather, options);
            if (outcome != Outcome::bad_index) FAIL("accepted");
          }
        }
      }
    }
  }
  SUCCEED("all refused");
}
