// offset_sums.h: adds the lengths of rows of text or lists up, from the offsets of their source.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "arrow/bits.h"
#include "table/spans.h"
#include "table/take.h"

namespace gs::table {

// Prefetches the offsets of rows [begin, end).
template <class Offset>
void prefetch_offsets(const SmallVector<Ends, 2>& ends, const Picks& picks, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    prefetch(ends[static_cast<int>(picks.rows.chunk_of(i))].data +
             int64_t{picks.rows.row[i]} * static_cast<int64_t>(sizeof(Offset)));
  }
}

// Writes the running totals of the lengths of rows [begin, end), from 0 on, to `target` and returns the sum; a negative
// value means that offsets are not in order. Writes the start offset of each row to `starts`, unless that is null.
template <class Offset>
int64_t sum_lengths(const SmallVector<Ends, 2>& ends, const Picks& picks, const uint64_t* valid, int64_t begin,
                    int64_t end, bool far, std::byte* target, std::byte* starts) {
  uint64_t total = 0;
  int64_t wrong = 0;
  const auto add = [&](const Ends& piece, int64_t row, int64_t i) {
    const uint64_t keep = valid == nullptr ? ~uint64_t{0} : 0 - ((valid[i >> 6] >> (i & 63)) & 1);
    const uint64_t low = offset_at<Offset>(piece, row);
    const uint64_t high = offset_at<Offset>(piece, row + 1);
    wrong |= disorder(piece, low, high) & static_cast<int64_t>(keep);
    total += (high - low) & keep;
    store(target, i + 1, static_cast<Offset>(total));
    if (starts != nullptr) store(starts, i, static_cast<Offset>(low));
  };
  if (picks.by_rows()) {
    const uint32_t* const row = picks.rows.row;
    const auto fetch = [&](int64_t first, int64_t last) {
      if (far) prefetch_offsets<Offset>(ends, picks, std::min(first, picks.count), std::min(last, picks.count));
    };
    fetch(begin, begin + kOffsetsAhead);
    for (int64_t first = begin; first < end; first += kGroup) {
      const int64_t last = std::min(first + kGroup, end);
      fetch(first + kOffsetsAhead, last + kOffsetsAhead);
      if (picks.rows.chunk == nullptr) {
        const Ends piece = ends[0];
        for (int64_t i = first; i < last; ++i) add(piece, row[i], i);
      } else {
        for (int64_t i = first; i < last; ++i) add(ends[static_cast<int>(picks.rows.chunk[i])], row[i], i);
      }
    }
  } else {
    for_each_run(
        picks, begin, end,
        [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
          for (int64_t k = 0; k < length; ++k) {
            if (piece == kMissing) {
              store(target, at + k + 1, static_cast<Offset>(total));
            } else {
              add(ends[piece], start + k, at + k);
            }
          }
        },
        [&](int32_t piece, int64_t start, int64_t) {
          prefetch(ends[piece].data + start * static_cast<int64_t>(sizeof(Offset)));
        });
  }
  return wrong < 0 ? -1 : static_cast<int64_t>(total);
}

