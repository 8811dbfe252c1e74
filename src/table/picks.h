// picks.h: describes the rows of a result by piece and row, in three forms: row numbers, ranges and an overlay.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "backends/table_tuning.h"
#include "core/column_point.h"
#include "core/error.h"
#include "core/small_vector.h"
#include "table/arrow_names.h"
#include "table/overlay.h"

namespace gs::table {

// The rows [offset, offset + length) of one array, counted from the beginning of its buffers.
struct Piece {
  const Array* array;
  int64_t offset;
  int64_t length;
};
using Pieces = SmallVector<Piece, 2>;

inline constexpr int32_t kMissing = -1;  // in place of a piece number: the rows are missing

// The rows from `at` to the next range's `at` of the result are the rows of `piece` from `start` on.
struct RowRange {
  int64_t at;
  int64_t start;
  int32_t piece;
};

// A view of the rows of a result in one of three forms: a row number for each row (each piece then has 1 to 2^31 rows),
// ranges, or an overlay.
struct Picks {
  int64_t count = 0;
  int64_t missing = 0;

  RowNumbers rows;
  const uint32_t* among_all = nullptr;  // row numbers among all pieces; null: one piece, or rows beyond kMostPieceRows
  const uint64_t* valid = nullptr;      // bitmap of the rows that exist, null: all do; missing rows have row number 0

  const RowRange* ranges = nullptr;  // range_count ranges and a last one whose `at` is `count`; null: another form
  int64_t range_count = 0;

  const Overlay* overlay = nullptr;

  bool by_rows() const { return ranges == nullptr && overlay == nullptr; }
  bool exists(int64_t i) const { return valid == nullptr || ((valid[i >> 6] >> (i & 63)) & 1) != 0; }
};

inline constexpr int64_t kMostPieceRows = int64_t{1} << 31;

struct NoLookahead {
  void operator()(int32_t, int64_t, int64_t) const {}
};

// Calls visit(piece, start, at, length) for each run of the rows [begin, end) of the result, in ascending order. A run
// is a group of rows that are contiguous in one piece. If the rows are given as ranges, lookahead(piece, start,
// length) is called for a range kRangesAhead ranges before its visit, so that it can prefetch.
template <class Visit, class Lookahead = NoLookahead>
void for_each_run(const Picks& picks, int64_t begin, int64_t end, Visit visit, Lookahead lookahead = {}) {
  if (picks.overlay != nullptr) return picks.overlay->for_each_run(begin, end, visit);
  if (picks.by_rows()) {
    const uint32_t* const row = picks.rows.row;
    for (int64_t i = begin; i < end;) {
      const bool exists = picks.exists(i);
      const uint32_t chunk = picks.rows.chunk_of(i);
      int64_t j = i + 1;
      if (exists) {
        while (j < end && row[j] == row[i] + static_cast<uint32_t>(j - i) && picks.rows.chunk_of(j) == chunk &&
               picks.exists(j)) {
          ++j;
        }
      } else {
        while (j < end && !picks.exists(j)) ++j;
      }
      visit(exists ? static_cast<int32_t>(chunk) : kMissing, exists ? int64_t{row[i]} : 0, i, j - i);
      i = j;
    }
    return;
  }
  if (begin >= end) return;
  const auto after = [](int64_t at, const RowRange& range) { return at < range.at; };
  const RowRange* range = std::upper_bound(picks.ranges, picks.ranges + picks.range_count, begin, after) - 1;
  const RowRange* const last = picks.ranges + picks.range_count;
  for (int64_t at = begin; at < end; ++range) {
    const RowRange* const next = range + kRangesAhead;
    if (next < last && next->piece != kMissing) lookahead(next->piece, next->start, next[1].at - next->at);
    const int64_t length = std::min(range[1].at, end) - at;
    visit(range->piece, range->piece == kMissing ? 0 : range->start + (at - range->at), at, length);
    at += length;
  }
}

// The rows [begin, end) of a result that are rows of one piece, from `start` on.
struct OneRun {
  int32_t piece;
  int64_t start;
};

// The run of the rows [begin, end) of a selection by ranges, if they are one and not missing.
inline std::optional<OneRun> one_run(const Picks& picks, int64_t begin, int64_t end) {
  if (picks.ranges == nullptr || begin >= end) return {};
  const auto after = [](int64_t at, const RowRange& range) { return at < range.at; };
  const RowRange* const range = std::upper_bound(picks.ranges, picks.ranges + picks.range_count, begin, after) - 1;
  if (range[1].at < end || range->piece == kMissing) return {};
  return OneRun{range->piece, range->start + (begin - range->at)};
}

// Collects ranges in the order of the result and merges a range with its predecessor if both are contiguous.
class RangeList {
 public:
  void add(int32_t piece, int64_t start, int64_t length) {
    if (length == 0) return;
    int64_t sum = 0;
    if (__builtin_add_overflow(count_, length, &sum)) throw ShapeError("the result would have more than 2**63 values");
    if (piece == kMissing) missing_ += length;
    if (!list_.empty() && list_.back().piece == piece &&
        (piece == kMissing || list_.back().start + (count_ - list_.back().at) == start)) {
      count_ = sum;
      return;
    }
    list_.push_back({count_, start, piece});
    count_ = sum;
  }
  void append(const RangeList& other) {
    for (std::size_t i = 0; i < other.list_.size(); ++i) {
      const RowRange& range = other.list_[i];
      const int64_t end = i + 1 < other.list_.size() ? other.list_[i + 1].at : other.count_;
      add(range.piece, range.start, end - range.at);
    }
  }
  int64_t count() const { return count_; }
  void finish() {
    if (list_.empty() || list_.back().at != count_) list_.push_back({count_, 0, kMissing});
  }
  // A view, which is valid until the next call of a function that changes the list.
  Picks picks() {
    finish();
    return view();
  }
  Picks view() const {  // of a finished list
    Picks picks;
    picks.count = count_;
    picks.missing = missing_;
    picks.ranges = list_.data();
    picks.range_count = static_cast<int64_t>(list_.size()) - 1;
    return picks;
  }

 private:
  std::vector<RowRange> list_;
  int64_t count_ = 0;
  int64_t missing_ = 0;
};

}  // namespace gs::table
