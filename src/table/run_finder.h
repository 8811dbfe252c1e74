// run_finder.h: finds the runs that contain many rows of a run-end encoded array, by a lookup table of its runs.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>

#include "backends/table_tuning.h"
#include "table/memory.h"
#include "table/picks.h"
#include "table/sharing.h"

namespace gs::table {

// The rows of a piece are divided into buckets of 2^shift rows. A lookup table holds the run of the first row of each
// bucket, so that a search compares the runs of its bucket only. All searches make the same number of steps without a
// branch, so that the processor overlaps the searches of neighbouring rows. Run ends may have any values, and may
// change meanwhile: a search stays within the runs of the array, and its result is compared with the row.
template <class End>
class RunFinder {
 public:
  // Without a lookup table, a search compares all runs of the array, and a piece that no row is wanted of costs
  // nothing.
  RunFinder(const Sharing& sharing, const Piece& piece, bool has_table)
      : ends_(piece.array->children[0].first.data + piece.array->children[0].offset * int64_t{sizeof(End)}),
        offset_(piece.offset),
        runs_(piece.array->children[0].length) {
    if (piece.length == 0 || runs_ == 0) return;
    last_ = runs_ - 1;
    if (has_table) {
      first_ = search(offset_, 0, last_);
      last_ = std::max(first_, search(offset_ + piece.length - 1, first_, last_));
    }
    steps_ = steps_for(last_ - first_);
    if (has_table && last_ < UINT32_MAX) make_table(sharing, piece.length);
  }

  // The row of the piece that a run begins with, or one before the piece.
  int64_t begin(int64_t run) const { return run > 0 ? end(run - 1) : -offset_; }
  // The run of a row of the piece; -1: the run ends are not in ascending order, or do not reach the row.
  int64_t find(int64_t row) const {
    int64_t low = first_;
    int64_t high = last_;
    if (first_run_.get() != nullptr) {
      const uint32_t* const bucket = first_run_.get() + (row >> shift_);
      low = bucket[0];
      high = bucket[1];
    }
    const int64_t run = narrow(offset_ + row, low, high - low, steps_);
    return runs_ > 0 && end_of(run) > offset_ + row ? run : -1;
  }

  // The row of the piece behind a run.
  int64_t end(int64_t run) const { return std::max(end_of(run), int64_t{-1}) - offset_; }
  int64_t runs() const { return runs_; }

 private:
  static int steps_for(int64_t runs) { return static_cast<int>(std::bit_width(static_cast<uint64_t>(runs))); }

  int64_t end_of(int64_t run) const { return static_cast<int64_t>(load<End>(ends_, run)); }

  // The first of the runs [low, high] that ends after `row`; the last one if none does.
  int64_t search(int64_t row, int64_t low, int64_t high) const {
    return narrow(row, low, high - low, steps_for(high - low));
  }

  // As `search` among the runs [low, low + n], by `steps` comparisons. The result of a comparison becomes a mask,
  // because GCC 12 makes a branch of a conditional expression, whose predictions are often wrong.
  int64_t narrow(int64_t row, int64_t low, int64_t n, int steps) const {
    for (int step = 0; step < steps; ++step) {
      const int64_t half = (n + 1) >> 1;
      const int64_t less = half - static_cast<int64_t>(n > 0);
      const int64_t is_later = -static_cast<int64_t>(end_of(low + less) <= row);
      low += half & is_later;
      n = less + ((n - half - less) & is_later);
    }
    return low;
  }

  void make_table(const Sharing& sharing, int64_t length) {
    while ((length >> shift_) / kBucketsPerRun > last_ - first_) ++shift_;
    const int64_t buckets = ((length - 1) >> shift_) + 1;
    first_run_ = Scratch<uint32_t>(buckets + 1);
    first_run_[buckets] = static_cast<uint32_t>(last_);
    parallel_for(sharing, buckets, 16, kLeastRows, [&](int64_t begin, int64_t end) {
      int64_t run = search(offset_ + (begin << shift_), first_, last_);
      for (int64_t bucket = begin; bucket < end; ++bucket) {
        while (run < last_ && end_of(run) <= offset_ + (bucket << shift_)) ++run;
        first_run_[bucket] = static_cast<uint32_t>(run);
      }
    });
    // The numbers must ascend, which run ends that do not ascend could break between two work chunks.
    int64_t widest = 0;
    for (int64_t bucket = 0; bucket < buckets; ++bucket) {
      const uint32_t run = first_run_[bucket];
      if (first_run_[bucket + 1] < run) first_run_[bucket + 1] = run;
      widest = std::max<int64_t>(widest, first_run_[bucket + 1] - run);
    }
    steps_ = shift_ == 0 ? 0 : steps_for(widest);  // a bucket of one row is in the run of its first row
  }

  const std::byte* ends_;
  int64_t offset_;
  int64_t runs_;
  int64_t first_ = 0;  // a search is one among the runs [first_, last_]
  int64_t last_ = 0;
  int shift_ = 0;
  int steps_ = 0;
  Scratch<uint32_t> first_run_;
};

}  // namespace gs::table
