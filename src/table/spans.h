// spans.h: copies the bytes between two offsets, row by row: the characters of strings or the items of lists.
#pragma once

#include <cstring>
#include <type_traits>

#include "backends/backend.h"
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

// Copies spans behind each other to `target`, group by group. If `far`, the bytes of a group are prefetched while the
// group before it is copied.
class SpanWriter {
 public:
  SpanWriter(const ColumnKernels& kernels, std::byte* target, bool far, bool stream)
      : kernels_(kernels), stage_(target, stream), far_(far) {}

  // Copies `bytes` bytes from `from`, where `readable` bytes can be read.
  void add(const std::byte* from, int64_t bytes, int64_t readable) {
    SpanGroup& group = this->group();
    group.from[group.count] = from;
    group.bytes[group.count] = bytes;
    group.is_short[group.count] = bytes <= SpanGroup::kShort && readable >= SpanGroup::kShort;
    if (++group.count == SpanGroup::kMost) next();
  }

  // The group that is filled next, for callers that fill a whole one. Then `next` must follow.
  SpanGroup& group() { return groups_[turn_]; }
  void next() {
    SpanGroup& before = groups_[turn_ ^ 1];
    if (before.count > 0) kernels_.spans(stage_, before, far_ ? &groups_[turn_] : nullptr);
    before.count = 0;
    turn_ ^= 1;
  }
  void finish() {
    next();
    next();
    kernels_.finish_spans(stage_);
  }

 private:
  const ColumnKernels& kernels_;
  SpanStage stage_;
  SpanGroup groups_[2];
  int turn_ = 0;
  const bool far_;
};

// Copies the bytes of the rows [begin, end) and turns their running totals in `offsets` into offsets from `base` on. It
// writes no byte before or behind these rows, because other threads write there. `copy` returns false if the offsets of
// the source have changed since the first pass summed the lengths. Only ranges read the offsets of the source again;
// other rows use the `starts` that the first pass kept.
template <class Offset>
class Copier {
  static constexpr int kLeastChanges = 5;  // between valid and null rows; with fewer, runs are copied in less time

 public:
  // An offset counts `item` bytes. No row of the result is longer than 2^63 bytes, because no source is.
  Copier(const ColumnKernels& kernels, const SmallVector<Ends, 2>& ends, const SmallVector<const std::byte*, 2>& bytes,
         int64_t item, const Picks& picks, const uint64_t* valid, const std::byte* starts, bool far, bool stream)
      : kernels_(kernels),
        ends_(ends),
        bytes_(bytes),
        item_(item),
        picks_(picks),
        valid_(valid),
        starts_(starts),
        far_(far),
        stream_(stream) {}

  // `upto`: the offset behind the rows. `is_whole`: the rows are one run, for which the first pass has written nothing.
  bool copy(int64_t begin, int64_t end, int64_t base, int64_t upto, bool is_whole, std::byte* offsets,
            std::byte* target) const {
    if (begin == end) return true;
    SpanWriter writer(kernels_, target + base * item_, far_, stream_);
    if (is_whole) return copy_block(*one_run(picks_, begin, end), begin, end, base, upto, offsets, writer);
    return picks_.ranges == nullptr ? copy_rows(begin, end, base, offsets, writer)
                                    : copy_ranges(begin, end, base, offsets, writer);
  }

 private:
  bool copy_rows(int64_t begin, int64_t end, int64_t base, std::byte* offsets, SpanWriter& writer) const {
    SmallVector<SpanPiece, 2> pieces;
    for (int p = 0; p < ends_.size(); ++p) pieces.push_back({bytes_[p], ends_[p].high});
    const Overlay* const overlay = picks_.overlay;
    const bool has_two = overlay != nullptr && overlay->last - overlay->first == 1 && overlay->piece == nullptr;
    SpanPiece two[] = {pieces[has_two ? overlay->first : 0], pieces[has_two ? overlay->source : 0]};
    // One row that replaces many is copied to memory with bytes behind it, so that it is a short span.
    std::byte roomy[2 * SpanGroup::kShort] = {};
    if (has_two && overlay->row == nullptr && two[1].reach > 0 && two[1].reach * item_ <= SpanGroup::kShort) {
      std::memcpy(roomy, two[1].bytes, static_cast<std::size_t>(two[1].reach * item_));
      two[1] = {roomy, two[1].reach + SpanGroup::kShort / item_};
    }
    int32_t listed[SpanGroup::kMost];
    OffsetRows rows;
    rows.width = sizeof(Offset);
    rows.item = item_;
    rows.offsets = offsets;
    rows.starts = starts_;
    rows.pieces = has_two ? two : pieces.data();
    int64_t before = 0;
    for (int64_t i = begin; i < end; i += SpanGroup::kMost) {
      SpanGroup& group = writer.group();
      group.count = static_cast<int>(std::min<int64_t>(SpanGroup::kMost, end - i));
      if (has_two) {
        rows.second = overlay->replaced[i / 64];
      } else if (overlay != nullptr) {
        rows.piece = list_pieces(*overlay, i, group.count, listed);
      } else if (picks_.rows.chunk != nullptr) {
        for (int k = 0; k < group.count; ++k) listed[k] = static_cast<int32_t>(picks_.rows.chunk[i + k]);
        rows.piece = listed;
      }
      const int64_t total = load<Offset>(offsets, i + group.count);
      if (!kernels_.place_spans(rows, i, before, base, group)) return false;
      before = total;
      writer.next();
    }
    writer.finish();  // while `roomy` exists
    return true;
  }