// Wraps around: the offsets of another library may be anything.
template <class Offset>
Offset difference(Offset a, Offset b) {
  return static_cast<Offset>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// Writes the size of a row to item `at` of `sizes`, and where it starts to that of `starts` (null: nowhere). Returns a
// negative value if an offset is negative, greater than the next one, or beyond `reach`.
template <class Offset>
inline Offset find_size(const std::byte* offsets, int64_t row, Offset reach, int64_t at, std::byte* sizes,
                        std::byte* starts) {
  const Offset low = load<Offset>(offsets, row);
  const Offset high = load<Offset>(offsets, row + 1);
  const Offset size = difference(high, low);
  if (starts != nullptr) store(starts, at, low);
  store(sizes, at, size);
  return low | high | size | difference(reach, high);
}

// The same for n rows. A function of its own, so that the loop has all it needs in registers and becomes vectors.
template <class Offset>
Offset find_sizes(const std::byte* offsets, int64_t row, Offset reach, int64_t n, int64_t at, std::byte* sizes,
                  std::byte* starts) {
  Offset wrong = 0;
#if !defined(__clang__)
#pragma GCC ivdep
#endif
  for (int64_t k = 0; k < n; ++k) wrong |= find_size(offsets, row + k, reach, at + k, sizes, starts);
  return wrong;
}

// Replaces the sizes of the rows [begin, end) by their running totals and returns the sum.
template <class Offset>
uint64_t add_sizes(std::byte* sizes, int64_t begin, int64_t end) {
  uint64_t total = 0;
  for (int64_t i = begin; i < end; ++i) {
    total += static_cast<uint64_t>(load<Offset>(sizes, i));
    store(sizes, i, static_cast<Offset>(total));
  }
  return total;
}

// As sum_lengths, for runs of rows, whose offsets are read in order: ranges and overlays, with `begin` a multiple of
// Overlay::kBlock. The offsets of null rows and of replaced rows may be anything, but are read as well, so a negative
// value means that any of the offsets is out of order.
template <class Offset>
int64_t sum_runs(const SmallVector<Ends, 2>& ends, const Picks& picks, const uint64_t* valid, int64_t begin,
                 int64_t end, std::byte* target, std::byte* starts) {
  std::byte* const sizes = target + sizeof(Offset);  // the size of row i lies where the total up to its end will be
  Offset wrong = 0;
  const auto reach_of = [&](int32_t piece) {
    return static_cast<Offset>(std::min<int64_t>(ends[piece].high, std::numeric_limits<Offset>::max()));
  };
  const auto fetch = [&](int32_t piece, int64_t row) {
    prefetch(ends[piece].data + row * static_cast<int64_t>(sizeof(Offset)));
  };
  const auto visit = [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
    if (piece == kMissing) {
      std::memset(sizes + at * static_cast<int64_t>(sizeof(Offset)), 0,
                  static_cast<std::size_t>(length) * sizeof(Offset));
      return;
    }
    wrong |= find_sizes(ends[piece].data, start, reach_of(piece), length, at, sizes, starts);
  };
  if (picks.overlay == nullptr) {
    for_each_run(picks, begin, end, visit, [&](int32_t piece, int64_t start, int64_t) { fetch(piece, start); });
  } else {
    const Overlay& overlay = *picks.overlay;
    const int64_t first = overlay.before[begin / Overlay::kBlock];
    const int64_t last = overlay.before[begin / Overlay::kBlock + 1];
    if (last - first < end - begin) overlay.for_each_base(begin, end, visit);
    for (int64_t k = first; k < last; ++k) {
      const int64_t next = std::min(k + kGroup, last - 1);
      if (overlay.row != nullptr) fetch(overlay.piece_of(next), overlay.row_of(next));
      const int32_t piece = overlay.piece_of(k);
      const int64_t at = begin + overlay.place[k];
      wrong |= find_size(ends[piece].data, overlay.row_of(k), reach_of(piece), at, sizes, starts);
    }
  }
  for (int64_t i = begin; valid != nullptr && i < end; i += 64) {
    const uint64_t is_null = ~valid[i / 64] & low_bits(end - i);
    for (uint64_t rest = is_null; rest != 0; rest &= rest - 1) store(sizes, i + std::countr_zero(rest), Offset{0});
  }
  const uint64_t total = add_sizes<Offset>(sizes, begin, end);
  return wrong < 0 ? -1 : static_cast<int64_t>(total);
}

// The number of items of a run of rows whose null rows are empty, so that its bytes are those between its first and its
// last offset. -1: another run, or offsets that are out of order.
template <class Offset>
int64_t whole_length(const SmallVector<Ends, 2>& ends, const OneRun& run, const uint64_t* valid, int64_t begin,
                     int64_t end) {
  const Ends& piece = ends[run.piece];
  const uint64_t low = offset_at<Offset>(piece, run.start);
  const uint64_t high = offset_at<Offset>(piece, run.start + (end - begin));
  if (disorder(piece, low, high) < 0) return -1;
  uint64_t hidden = 0;
  for (int64_t i = begin; valid != nullptr && i < end; i += 64) {
    const uint64_t is_null = ~valid[i / 64] & low_bits(end - i);
    for (uint64_t rest = is_null; rest != 0; rest &= rest - 1) {
      const int64_t row = run.start + (i - begin) + std::countr_zero(rest);
      hidden |= offset_at<Offset>(piece, row + 1) - offset_at<Offset>(piece, row);
    }
  }
  return hidden == 0 ? static_cast<int64_t>(high - low) : -1;
}

}  // namespace gs::table
