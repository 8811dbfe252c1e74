// overlay.h: describes the result of a scatter as the rows of the target, some of them replaced by rows of the source.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "arrow/bits.h"
#include "core/column_point.h"
#include "table/arrow_names.h"

namespace gs::table {

// A view of the rows of an overlay. The pieces [first, last) hold the target's rows: begin[p] is the number of the
// first row of piece first + p, and begin[last - first] is the number of rows.
struct Overlay {
  static constexpr int64_t kBlock = 4096;  // rows of a block of rows

  const uint64_t* replaced = nullptr;  // bitmap of the replaced rows
  const int64_t* before = nullptr;     // number of replaced rows before each block of rows, and of all of them
  // For each replaced row, in order:
  const uint16_t* place = nullptr;  // the row's number in its block
  const uint32_t* row = nullptr;    // the new row, as a row number in its piece; null: row 0 replaces them all
  const uint32_t* piece = nullptr;  // the piece of the new row; null: all new rows lie in piece `source`
  int32_t source = 0;
  const int64_t* begin = nullptr;
  int32_t first = 0;
  int32_t last = 0;

  // The new rows of the entries from `k` on.
  RowNumbers rows(int64_t k) const {
    return {row == nullptr ? nullptr : row + k, piece == nullptr ? nullptr : piece + k};
  }
  int32_t piece_of(int64_t k) const { return piece == nullptr ? source : static_cast<int32_t>(piece[k]); }
  int64_t row_of(int64_t k) const { return row == nullptr ? 0 : int64_t{row[k]}; }

  // The number of replaced rows before `i`, which is the entry of row `i` if it is replaced.
  int64_t order(int64_t i) const {
    const int64_t block = i / kBlock;
    int64_t count = before[block];
    for (int64_t w = block * (kBlock / 64); w < i / 64; ++w) count += std::popcount(replaced[w]);
    return (i & 63) == 0 ? count : count + std::popcount(replaced[i / 64] & low_bits(i & 63));
  }

  // The first replaced row in [at, end); `end` if there is none.
  int64_t next(int64_t at, int64_t end) const {
    if (at >= end) return end;
    int64_t w = at / 64;
    uint64_t word = replaced[w] & ~low_bits(at & 63);
    while (word == 0 && ++w * 64 < end) word = replaced[w];
    return word == 0 ? end : std::min(end, w * 64 + std::countr_zero(word));
  }

  // Calls visit(piece, start, at, length) for the target's rows [at, end), whether they are replaced or not.
  template <class Visit>
  void for_each_base(int64_t at, int64_t end, Visit visit) const {
    if (at >= end) return;
    const int64_t* p = std::upper_bound(begin, begin + (last - first), at) - 1;
    for (; at < end; ++p) {
      const int64_t length = std::min(p[1], end) - at;
      visit(first + static_cast<int32_t>(p - begin), at - *p, at, length);
      at += length;
    }
  }

  // Calls visit(piece, start, at, length) for each run of the overlay's rows [at, end); the rows of a run are
  // contiguous in one piece.
  template <class Visit>
  void for_each_run(int64_t at, int64_t end, Visit visit) const {
    if (at >= end) return;
    int64_t k = order(at);
    while (at < end) {
      const int64_t stop = next(at, end);
      for_each_base(at, stop, visit);
      for (at = stop; at < end && bit_at(replaced, at);) {
        int64_t length = 1;
        while (at + length < end && bit_at(replaced, at + length) && piece_of(k + length) == piece_of(k) &&
               row_of(k + length) == row_of(k) + length) {
          ++length;
        }
        visit(piece_of(k), row_of(k), at, length);
        at += length;
        k += length;
      }
    }
  }
};

}  // namespace gs::table
