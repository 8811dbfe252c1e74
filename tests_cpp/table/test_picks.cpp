// test_picks.cpp: the runs of rows that are given by numbers and by ranges, compared with a list of rows.
#include <random>
#include <tuple>
#include <utility>

#include "catch.h"
#include "table/picks.h"

using namespace gs;
using namespace gs::table;

namespace {

using Rows = std::vector<std::pair<int32_t, int64_t>>;  // piece and row in the piece of each row; kMissing and 0

// The rows [begin, end) from the runs, after checks that the runs follow each other.
Rows rows_of(const Picks& picks, int64_t begin, int64_t end, int64_t* runs = nullptr) {
  Rows rows;
  int64_t at = begin;
  for_each_run(picks, begin, end, [&](int32_t piece, int64_t start, int64_t row, int64_t length) {
    REQUIRE(row == at);
    REQUIRE(length > 0);
    for (int64_t k = 0; k < length; ++k) rows.emplace_back(piece, piece == kMissing ? 0 : start + k);
    at += length;
    if (runs != nullptr) ++*runs;
  });
  REQUIRE(at == end);
  return rows;
}

Rows part(const Rows& rows, int64_t begin, int64_t end) {
  return {rows.begin() + begin, rows.begin() + end};
}

}  // namespace

TEST_CASE("a list of ranges holds the rows that were added, and merges those that follow each other", "[picks]") {
  std::mt19937_64 random(3);
  const auto from = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    RangeList list;
    RangeList other;
    Rows expected;
    Rows appended;
    for (auto [into, rows] : {std::make_pair(&list, &expected), std::make_pair(&other, &appended)}) {
      int64_t start = 0;
      for (int64_t n = from(0, 30); n > 0; --n) {
        const auto piece = static_cast<int32_t>(from(-1, 2));
        if (from(0, 1) == 0) start = from(0, 50);
        const int64_t length = from(0, 4);
        into->add(piece, piece == kMissing ? 0 : start, length);
        for (int64_t k = 0; k < length; ++k) rows->emplace_back(piece, piece == kMissing ? 0 : start + k);
        start += length;
      }
    }
    list.append(other);
    expected.insert(expected.end(), appended.begin(), appended.end());
    const Picks picks = list.picks();
    const auto count = static_cast<int64_t>(expected.size());
    REQUIRE(list.count() == count);
    REQUIRE(picks.count == count);
    REQUIRE_FALSE(picks.by_rows());
    int64_t missing = 0;
    int64_t breaks = count > 0 ? 1 : 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      missing += expected[i].first == kMissing ? 1 : 0;
      if (i == 0) continue;
      const auto& [piece, row] = expected[i - 1];
      const auto next = piece == kMissing ? expected[i - 1] : std::make_pair(piece, row + 1);
      breaks += expected[i] == next ? 0 : 1;
    }
    REQUIRE(picks.missing == missing);
    int64_t runs = 0;
    REQUIRE(rows_of(picks, 0, count, &runs) == expected);
    REQUIRE(runs == breaks);
    for (int again = 0; again < 5 && count > 0; ++again) {
      const int64_t begin = from(0, count);
      const int64_t end = from(begin, count);
      REQUIRE(rows_of(picks, begin, end) == part(expected, begin, end));
    }
  }
}

TEST_CASE("the count of a list of ranges may not exceed 63 bits", "[picks]") {
  RangeList list;
  list.add(0, 0, INT64_MAX);
  REQUIRE_THROWS_AS(list.add(1, 0, 1), ShapeError);
  REQUIRE(list.count() == INT64_MAX);
}

TEST_CASE("rows by number have runs of neighbours in one piece, and runs of missing rows", "[picks]") {
  std::mt19937_64 random(5);
  const auto from = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 100; ++round) {
    const bool has_chunks = round % 2 == 0;
    const bool has_missing = round % 3 != 0;
    const int64_t count = from(0, 300);
    std::vector<uint32_t> row;
    std::vector<uint32_t> chunk;
    std::vector<uint64_t> valid(static_cast<size_t>(count / 64 + 1));
    Rows expected;
    for (int64_t i = 0; i < count; ++i) {
      const bool exists = !has_missing || from(0, 3) != 0;
      const bool follows = i > 0 && from(0, 2) != 0;
      row.push_back(!exists ? 0 : follows ? row.back() + 1 : static_cast<uint32_t>(from(0, 1000)));
      chunk.push_back(!exists ? 0 : follows ? chunk.back() : static_cast<uint32_t>(from(0, 2)));
      if (exists) valid[static_cast<size_t>(i / 64)] |= uint64_t{1} << (i % 64);
      expected.emplace_back(!exists      ? kMissing
                            : has_chunks ? static_cast<int32_t>(chunk.back())
                                         : 0,
                            exists ? int64_t{row.back()} : 0);
    }
    Picks picks;
    picks.count = count;
    picks.rows = {row.data(), has_chunks ? chunk.data() : nullptr};
    picks.valid = has_missing ? valid.data() : nullptr;
    REQUIRE(picks.by_rows());
    const int64_t begin = from(0, count);
    const int64_t end = from(begin, count);
    REQUIRE(rows_of(picks, 0, count) == expected);
    REQUIRE(rows_of(picks, begin, end) == part(expected, begin, end));
  }
}

TEST_CASE("the lookahead sees each later range that exists once, some ranges before its visit", "[picks]") {
  RangeList list;
  for (int i = 0; i < 80; ++i) list.add(i % 5 == 4 ? kMissing : i % 2, 100 * i, 1 + i % 3);
  const Picks picks = list.picks();
  std::vector<std::tuple<int32_t, int64_t, int64_t>> seen;
  std::vector<std::tuple<int32_t, int64_t, int64_t>> visited;
  for_each_run(
      picks, 0, picks.count,
      [&](int32_t piece, int64_t start, int64_t, int64_t length) {
        if (visited.size() < kRangesAhead || piece == kMissing) {
          visited.emplace_back(kMissing, 0, 0);
        } else {
          visited.emplace_back(piece, start, length);
        }
      },
      [&](int32_t piece, int64_t start, int64_t length) { seen.emplace_back(piece, start, length); });
  std::erase(visited, std::make_tuple(kMissing, int64_t{0}, int64_t{0}));
  REQUIRE(seen.size() > 20);
  REQUIRE(seen == visited);
}
