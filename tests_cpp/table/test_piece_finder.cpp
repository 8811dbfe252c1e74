// test_piece_finder.cpp: the piece and the row of each row number, compared with a walk through the pieces.
#include <random>
#include <utility>

#include "catch.h"
#include "table/piece_finder.h"

using namespace gs;
using namespace gs::table;

namespace {

struct Pieced {
  ChunkParts parts;
  int64_t total = 0;
};

// Pieces of these lengths, one behind the other.
Pieced pieces_of(const std::vector<int64_t>& lengths) {
  Pieced made;
  for (const int64_t length : lengths) {
    made.parts.push_back({made.parts.size(), 0, made.total});
    made.total += length;
  }
  return made;
}

std::vector<std::vector<int64_t>> all_lengths() {
  std::mt19937_64 random(3);
  std::vector<std::vector<int64_t>> all = {{1}, {7}, {1, 1}, {5, 1, 9}, {1000, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1000}};
  for (int round = 0; round < 20; ++round) {
    std::vector<int64_t> lengths;
    for (int64_t n = std::uniform_int_distribution<int64_t>(2, 40)(random); n > 0; --n) {
      lengths.push_back(std::uniform_int_distribution<int64_t>(1, round % 2 == 0 ? 5 : 300)(random));
    }
    all.push_back(lengths);
  }
  return all;
}

}  // namespace

TEST_CASE("the part of a row is the last one that begins at or before it", "[piece_finder]") {
  for (const std::vector<int64_t>& lengths : all_lengths()) {
    const Pieced made = pieces_of(lengths);
    const PieceFinder finder(made.parts, made.total);
    int64_t row = 0;
    for (size_t part = 0; part < lengths.size(); ++part) {
      for (int64_t k = 0; k < lengths[part]; ++k) REQUIRE(finder.find(row++) == static_cast<int>(part));
    }
  }
}

TEST_CASE("rows of huge pieces are found", "[piece_finder]") {
  const Pieced made = pieces_of({kMostPieceRows, kMostPieceRows, 5, kMostPieceRows});
  const PieceFinder finder(made.parts, made.total);
  for (int part = 0; part < 4; ++part) {
    const int64_t begin = made.parts[part].begin;
    REQUIRE(finder.find(begin) == part);
    if (part > 0) REQUIRE(finder.find(begin - 1) == part - 1);
  }
  REQUIRE(finder.find(made.total - 1) == 3);
}

TEST_CASE("row numbers are written as rows of pieces, into the arrays that the selection has", "[piece_finder]") {
  const Pieced made = pieces_of({3, 1, 4});
  const PieceFinder finder(made.parts, made.total);
  const std::vector<int64_t> number = {7, 0, 3, 2, 4, 7};
  std::vector<uint32_t> row(8, 99);
  std::vector<uint32_t> chunk(8, 99);
  std::vector<uint32_t> among_all(8, 99);
  finder.write({row.data(), chunk.data(), among_all.data()}, number.data(), 6, 1);
  REQUIRE(row == std::vector<uint32_t>{99, 3, 0, 0, 2, 0, 3, 99});
  REQUIRE(chunk == std::vector<uint32_t>{99, 2, 0, 1, 0, 2, 2, 99});
  REQUIRE(among_all == std::vector<uint32_t>{99, 7, 0, 3, 2, 4, 7, 99});

  const Pieced one = pieces_of({8});
  const PieceFinder plain(one.parts, one.total);
  plain.write({row.data(), nullptr, nullptr}, number.data(), 6, 0);
  REQUIRE(row == std::vector<uint32_t>{7, 0, 3, 2, 4, 7, 3, 99});
}

TEST_CASE("a range of rows is added piece by piece", "[piece_finder]") {
  for (const std::vector<int64_t>& lengths : all_lengths()) {
    const Pieced made = pieces_of(lengths);
    const PieceFinder finder(made.parts, made.total);
    for (const auto& [first, last] : {std::make_pair(int64_t{0}, made.total), {made.total / 3, made.total / 2 + 1}}) {
      RangeList list;
      finder.add(first, last - first, list);
      REQUIRE(list.count() == last - first);
      int64_t row = first;
      for_each_run(list.picks(), 0, last - first, [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
        REQUIRE(at == row - first);
        REQUIRE(made.parts[piece].begin + start == row);
        row += length;
      });
      REQUIRE(row == last);
    }
  }
}
