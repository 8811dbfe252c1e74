// spans.h: copies the bytes between two offsets, row by row: the characters of strings or the items of lists.
#pragma once

#include <cstring>

#include "table/memory.h"
#include "table/picks.h"

namespace gs::table {

// The offsets of a piece, from its first row on, and the range [low, high] of valid offsets.
struct Ends {
  const std::byte* data = nullptr;
  int64_t low = 0;
  int64_t high = 0;
};

template <class Offset>
SmallVector<Ends, 2> ends_of(const Pieces& pieces) {
  SmallVector<Ends, 2> ends;
  for (const Piece& piece : pieces) {
    const Array& array = *piece.array;
    if (array.length == 0) {  // the offsets of an array without rows may be null
      ends.push_back({});
      continue;
    }
    const std::byte* const first = array.first.data;
    // The limit is the reach found at the import, because the owner of the offsets may have changed them since.
    ends.push_back({first + piece.offset * static_cast<int64_t>(sizeof(Offset)), 0, array.reach});
  }
  return ends;
}

template <class Offset>
inline uint64_t offset_at(const Ends& ends, int64_t row) {
  return static_cast<uint64_t>(static_cast<int64_t>(load<Offset>(ends.data, row)));
}

// Negative if [begin, end] does not lie within [low, high]. The arithmetic is unsigned because a difference may wrap; a
// difference wraps only if one of the values is negative, and then the result is negative anyway.
inline int64_t disorder(const Ends& ends, uint64_t begin, uint64_t end) {
  const auto low = static_cast<uint64_t>(ends.low);
  const auto high = static_cast<uint64_t>(ends.high);
  return static_cast<int64_t>(begin | end | (begin - low) | (end - begin) | (high - end));
}

inline void copy_bytes(std::byte* target, const std::byte* source, int64_t n) {
  if (n == 0) return;  // the addresses of no bytes may be null, which memcpy does not allow
  std::memcpy(target, source, static_cast<std::size_t>(n));
}

// Copies the bytes of the rows [begin, end) and turns their running totals in `offsets` into offsets from `base` on. It
// writes no byte behind row `end` - 1, because other threads write the rows behind it. `copy` returns false if the
// offsets of the source have changed since the first pass summed the lengths. Only ranges and overlays read the offsets
// of the source again; rows by number use the `starts` that the first pass kept.
template <class Offset>
class Copier {
 public:
  // An offset counts `item` bytes. No row of the result is longer than 2^63 bytes, because no source is.
  Copier(const SmallVector<Ends, 2>& ends, const SmallVector<const std::byte*, 2>& bytes, int64_t item,
         const Picks& picks, const std::byte* starts, bool far)
      : ends_(ends), bytes_(bytes), item_(item), picks_(picks), starts_(starts), far_(far) {}

  bool copy(int64_t begin, int64_t end, int64_t base, std::byte* offsets, std::byte* target) const {
    if (begin == end) return true;
    const int64_t last = base + static_cast<int64_t>(load<Offset>(offsets, end));
    if (picks_.by_rows()) return copy_rows(begin, end, base, last, offsets, target);
    int64_t at = base;
    bool good = true;
    const auto visit = [&](int32_t piece, int64_t start, int64_t row, int64_t length) {
      good = good && copy_run(piece, start, row, length, base, last, at, offsets, target);
    };
    if (!far_) {
      for_each_run(picks_, begin, end, visit);
    } else {
      for_each_run(picks_, begin, end, visit, RangePrefetcher(*this));
    }
    return good;
  }

 private:
  // The copier calls it for each range some time before it copies the range. It prefetches the offsets of the range
  // and, kWaiting ranges later, the first and the last cache line of its bytes.
  class RangePrefetcher {
   public:
    explicit RangePrefetcher(const Copier& copier) : copier_(copier) {}
    void operator()(int32_t piece, int64_t start, int64_t length) {
      const Ends& ends = copier_.ends_[piece];
      prefetch(ends.data + start * static_cast<int64_t>(sizeof(Offset)));
      PendingRange& oldest = waiting_[turn_];
      if (oldest.length > 0) prefetch_bytes(oldest);
      oldest = {piece, start, length};
      turn_ = (turn_ + 1) % kWaiting;
    }

   private:
    static constexpr std::size_t kWaiting = 8;
    struct PendingRange {
      int32_t piece = 0;
      int64_t start = 0;
      int64_t length = 0;
    };
    void prefetch_bytes(const PendingRange& range) const {
      const auto bytes = reinterpret_cast<uintptr_t>(copier_.bytes_[range.piece]);
      const auto item = static_cast<uint64_t>(copier_.item_);
      prefetch(bytes + offset_at<Offset>(copier_.ends_[range.piece], range.start) * item);
      prefetch(bytes + offset_at<Offset>(copier_.ends_[range.piece], range.start + range.length) * item - 1);
    }

    const Copier& copier_;
    PendingRange waiting_[kWaiting];
    std::size_t turn_ = 0;
  };

  struct SpanGroup {
    uint64_t from[kGroup];
    int64_t end[kGroup];  // offset in the result
    const Ends* piece[kGroup];
    const std::byte* bytes[kGroup];
  };