  // Lists the piece of each of the rows [i, i + n); `i` is a multiple of 64.
  static const int32_t* list_pieces(const Overlay& overlay, int64_t i, int64_t n, int32_t* pieces) {
    overlay.for_each_base(i, i + n, [&](int32_t piece, int64_t, int64_t at, int64_t length) {
      for (int64_t k = at - i; k < at - i + length; ++k) pieces[k] = piece;
    });
    uint64_t replaced = overlay.replaced[i / 64] & low_bits(n);
    int64_t order = replaced == 0 ? 0 : overlay.order(i);
    for (; replaced != 0; replaced &= replaced - 1) pieces[std::countr_zero(replaced)] = overlay.piece_of(order++);
    return pieces;
  }

  bool copy_ranges(int64_t begin, int64_t end, int64_t base, std::byte* offsets, SpanWriter& writer) const {
    int64_t at = base;
    bool good = true;
    for_each_run(
        picks_, begin, end,
        [&](int32_t piece, int64_t start, int64_t row, int64_t length) {
          good = good && (piece == kMissing ? end_rows(row, length, base, offsets)
                                            : copy_run(piece, start, row, length, base, at, offsets, writer));
        },
        [&](int32_t piece, int64_t start, int64_t length) {
          if (!far_) return;
          prefetch(ends_[piece].data + start * static_cast<int64_t>(sizeof(Offset)));
          prefetch(ends_[piece].data + (start + length) * static_cast<int64_t>(sizeof(Offset)));
        });
    if (good) writer.finish();
    return good;
  }

  bool copy_block(const OneRun& run, int64_t begin, int64_t end, int64_t base, int64_t upto, std::byte* offsets,
                  SpanWriter& writer) const {
    using OffsetBits = std::make_unsigned_t<Offset>;
    const Ends& ends = ends_[run.piece];
    const uint64_t first = offset_at<Offset>(ends, run.start);
    const auto shift = static_cast<OffsetBits>(static_cast<uint64_t>(base) - first);
    const std::byte* const from = ends.data + (run.start + 1) * static_cast<int64_t>(sizeof(Offset));
    std::byte* const to = offsets + (begin + 1) * static_cast<int64_t>(sizeof(Offset));
    const int64_t rows = end - begin;
    for (int64_t k = 0; k < rows; ++k) store(to, k, static_cast<OffsetBits>(load<OffsetBits>(from, k) + shift));
    // The offsets are compared where no other thread can change them.
    Offset wrong = static_cast<Offset>(load<OffsetBits>(to, 0) - static_cast<OffsetBits>(base));
    for (int64_t k = 1; k < rows; ++k)
      wrong |= static_cast<Offset>(load<OffsetBits>(to, k) - load<OffsetBits>(to, k - 1));
    if (wrong < 0 || static_cast<int64_t>(load<Offset>(to, rows - 1)) != upto) return false;
    if (upto > base) {
      const auto at = static_cast<int64_t>(first);
      if (disorder(ends, first, first + static_cast<uint64_t>(upto - base)) < 0) return false;
      writer.add(bytes_[run.piece] + at * item_, (upto - base) * item_, (ends.high - at) * item_);
    }
    writer.finish();
    return true;
  }

  // Completes the offsets of rows whose bytes are already copied, or that have none.
  static bool end_rows(int64_t row, int64_t length, int64_t base, std::byte* offsets) {
    for (int64_t i = row + 1; i <= row + length; ++i) {
      store(offsets, i, static_cast<Offset>(base + static_cast<int64_t>(load<Offset>(offsets, i))));
    }
    return true;
  }

