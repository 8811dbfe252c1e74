// picks.h: which rows of which pieces a result consists of, in the three forms that the columns are taken by.
#pragma once

#include <algorithm>
#include <vector>

#include "core/column_point.h"
#include "core/error.h"
#include "core/small_vector.h"
#include "table/array.h"
#include "table/overlay.h"

namespace gs::table {

// Rows of one array: `length` of them from `offset` on, counted from where its buffers begin.
struct Piece {
  const Array* array;
  int64_t offset;
  int64_t length;
};
using Pieces = SmallVector<Piece, 2>;

inline constexpr int32_t kMissing = -1;  // no piece: rows that are null

// Rows [at, `at` of the next range) of the result are those of a piece from `start` on.
struct RowRange {
  int64_t at;
  int64_t start;
  int32_t piece;
};

// One number for each row (no piece has more than 2^31 rows then, and none is empty), or ranges, or an overlay. A view.
struct Picks {
  int64_t count = 0;
  int64_t missing = 0;

  RowNumbers rows;
  const uint32_t* among_all = nullptr;  // numbered through all pieces; null where there is one piece, or too many rows
  const uint64_t* valid = nullptr;      // bit of a row: whether it exists; null: all do. The others have number 0.

  const RowRange* ranges = nullptr;  // and one more, whose `at` is `count`; null: by rows
  int64_t range_count = 0;

  const Overlay* overlay = nullptr;

  bool by_rows() const { return ranges == nullptr && overlay == nullptr; }
  bool exists(int64_t i) const { return valid == nullptr || ((valid[i >> 6] >> (i & 63)) & 1) != 0; }
};

inline constexpr int64_t kMostPieceRows = int64_t{1} << 31;

struct AskNothing {
  void operator()(int32_t, int64_t, int64_t) const {}
};

// Calls visit(piece, start, at, length) for the rows [begin, end) of the result, for as many at a time as lie side by
// side in a piece, in ascending order. Of ranges, ask(piece, start, length) hears of each one some time before.
template <class Visit, class Ask = AskNothing>
void for_each_run(const Picks& picks, int64_t begin, int64_t end, Visit visit, Ask ask = {}) {
  constexpr int64_t kRangesAhead = 16;
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
    if (next < last && next->piece != kMissing) ask(next->piece, next->start, next[1].at - next->at);
    const int64_t length = std::min(range[1].at, end) - at;
    visit(range->piece, range->piece == kMissing ? 0 : range->start + (at - range->at), at, length);
    at += length;
  }
}

// Ranges as they are found, in order.
class RangeList {
 public:
  void add(int32_t piece, int64_t start, int64_t length) {
    if (length == 0) return;
    int64_t sum = 0;
    if (__builtin_add_overflow(count_, length, &sum)) throw ShapeError("a result of more than 2**63 values");
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
  // Valid until the next call of a function that is not const.
  Picks picks() {
    if (list_.empty() || list_.back().at != count_) list_.push_back({count_, 0, kMissing});
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
