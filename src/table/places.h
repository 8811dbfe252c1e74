// places.h: row numbers among all rows into piece and row.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "table/selection.h"

namespace gs::table {

class Places {
 public:
  explicit Places(const Selection& selection) : selection_(selection) {
    const int parts = selection.parts_.size();
    if (parts < 2) return;
    // A table of buckets, at most a few for each part: where a search may begin and must end.
    while ((selection.total_ >> shift_) > int64_t{kBucketsPerPart} * parts) ++shift_;
    int part = 0;
    for (int64_t row = 0; row < selection.total_; row += int64_t{1} << shift_) {
      while (part + 1 < parts && selection.parts_[part + 1].begin <= row) ++part;
      bucket_.push_back(part);
    }
    bucket_.push_back(parts - 1);
  }

  int find(int64_t row) const {
    if (bucket_.empty()) return 0;
    const auto bucket = static_cast<std::size_t>(row >> shift_);
    int low = bucket_[bucket];
    int high = bucket_[bucket + 1];
    while (low < high) {  // the last part that begins at or before the row
      const int middle = (low + high + 1) / 2;
      if (selection_.parts_[middle].begin <= row) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  // The rows of these numbers become rows [at, at + n) of the selection.
  void write(const int64_t* number, int64_t n, int64_t at) const {
    uint32_t* const row = selection_.row_.get() + at;
    if (selection_.chunk_.get() == nullptr) {
      for (int64_t k = 0; k < n; ++k) row[k] = static_cast<uint32_t>(number[k]);
      return;
    }
    uint32_t* const chunk = selection_.chunk_.get() + at;
    for (int64_t k = 0; k < n; ++k) {
      const int part = find(number[k]);
      row[k] = static_cast<uint32_t>(number[k] - selection_.parts_[part].begin);
      chunk[k] = static_cast<uint32_t>(part);
    }
    if (selection_.among_all_.get() == nullptr) return;
    uint32_t* const among_all = selection_.among_all_.get() + at;
    for (int64_t k = 0; k < n; ++k) among_all[k] = static_cast<uint32_t>(number[k]);
  }

  // Rows [first, first + length), which may lie in several pieces.
  void add(int64_t first, int64_t length, RangeList& ranges) const {
    while (length > 0) {
      const int part = find(first);
      const bool is_last = part + 1 == selection_.parts_.size();
      const int64_t end = is_last ? selection_.total_ : selection_.parts_[part + 1].begin;
      const int64_t n = std::min(end - first, length);
      ranges.add(part, first - selection_.parts_[part].begin, n);
      first += n;
      length -= n;
    }
  }

 private:
  static constexpr int kBucketsPerPart = 4;
  const Selection& selection_;
  int shift_ = 0;
  std::vector<int> bucket_;
};

}  // namespace gs::table