  // Copies the bytes of a run of rows, up to each null row: the result does not contain the bytes that the offsets of a
  // null row may span.
  bool copy_run(int32_t piece, int64_t start, int64_t row, int64_t length, int64_t base, int64_t& at,
                std::byte* offsets, SpanWriter& writer) const {
    if (copy_whole(piece, start, row, length, base, at, offsets, writer)) return true;
    if (valid_ == nullptr) return copy_each(piece, start, row, length, base, at, offsets, writer);
    const int64_t end = row + length;
    for (int64_t i = row; i < end;) {
      const int64_t n = std::min(64 - (i & 63), end - i);  // rows of one word of the bitmap
      const uint64_t wanted = (valid_[i / 64] >> (i & 63)) & low_bits(n);
      const bool is_valid = (wanted & 1) != 0;
      int64_t same = std::min<int64_t>(std::countr_zero(is_valid ? ~wanted : wanted), n);  // null as row i is
      if (same < n && std::popcount((wanted ^ (wanted >> 1)) & low_bits(n - 1)) >= kLeastChanges) {
        same = n;
        if (!place_rows(piece, start + (i - row), i, n, base, at, offsets, writer)) return false;
      } else if (!is_valid) {
        end_rows(i, same, base, offsets);
      } else if (!copy_whole(piece, start + (i - row), i, same, base, at, offsets, writer)) {
        if (!copy_each(piece, start + (i - row), i, same, base, at, offsets, writer)) return false;
      }
      i += same;
    }
    return true;
  }

  // Copies the bytes of up to 64 rows, of each by itself: the lengths of the runs between null rows cannot be
  // predicted.
  bool place_rows(int32_t piece, int64_t start, int64_t row, int64_t n, int64_t base, int64_t& at, std::byte* offsets,
                  SpanWriter& writer) const {
    const SpanPiece one{bytes_[piece], ends_[piece].high};
    OffsetRows rows;
    rows.width = sizeof(Offset);
    rows.item = item_;
    rows.pieces = &one;
    rows.offsets = offsets + row * rows.width;
    rows.starts = ends_[piece].data + start * rows.width;
    if (writer.group().count > 0) writer.next();
    SpanGroup& group = writer.group();
    group.count = static_cast<int>(n);
    const int64_t upto = base + static_cast<int64_t>(load<Offset>(rows.offsets, n));
    if (!kernels_.place_spans(rows, 0, at - base, base, group)) return false;
    at = upto;
    writer.next();
    return true;
  }

  // Copies the bytes of several rows at once and completes their offsets, if the rows are contiguous on both sides.
  bool copy_whole(int32_t piece, int64_t start, int64_t row, int64_t length, int64_t base, int64_t& at,
                  std::byte* offsets, SpanWriter& writer) const {
    const int64_t upto = base + static_cast<int64_t>(load<Offset>(offsets, row + length));
    const uint64_t between = offset_at<Offset>(ends_[piece], start + length) - offset_at<Offset>(ends_[piece], start);
    const bool is_whole = between == static_cast<uint64_t>(upto - at);
    if (upto > at && !(is_whole && copy_items(piece, start, upto - at, writer))) return false;
    at = upto;
    return end_rows(row, length, base, offsets);
  }

  bool copy_each(int32_t piece, int64_t start, int64_t row, int64_t length, int64_t base, int64_t& at,
                 std::byte* offsets, SpanWriter& writer) const {
    for (int64_t k = 0; k < length; ++k) {
      const int64_t end = base + static_cast<int64_t>(load<Offset>(offsets, row + k + 1));
      if (end > at && !copy_items(piece, start + k, end - at, writer)) return false;
      store(offsets, row + k + 1, static_cast<Offset>(end));
      at = end;
    }
    return true;
  }

  // Copies so many items from the beginning of a row on; false if the piece has not so many there.
  bool copy_items(int32_t piece, int64_t row, int64_t items, SpanWriter& writer) const {
    const Ends& ends = ends_[piece];
    const uint64_t from = offset_at<Offset>(ends, row);
    if (disorder(ends, from, from + static_cast<uint64_t>(items)) < 0) return false;
    const auto first = static_cast<int64_t>(from);
    writer.add(bytes_[piece] + first * item_, items * item_, (ends.high - first) * item_);
    return true;
  }

  const ColumnKernels& kernels_;
  const SmallVector<Ends, 2>& ends_;
  const SmallVector<const std::byte*, 2>& bytes_;
  const int64_t item_;
  const Picks& picks_;
  const uint64_t* const valid_;    // of the rows of the result; null: none is null
  const std::byte* const starts_;  // for rows by number and overlays: the source offset of each row
  const bool far_;
  const bool stream_;
};

}  // namespace gs::table
