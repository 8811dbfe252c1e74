// test_decoded_runs.cpp: the run of each row of a run-end encoded piece, written down, compared with a walk through the
// runs.
#include <random>

#include "catch.h"
#include "reference.h"
#include "run_arrays.h"
#include "table/decoded_runs.h"

using namespace gs;
using namespace gs::table;
using test::encoded_runs;

namespace {

template <class End>
void check_all_rows(const std::vector<End>& ends, int64_t offset, int64_t length) {
  const Array array = encoded_runs(ends, 3);
  for (const table::Sharing& sharing : test::run_sharings()) {
    const Scratch<uint32_t> runs = decode_runs<End>(sharing, {&array, offset, length});
    REQUIRE(runs.get() != nullptr);
    uint32_t run = 0;
    for (int64_t row = 0; row < length; ++row) {
      while (ends[run] <= offset + row) ++run;
      REQUIRE(runs[row] == run);
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("the runs of all rows are those of a walk", "[decoded_runs]", int16_t, int32_t, int64_t) {
  std::mt19937_64 random(5);
  for (const int64_t longest : {1, 2, 9, 16, 17, 40, 500, 20000}) {
    std::vector<TestType> ends;
    int64_t end = 0;
    while (end < 25000) {  // more than one work chunk
      end += std::uniform_int_distribution<int64_t>(1, longest)(random);
      if (end <= 32000) ends.push_back(static_cast<TestType>(end));
    }
    const int64_t rows = ends.back();
    for (const int64_t offset : {int64_t{0}, int64_t{1}, rows / 2, rows - 1}) {
      for (const int64_t length : {int64_t{1}, int64_t{15}, int64_t{16}, int64_t{17}, int64_t{100}, rows}) {
        check_all_rows(ends, offset, std::min(length, rows - offset));
      }
    }
  }
  check_all_rows<TestType>({30000}, 0, 30000);
}

TEST_CASE("run ends that do not ascend, or do not reach the last row, have no column of runs", "[decoded_runs]") {
  for (const table::Sharing& sharing : test::run_sharings()) {
    for (const std::vector<int32_t>& ends : {std::vector<int32_t>{5, 5, 9}, {7, 3, 9}, {3, -1, 9}, {1, 2, 8}, {}}) {
      const Array array = encoded_runs(ends, 2);
      REQUIRE(decode_runs<int32_t>(sharing, {&array, 0, 9}).get() == nullptr);
    }
    for (const int64_t least :
         {INT64_MIN, int64_t{-3}}) {  // a slice: its first row less than such an end would overflow
      const Array array = encoded_runs<int64_t>({3, least, 9}, 2);
      REQUIRE(decode_runs<int64_t>(sharing, {&array, 1, 8}).get() == nullptr);
    }
    const Array array = encoded_runs<int32_t>({4}, 0);
    REQUIRE(decode_runs<int32_t>(sharing, {&array, 0, 0}).get() == nullptr);  // no rows
  }
}

TEST_CASE("run ends in any order give runs of the array, or none", "[decoded_runs]") {
  std::mt19937_64 random(6);
  for (int round = 0; round < 200; ++round) {
    std::vector<int32_t> ends(static_cast<std::size_t>(std::uniform_int_distribution<int>(1, 3000)(random)));
    int32_t end = 0;
    for (int32_t& one : ends) one = end += std::uniform_int_distribution<int32_t>(round % 2 == 0 ? -1 : 1, 30)(random);
    if (round % 3 == 0) ends[ends.size() / 2] = -1;
    const Array array = encoded_runs(ends, 0);
    const int64_t rows = std::max<int64_t>(end / 2, 1);
    const Scratch<uint32_t> runs = decode_runs<int32_t>(test::run_sharings()[round % 2], {&array, 10, rows});
    for (int64_t row = 0; runs.get() != nullptr && row < rows; ++row) {
      REQUIRE(runs[row] < ends.size());
      REQUIRE(ends[runs[row]] > 10 + row);
    }
  }
}
