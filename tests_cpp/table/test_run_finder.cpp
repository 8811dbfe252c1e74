// test_run_finder.cpp: the run of each row of a run-end encoded piece, compared with a walk through the runs.
#include <random>

#include "catch.h"
#include "reference.h"
#include "run_arrays.h"
#include "table/run_finder.h"

using namespace gs;
using namespace gs::table;
using test::encoded_runs;
using test::run_sharings;

namespace {

template <class End>
void check_all_rows(const std::vector<End>& ends, int64_t offset, int64_t length) {
  const Array array = encoded_runs(ends, 3);
  const Piece piece{&array, offset, length};
  for (const table::Sharing& sharing : run_sharings()) {
    for (const bool has_table : {false, true}) {
      const RunFinder<End> finder(sharing, piece, has_table);
      int64_t run = 0;
      for (int64_t row = 0; row < length; ++row) {
        while (ends[static_cast<std::size_t>(run)] <= offset + row) ++run;
        REQUIRE(finder.find(row) == run);
        REQUIRE(finder.begin(run) <= row);
        REQUIRE(finder.end(run) > row);
      }
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("the run of a row is the first one that ends behind it", "[run_finder]", int16_t, int32_t, int64_t) {
  std::mt19937_64 random(5);
  for (const int64_t longest : {1, 2, 9, 500}) {
    std::vector<TestType> ends;
    int64_t end = 0;
    while (true) {
      end += std::uniform_int_distribution<int64_t>(1, longest)(random);
      if (end > 30000) break;
      ends.push_back(static_cast<TestType>(end));
    }
    const int64_t rows = ends.back();
    for (const int64_t offset : {int64_t{0}, int64_t{1}, rows / 2, rows - 1}) {
      for (const int64_t length : {int64_t{1}, int64_t{100}, rows}) {
        check_all_rows(ends, offset, std::min(length, rows - offset));
      }
    }
  }
  check_all_rows<TestType>({30000}, 0, 30000);
  check_all_rows<TestType>({1, 2, 3, 29000, 29001}, 0, 29001);  // buckets of very different numbers of runs
}

TEST_CASE("run ends beyond memory are found", "[run_finder]") {
  const std::vector<int64_t> ends = {1, int64_t{1} << 40, (int64_t{1} << 40) + 1, int64_t{1} << 46};
  const Array array = encoded_runs(ends, 0);
  const Piece piece{&array, 0, ends.back()};
  for (const bool has_table : {false, true}) {
    const RunFinder<int64_t> finder(run_sharings()[1], piece, has_table);
    for (std::size_t run = 0; run < ends.size(); ++run) {
      REQUIRE(finder.find(ends[run] - 1) == static_cast<int64_t>(run));
      if (run + 1 < ends.size()) REQUIRE(finder.find(ends[run]) == static_cast<int64_t>(run) + 1);
    }
  }
}

TEST_CASE("run ends in any order give a run that ends behind the row, or none", "[run_finder]") {
  std::mt19937_64 random(6);
  for (int round = 0; round < 50; ++round) {
    std::vector<int32_t> ends(static_cast<std::size_t>(std::uniform_int_distribution<int>(1, 3000)(random)));
    for (int32_t& end : ends) end = std::uniform_int_distribution<int32_t>(-50, 40000)(random);
    const Array array = encoded_runs(ends, 0);
    for (const bool has_table : {false, true}) {
      const RunFinder<int32_t> finder(run_sharings()[round % 2], {&array, 10, 30000}, has_table);
      for (int64_t row = 0; row < 30000; row += 7) {
        const int64_t run = finder.find(row);
        REQUIRE(run >= -1);
        REQUIRE(run < static_cast<int64_t>(ends.size()));
        if (run >= 0) REQUIRE(ends[static_cast<std::size_t>(run)] > 10 + row);
      }
    }
  }
}

TEST_CASE("a piece without rows or runs", "[run_finder]") {
  const Array array = encoded_runs<int32_t>({}, 0);
  REQUIRE(RunFinder<int32_t>(run_sharings()[0], {&array, 0, 0}, true).runs() == 0);
}
