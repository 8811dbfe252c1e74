// test_rows.cpp: gathers of rows around every threshold of their kernel, wherever the arrays begin.
#include "cpu_cases.h"

using namespace gs;
using namespace gs::test;

namespace {

// An array of `size` bytes that begins so many bytes behind a line.
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
  int64_t extent = 97;
  int64_t target_behind = 0;
  int64_t table_behind = 0;
};

Case make_rows(const Rows& rows, Random& random) {
  Wish wish;
  wish.item = rows.unit;
  wish.plain = true;
  wish.anchored = true;
  wish.type = rows.type;
  wish.rule = rows.rule;
  wish.extent = Dims{rows.count};
  Case test = make_case(wish, random);
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

}  // namespace

TEST_CASE("rows of every length, wherever target and table begin, on every path") {
  for (const std::string& level : levels()) {
    Random random(31);
    for (const Way& way : ways()) {
      for (const int64_t unit : kUnits) {
        for (const int64_t behind : {0, 1, 16, 63}) {
          Rows rows{unit, random.pick<int64_t>({1, 2, 15, 16, 17, 63, 64, 65, 100})};
          rows.type = random.pick<IndexType>({IndexType::i32, IndexType::i64, IndexType::u8, IndexType::u16});
          rows.target_behind = behind;
          rows.table_behind = random.pick<int64_t>({0, 0, 4, 33});
          Case test = make_rows(rows, random);
          INFO(level << ", " << way.name << ", unit " << unit << ", " << rows.count << " rows, target " << behind
                     << " bytes behind a line");
          if (!agrees(test, Direction::gather, level, way)) FAIL("gather");
        }
      }
    }
  }
  SUCCEED("all agree");
}

TEST_CASE("numbers of rows around the blocks and the rows that are fetched ahead") {
  for (const std::string& level : levels()) {
    Random random(32);
    for (const Way& way : ways()) {
      for (const int64_t unit : {20, 64, 100, 256, 1024}) {
        for (const int64_t count :
             {1, 11, 12, 13, 47, 48, 49, 63, 64, 65, 127, 128, 129, 191, 192, 193, 255, 256, 257, 300}) {
          Rows rows{unit, count};
          rows.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::clip, Bounds::fill, Bounds::deferred});
          rows.target_behind = random.pick<int64_t>({0, 0, 16});
          Case test = make_rows(rows, random);
          INFO(level << ", " << way.name << ", unit " << unit << ", " << count << " rows, bounds "
                     << static_cast<int>(rows.rule.bounds));
          if (!agrees(test, Direction::gather, level, way)) FAIL("gather");
        }
      }
    }
  }
  SUCCEED("all agree");
}

TEST_CASE("runs of rows that follow each other, between rows that do not") {
  for (const std::string& level : levels()) {
    Random random(33);
    for (const Way& way : ways()) {
      for (const int64_t unit : {48, 64, 100, 1024, 1500, 5000}) {
        for (const int64_t begin : {0, 64, 100, 128, 256}) {
          Rows rows{unit, 500};
          rows.extent = 600;
          rows.target_behind = random.pick<int64_t>({0, 4});
          Case test = make_rows(rows, random);
          for (int64_t k = begin; k < std::min<int64_t>(begin + 256, rows.count); ++k) {
            store(test.index[0].data() + 8 * k, IndexType::i64, k - begin + 7);
          }
          INFO(level << ", " << way.name << ", unit " << unit << ", a run from " << begin << " on");
          if (!agrees(test, Direction::gather, level, way)) FAIL("gather");
        }
      }
    }
  }
  SUCCEED("all agree");
}

TEST_CASE("one bad index among rows stops the run wherever it is") {
  for (const std::string& level : levels()) {
    for (const Way& way : ways()) {
      for (const int64_t unit : {64, 100, 1024, 4100}) {
        for (const int64_t at : {0, 63, 64, 127, 128, 255, 299}) {
          for (const int64_t value : {int64_t{97}, int64_t{-98}, INT64_MAX, INT64_MIN}) {
            Random random(34);
            Case test = make_rows({unit, 300}, random);
            store(test.index[0].data() + 8 * at, IndexType::i64, value);
            INFO(level << ", " << way.name << ", unit " << unit << ", at " << at << ", value " << value);
            if (!agrees(test, Direction::gather, level, way)) FAIL("gather");
          }
        }
      }
    }
  }
  SUCCEED("all agree");
}
