// test_repeat_positions.cpp: positions repeated by counts are those of a loop, and nothing is written beside them.
#include <cstring>
#include <vector>

#include "catch.h"
#include "core/repeat_positions.h"
#include "cpu_cases.h"

using namespace gs;
using namespace gs::test;

namespace {

template <class Position>
void check(const std::vector<int64_t>& counts, int64_t first) {
  std::vector<Position> expected;
  for (size_t j = 0; j < counts.size(); ++j) {
    expected.insert(expected.end(), static_cast<size_t>(counts[j]),
                    static_cast<Position>(first + static_cast<int64_t>(j)));
  }
  constexpr Position kGuardValue = 77;
  std::vector<Position> found(expected.size() + 16, kGuardValue);
  const auto n = static_cast<int64_t>(counts.size());
  const auto total = static_cast<int64_t>(expected.size());
  REQUIRE(sum_of_counts(counts.data(), n) == total);
  repeat_positions(counts.data(), first, n, total, reinterpret_cast<std::byte*>(found.data()), sizeof(Position));
  expected.resize(found.size(), kGuardValue);
  REQUIRE(found == expected);
}

}  // namespace

TEST_CASE("positions are repeated as often as their counts say") {
  Random random(3);
  for (const int64_t most : {0, 1, 3, 8, 9, 40}) {
    for (const int n : {0, 1, 2, 7, 8, 9, 100}) {
      std::vector<int64_t> counts(static_cast<size_t>(n));
      for (int64_t& count : counts) count = random.from(0, most);
      check<uint8_t>(counts, 3);
      check<uint16_t>(counts, 60000);
      check<uint32_t>(counts, int64_t{3} << 30);
      check<uint64_t>(counts, int64_t{1} << 40);
    }
  }
}

TEST_CASE("counts that are negative or too many have no sum") {
  const std::vector<int64_t> negative = {1, 2, -1, 5};
  REQUIRE(sum_of_counts(negative.data(), 4) == kNegativeCount);
  REQUIRE(sum_of_counts(negative.data(), 2) == 3);
  const std::vector<int64_t> huge = {INT64_MAX, 1};
  REQUIRE(sum_of_counts(huge.data(), 2) == kTooManyCounts);
  REQUIRE(sum_of_counts(huge.data(), 1) == INT64_MAX);
}
