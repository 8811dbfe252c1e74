// test_overlay.cpp: the rows of an overlay, one by one and in runs, compared with a list of rows.
#include <random>
#include <utility>
#include <vector>

#include "catch.h"
#include "table/overlay.h"

using namespace gs;
using table::Overlay;

namespace {

// An overlay of random rows, and for each row its piece and its row in the piece.
struct Case {
  std::vector<std::pair<int32_t, int64_t>> rows;
  std::vector<bool> is_replaced;
  std::vector<uint64_t> replaced;
  std::vector<int64_t> before;
  std::vector<uint16_t> place;
  std::vector<uint32_t> row;
  std::vector<uint32_t> piece;
  std::vector<int64_t> begin = {0};
  Overlay overlay;
};

Case make(int64_t rows, int percent, std::mt19937_64& random) {
  const auto from = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Case made;
  // The target has pieces 1, 2, .. in the overlay; the new rows are in piece 0.
  while (made.begin.back() < rows) made.begin.push_back(std::min(rows, made.begin.back() + from(1, 3000)));
  if (rows == 0) made.begin.push_back(0);
  made.replaced.resize(static_cast<size_t>(rows / 64 + 1));
  int64_t new_row = 0;
  for (int64_t i = 0; i < rows; ++i) {
    if (i % Overlay::kBlock == 0) made.before.push_back(static_cast<int64_t>(made.row.size()));
    const bool is_new = from(1, 100) <= percent;
    made.is_replaced.push_back(is_new);
    if (is_new) {
      new_row = from(0, 2) == 0 ? from(0, 1000) : new_row + 1;  // many new rows follow each other
      made.replaced[static_cast<size_t>(i / 64)] |= uint64_t{1} << (i % 64);
      made.place.push_back(static_cast<uint16_t>(i % Overlay::kBlock));
      made.row.push_back(static_cast<uint32_t>(new_row));
      made.piece.push_back(0);
      made.rows.emplace_back(0, new_row);
    } else {
      const auto part = std::upper_bound(made.begin.begin(), made.begin.end(), i) - made.begin.begin() - 1;
      made.rows.emplace_back(static_cast<int32_t>(part) + 1, i - made.begin[static_cast<size_t>(part)]);
    }
  }
  made.before.push_back(static_cast<int64_t>(made.row.size()));
  return made;
}

Overlay view_of(const Case& made) {
  Overlay overlay;
  overlay.replaced = made.replaced.data();
  overlay.before = made.before.data();
  overlay.place = made.place.data();
  overlay.row = made.row.data();
  overlay.piece = made.piece.data();
  overlay.begin = made.begin.data();
  overlay.first = 1;
  overlay.last = static_cast<int32_t>(made.begin.size());
  return overlay;
}

}  // namespace

TEST_CASE("the order of a row counts the replaced rows before it, and next finds the next one", "[overlay]") {
  std::mt19937_64 random(3);
  for (const int64_t rows : {1, 63, 64, 65, 4095, 4096, 4097, 9000}) {
    for (const int percent : {0, 1, 30, 100}) {
      const Case made = make(rows, percent, random);
      const Overlay overlay = view_of(made);
      int64_t order = 0;
      for (int64_t i = 0; i < rows; ++i) {
        REQUIRE(overlay.order(i) == order);
        order += made.is_replaced[static_cast<size_t>(i)] ? 1 : 0;
      }
      int64_t next = rows;
      for (int64_t i = rows; i-- > 0;) {
        if (made.is_replaced[static_cast<size_t>(i)]) next = i;
        REQUIRE(overlay.next(i, rows) == next);
        const int64_t end = i + (rows - i) / 2;
        REQUIRE(overlay.next(i, end) == std::min(next, end));
      }
    }
  }
}

TEST_CASE("the runs of an overlay are its rows in order, from any row to any other", "[overlay]") {
  std::mt19937_64 random(5);
  for (const int64_t rows : {0, 1, 64, 100, 4096, 9000}) {
    for (const int percent : {0, 1, 30, 90, 100}) {
      const Case made = make(rows, percent, random);
      const Overlay overlay = view_of(made);
      for (int round = 0; round < 40; ++round) {
        int64_t begin = round == 0 ? 0 : std::uniform_int_distribution<int64_t>(0, rows)(random);
        int64_t end = round == 0 ? rows : std::uniform_int_distribution<int64_t>(0, rows)(random);
        if (begin > end) std::swap(begin, end);
        int64_t at = begin;
        bool same = true;
        overlay.for_each_run(begin, end, [&](int32_t piece, int64_t start, int64_t row, int64_t length) {
          same = same && row == at && length > 0;
          for (int64_t k = 0; k < length; ++k) {
            same = same && made.rows[static_cast<size_t>(at + k)] == std::make_pair(piece, start + k);
          }
          at += length;
        });
        INFO(rows << " rows, " << percent << " percent replaced, " << begin << " to " << end);
        REQUIRE(same);
        REQUIRE(at == end);
      }
    }
  }
}

TEST_CASE("the base of an overlay is the target's rows, replaced or not", "[overlay]") {
  std::mt19937_64 random(7);
  const Case made = make(9000, 50, random);
  const Overlay overlay = view_of(made);
  int64_t at = 10;
  overlay.for_each_base(10, 8990, [&](int32_t piece, int64_t start, int64_t row, int64_t length) {
    REQUIRE(row == at);
    REQUIRE(made.begin[static_cast<size_t>(piece - 1)] + start == at);
    REQUIRE(at + length <= made.begin[static_cast<size_t>(piece)]);
    at += length;
  });
  REQUIRE(at == 8990);
}

TEST_CASE("new rows of one piece need no piece numbers, and one new row needs no row numbers", "[overlay]") {
  std::mt19937_64 random(9);
  for (const bool one_row : {false, true}) {
    const Case made = make(5000, 30, random);
    Overlay overlay = view_of(made);
    overlay.piece = nullptr;
    overlay.source = 7;
    if (one_row) overlay.row = nullptr;
    int64_t k = 0;
    overlay.for_each_run(0, 5000, [&](int32_t piece, int64_t start, int64_t row, int64_t length) {
      for (int64_t i = row; i < row + length; ++i, ++start) {
        if (!made.is_replaced[static_cast<size_t>(i)]) continue;
        REQUIRE(piece == 7);
        REQUIRE(start == (one_row ? 0 : int64_t{made.row[static_cast<size_t>(k)]}));
        ++k;
      }
    });
    REQUIRE(k == static_cast<int64_t>(made.row.size()));
  }
}