  bool copy_rows(int64_t begin, int64_t end, int64_t base, int64_t last, std::byte* offsets, std::byte* target) const {
    int64_t at = base;
    SpanGroup group;
    for (int64_t i = begin; i < end; i += kGroup) {
      const int64_t n = std::min(kGroup, end - i);
      for (int64_t k = 0; k < n; ++k) {
        const auto piece = static_cast<int>(picks_.rows.chunk_of(i + k));
        group.piece[k] = &ends_[piece];
        group.bytes[k] = bytes_[piece];
        group.from[k] = start_of(i + k);
        group.end[k] = base + static_cast<int64_t>(load<Offset>(offsets, i + k + 1));
        store(offsets, i + k + 1, static_cast<Offset>(group.end[k]));
      }
      if (far_) prefetch_group(i + n, end, group.end[n - 1] - base, offsets);
      if (!copy_group(group, n, at, last, target)) return false;
      at = group.end[n - 1];
    }
    return true;
  }

  // Copies each row with copy_row, which may write up to kShort bytes for a shorter row if both sides have room. The
  // next row overwrites the surplus bytes.
  bool copy_group(const SpanGroup& group, int64_t n, int64_t at, int64_t last, std::byte* target) const {
    for (int64_t k = 0; k < n; ++k) {
      const int64_t items = group.end[k] - at;
      const uint64_t from = group.from[k];
      if (items > 0) {
        const Ends& piece = *group.piece[k];
        if (disorder(piece, from, from + static_cast<uint64_t>(items)) < 0) return false;
        const auto first = static_cast<int64_t>(from);
        copy_row(target + at * item_, (last - at) * item_, group.bytes[k] + first * item_, (piece.high - first) * item_,
                 items * item_);
      }
      at = group.end[k];
    }
    return true;
  }

  void copy_items(int32_t piece, uint64_t from, int64_t items, int64_t last, int64_t at, std::byte* target) const {
    const auto first = static_cast<int64_t>(from);
    copy_row(target + at * item_, (last - at) * item_, bytes_[piece] + first * item_,
             (ends_[piece].high - first) * item_, items * item_);
  }

  static void copy_row(std::byte* target, int64_t room, const std::byte* source, int64_t readable, int64_t size) {
    if (room < kShort || readable < kShort) return copy_bytes(target, source, size);
    std::memcpy(target, source, kShort);
    if (size > kShort) copy_bytes(target + kShort, source + kShort, size - kShort);
  }

  bool copy_run(int32_t piece, int64_t start, int64_t row, int64_t length, int64_t base, int64_t last, int64_t& at,
                std::byte* offsets, std::byte* target) const {
    if (length > 1 && piece != kMissing && copy_whole(piece, start, row, length, base, last, at, offsets, target))
      return true;
    for (int64_t k = 0; k < length; ++k) {
      const int64_t end = base + static_cast<int64_t>(load<Offset>(offsets, row + k + 1));
      const int64_t size = end - at;
      if (size > 0) {
        const uint64_t from = offset_at<Offset>(ends_[piece], start + k);
        if (disorder(ends_[piece], from, from + static_cast<uint64_t>(size)) < 0) return false;
        copy_items(piece, from, size, last, at, target);
      }
      store(offsets, row + k + 1, static_cast<Offset>(end));
      at = end;
    }
    return true;
  }

  // Copies the bytes of several rows at once and returns true, if the rows are contiguous on both sides. A null row
  // whose offsets span bytes breaks this, because the result does not contain these bytes.
  bool copy_whole(int32_t piece, int64_t start, int64_t row, int64_t length, int64_t base, int64_t last, int64_t& at,
                  std::byte* offsets, std::byte* target) const {
    const int64_t size = base + static_cast<int64_t>(load<Offset>(offsets, row + length)) - at;
    const uint64_t from = offset_at<Offset>(ends_[piece], start);
    const uint64_t end = offset_at<Offset>(ends_[piece], start + length);
    if (end - from != static_cast<uint64_t>(size) || disorder(ends_[piece], from, end) < 0) return false;
    copy_items(piece, from, size, last, at, target);
    for (int64_t i = row + 1; i <= row + length; ++i) {
      store(offsets, i, static_cast<Offset>(base + static_cast<int64_t>(load<Offset>(offsets, i))));
    }
    at += size;
    return true;
  }

  uint64_t start_of(int64_t i) const { return static_cast<uint64_t>(static_cast<int64_t>(load<Offset>(starts_, i))); }

  // Prefetches the first and the last cache line of each row of the next group; `total` is the running total before it.
  // The hardware prefetcher loads the lines between them.
  void prefetch_group(int64_t begin, int64_t end, int64_t total, const std::byte* offsets) const {
    const int64_t next = std::min(begin + kGroup, end);
    const auto item = static_cast<uint64_t>(item_);
    for (int64_t i = begin; i < next; ++i) {
      const auto upto = static_cast<int64_t>(load<Offset>(offsets, i + 1));
      const auto bytes = reinterpret_cast<uintptr_t>(bytes_[static_cast<int>(picks_.rows.chunk_of(i))]);
      const uintptr_t first = bytes + start_of(i) * item;
      prefetch(first);
      prefetch(first + static_cast<uint64_t>(upto - total) * item - 1);
      total = upto;
    }
  }

  const SmallVector<Ends, 2>& ends_;
  const SmallVector<const std::byte*, 2>& bytes_;
  const int64_t item_;
  const Picks& picks_;
  const std::byte* const starts_;  // for rows by number: the source offset of each row
  const bool far_;
};

}  // namespace gs::table
