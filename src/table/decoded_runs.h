// decoded_runs.h: writes down the run of every row of a run-end encoded piece, as a column of run numbers.
#pragma once

#include <algorithm>
#include <atomic>

#include "table/run_finder.h"

namespace gs::table {

// Writes one run number to the rows [row, stop), of which there is at least one. Up to `end` rows may be overwritten:
// most runs are short, and stores of constant length need no branch.
inline void write_run(uint32_t* runs, int64_t row, int64_t stop, int64_t end, uint32_t run) {
  constexpr int64_t kAtOnce = 16;
  if (row + kAtOnce <= end) {
    for (int64_t k = 0; k < kAtOnce; ++k) runs[row + k] = run;
    row += kAtOnce;
  }
  for (; row < stop; ++row) runs[row] = run;
}

// Returns the run of each row of a piece, whose run ends each thread reads once and in order. Returns no memory if the
// run ends do not ascend or do not reach the last row: a search then finds the rows that have a run. The piece has
// fewer than 2^32 runs.
template <class End>
Scratch<uint32_t> decode_runs(const Sharing& sharing, const Piece& piece) {
  const RunFinder<End> finder(sharing, piece, false);
  Scratch<uint32_t> decoded(piece.length);
  std::atomic<bool> good = piece.length > 0;
  parallel_for(sharing, piece.length, 16, kLeastRows, [&](int64_t begin, int64_t end) {
    int64_t run = finder.find(begin);
    for (int64_t row = begin; row < end; ++run) {
      const int64_t stop = run >= 0 && run < finder.runs() ? std::min(finder.end(run), end) : row;
      if (stop <= row) {
        good = false;
        return;
      }
      write_run(decoded.get(), row, stop, end, static_cast<uint32_t>(run));
      row = stop;
    }
  });
  return good ? std::move(decoded) : Scratch<uint32_t>();
}

}  // namespace gs::table
