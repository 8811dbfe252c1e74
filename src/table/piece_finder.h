// piece_finder.h: converts the number of a row among all rows into its piece and its row in the piece.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "core/small_vector.h"
#include "table/picks.h"

namespace gs::table {

// A piece: at most kMostPieceRows rows of a chunk from `first` on, whose numbers among all rows begin at `begin`.
struct ChunkPart {
  int64_t chunk;
  int64_t first;
  int64_t begin;
};
using ChunkParts = SmallVector<ChunkPart, 2>;

// The arrays of a selection by row numbers. `chunk` and `among_all` are null where the selection has no such array, and
// `row` where `among_all` is the only one.
struct RowArrays {
  uint32_t* row;
  uint32_t* chunk;
  uint32_t* among_all;
};

class PieceFinder {
 public:
  // `parts` must outlive this object; `total` is the number of all their rows.
  PieceFinder(const ChunkParts& part_list, int64_t total) : parts_(part_list), total_(total) {
    const int parts = parts_.size();
    if (parts < 2) return;
    // bucket_[b] and bucket_[b + 1] bound the search for the part of a row in bucket b. There are about kBucketsPerPart
    // buckets for each part.
    while ((total_ >> shift_) > int64_t{kBucketsPerPart} * parts) ++shift_;
    int part = 0;
    for (int64_t row = 0; row < total_; row += int64_t{1} << shift_) {
      while (part + 1 < parts && parts_[part + 1].begin <= row) ++part;
      bucket_.push_back(part);
    }
    bucket_.push_back(parts - 1);
  }

  // The part that contains the row.
  int find(int64_t row) const {
    if (bucket_.empty()) return 0;
    const auto bucket = static_cast<std::size_t>(row >> shift_);
    int low = bucket_[bucket];
    int high = bucket_[bucket + 1];
    while (low < high) {  // finds the last part that begins at or before the row
      const int middle = (low + high + 1) / 2;
      if (parts_[middle].begin <= row) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  // Writes the rows with these numbers into rows [at, at + n) of the arrays.
  void write(const RowArrays& arrays, const int64_t* number, int64_t n, int64_t at) const {
    if (arrays.among_all != nullptr) {
      uint32_t* const among_all = arrays.among_all + at;
      for (int64_t k = 0; k < n; ++k) among_all[k] = static_cast<uint32_t>(number[k]);
      if (arrays.row == nullptr) return;
    }
    uint32_t* const row = arrays.row + at;
    if (arrays.chunk == nullptr) {
      for (int64_t k = 0; k < n; ++k) row[k] = static_cast<uint32_t>(number[k]);
      return;
    }
    uint32_t* const chunk = arrays.chunk + at;
    for (int64_t k = 0; k < n; ++k) {
      const int part = find(number[k]);
      row[k] = static_cast<uint32_t>(number[k] - parts_[part].begin);
      chunk[k] = static_cast<uint32_t>(part);
    }
  }

  // Adds the rows [first, first + length), which may lie in several pieces, to `ranges`.
  void add(int64_t first, int64_t length, RangeList& ranges) const {
    while (length > 0) {
      const int part = find(first);
      const bool is_last = part + 1 == parts_.size();
      const int64_t end = is_last ? total_ : parts_[part + 1].begin;
      const int64_t n = std::min(end - first, length);
      ranges.add(part, first - parts_[part].begin, n);
      first += n;
      length -= n;
    }
  }

 private:
  static constexpr int kBucketsPerPart = 4;
  const ChunkParts& parts_;
  int64_t total_;
  int shift_ = 0;
  std::vector<int> bucket_;
};

}  // namespace gs::table
