// column_bodies.h: the bodies that pick rows of columns by their numbers: all columns of one size in one launch, then
// what lies between offsets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/device/bodies/row_bodies.h"
#include "backends/device/bodies/thread.h"

namespace gs::device {

// A value for each lane of a warp, kept from one call of Warp::each to the next.
template <class Value>
struct LaneValues {
#ifdef __CUDA_ARCH__
  Value value;
  GS_HD Value& operator[](int) { return value; }
#else
  Value values[kLanes];
  GS_HD Value& operator[](int lane) { return values[lane]; }
#endif
};

// A row of a piece. No piece: there is none.
struct RowPlace {
  int64_t row = 0;
  int32_t piece = -1;
  GS_HD bool exists() const { return piece >= 0; }
};

// The pieces that rows are numbered through.
struct PieceList {
  int32_t count = 0;
  int64_t second = INT64_MAX;      // number of the first row of piece 1
  const int64_t* begin = nullptr;  // the same of each piece, where there are more than two

  GS_HD RowPlace find(uint64_t number) const {
    if (number == kMissingRow) return {};
    const auto row = static_cast<int64_t>(number);
    if (begin == nullptr) return row < second ? RowPlace{row, 0} : RowPlace{row - second, 1};
    int32_t low = 0;
    int32_t high = count - 1;
    while (low < high) {  // the last piece that begins at or before the row
      const int32_t middle = (low + high + 1) / 2;
      if (begin[middle] <= row) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return {row - begin[low], low};
  }
};

// `width` bytes in loads of `unit` bytes, which divides the width and all addresses. No source: zeros.
template <class Unit>
GS_HD inline void copy_units(std::byte* target, const std::byte* source, int64_t width) {
#ifdef __CUDA_ARCH__
  for (int64_t b = 0; b < width; b += static_cast<int64_t>(sizeof(Unit))) {
    *reinterpret_cast<Unit*>(target + b) = source == nullptr ? Unit{} : *reinterpret_cast<const Unit*>(source + b);
  }
#else
  if (source == nullptr) {
    __builtin_memset(target, 0, static_cast<std::size_t>(width));
  } else {
    __builtin_memcpy(target, source, static_cast<std::size_t>(width));
  }
#endif
}

struct alignas(16) SixteenBytes {
  uint64_t low;
  uint64_t high;
};

GS_HD inline void copy_item(std::byte* target, const std::byte* source, int64_t width, int32_t unit) {
  switch (unit) {
    case 2: return copy_units<uint16_t>(target, source, width);
    case 4: return copy_units<uint32_t>(target, source, width);
    case 8: return copy_units<uint64_t>(target, source, width);
    case 16: return copy_units<SixteenBytes>(target, source, width);
    default: return copy_units<uint8_t>(target, source, width);
  }
}

// Addresses of row 0 of a piece: of its items, or of its bits (byte address times 8, plus the number of the bit).
struct PieceColumn {
  uint64_t items = 0;
  uint64_t valid = 0;  // 0: every row is
};

struct Column {
  PieceColumn piece[2];
  std::byte* target = nullptr;  // null: nothing but the validity is wanted
  uint32_t* valid = nullptr;    // null: it is not wanted
  int32_t width = 0;            // bytes of an item, at most 16; 0: bits
  int32_t unit = 1;             // copy_item
};

inline constexpr int kColumns = 60;

// Rows of many columns. A warp has 32 rows; their numbers stay in registers. Whole words of 64 bits are written.
struct PickColumns {
  static constexpr const char* kName = "pick columns";
  static constexpr uint64_t kVariant = 0;

  RowList rows;
  PieceList pieces;
  const PieceColumn* all = nullptr;  // of more than two pieces: those of one column after the other
  int32_t count = 0;
  Column column[kColumns];

  GS_HD PieceColumn piece_of(int c, int32_t piece) const {
    return all == nullptr ? column[c].piece[piece] : all[c * pieces.count + piece];
  }

  GS_HD void operator()(Warp warp) const {
    const int64_t words = (rows.count + 63) / 64 * 2;
    for (int64_t w = warp.number(); w < words; w += warp.count()) {
      const int64_t first = w * kLanes;
      LaneValues<RowPlace> place;
      warp.each(
          [&](int lane) { place[lane] = first + lane < rows.count ? pieces.find(rows.at(first + lane)) : RowPlace{}; });
      for (int c = 0; c < count; ++c) {
        if (column[c].valid != nullptr) {
          put_bits(warp, place, column[c].valid + w, [&](RowPlace at) {
            const uint64_t valid = piece_of(c, at.piece).valid;
            return valid == 0 || bit_of(valid + static_cast<uint64_t>(at.row));
          });
        }
        if (column[c].target == nullptr) continue;
        if (column[c].width == 0) {
          put_bits(warp, place, reinterpret_cast<uint32_t*>(column[c].target) + w,
                   [&](RowPlace at) { return bit_of(piece_of(c, at.piece).items + static_cast<uint64_t>(at.row)); });
          continue;
        }
        warp.each([&](int lane) {
          if (first + lane < rows.count) put_item(c, place[lane], first + lane);
        });
      }
    }
  }

 private:
  template <class Ask>
  GS_HD static void put_bits(Warp warp, LaneValues<RowPlace>& place, uint32_t* target, const Ask& ask) {
    const uint32_t word = warp.ballot([&](int lane) { return place[lane].exists() && ask(place[lane]); });
    warp.once([&] { *target = word; });
  }

  GS_HD void put_item(int c, RowPlace at, int64_t i) const {
    const int64_t width = column[c].width;
    const std::byte* source = nullptr;
    if (at.exists()) source = reinterpret_cast<const std::byte*>(piece_of(c, at.piece).items) + at.row * width;
    copy_item(column[c].target + i * width, source, width, column[c].unit);
  }
};

// Rows of a column of long items: neighbouring threads copy neighbouring units.
struct PickLong {
  static constexpr const char* kName = "pick long";
  static constexpr uint64_t kVariant = 0;

  RowList rows;
  PieceList pieces;
  const PieceColumn* all = nullptr;
  PieceColumn piece[2];
  std::byte* target = nullptr;
  int64_t width = 0;
  int32_t unit = 1;
  int64_t units = 0;  // of an item
  Divider by_units;

  GS_HD void operator()(Thread thread) const {
    for (int64_t t = thread.number; t < rows.count * units; t += thread.count) {
      const int64_t i = by_units.divide(t);
      const int64_t part = (t - i * units) * unit;
      const RowPlace at = pieces.find(rows.at(i));
      const std::byte* source = nullptr;
      if (at.exists()) {
        const PieceColumn from = all == nullptr ? piece[at.piece] : all[at.piece];
        source = reinterpret_cast<const std::byte*>(from.items) + at.row * width + part;
      }
      copy_item(target + i * width + part, source, unit, unit);
    }
  }
};

inline constexpr int kWordLists = 200;

// How many of the first `bits` bits of each list are 0. The bits behind them are 0 as well.
struct CountNulls {
  static constexpr const char* kName = "count nulls";
  static constexpr uint64_t kVariant = 0;

  int64_t bits = 0;
  int32_t count = 0;
  const uint32_t* words[kWordLists] = {};
  uint64_t* nulls[kWordLists] = {};

  GS_HD void operator()(Warp warp) const {
    const int64_t all = (bits + kLanes - 1) / kLanes;
    for (int c = 0; c < count; ++c) {
      const int64_t zeros = warp.sum([&](int lane) {
        int64_t own = 0;
        for (int64_t w = warp.number() * kLanes + lane; w < all; w += warp.count() * kLanes) {
          const int64_t rows = bits - w * kLanes < kLanes ? bits - w * kLanes : kLanes;
          own += rows - count_bits(words[c][w]);
        }
        return own;
      });
      if (zeros > 0) warp.once([&] { atomic_add(nulls[c], static_cast<uint64_t>(zeros)); });
    }
  }
};

// The offsets of a piece from its row 0 on.
struct PieceSpans {
  const std::byte* offsets = nullptr;
  uint64_t base = 0;   // address, or number, of what offset 0 names
  int64_t reach = 0;   // largest offset; negative: what the offset behind the last row says
  int64_t length = 0;  // rows
};

struct SpanColumn {
  PieceSpans piece[2];
  const uint32_t* valid = nullptr;  // of the result; null: all rows are
  int64_t* length = nullptr;        // of each row of the result
  uint64_t* start = nullptr;        // where it begins: base + offset * item
  uint64_t* long_rows = nullptr;    // gets the lengths of rows that are `most` or longer, in units of 2^32 and more
  int64_t item = 1;
  int32_t width = 4;  // bytes of an offset
  int32_t number = 0;
};

inline constexpr int kSpans = 34;

// How long the rows of columns of strings or lists are, and where they begin. Each offset is read once: what is kept is
// what was checked.
struct FindSpans {
  static constexpr const char* kName = "find spans";
  static constexpr uint64_t kVariant = 0;

  RowList rows;
  PieceList pieces;
  const PieceSpans* all = nullptr;
  Status* wrong = nullptr;  // by the number of the column: offsets are not in order
  uint64_t most = 0;        // so long may all rows be without a sum beyond 64 bits
  int32_t count = 0;
  SpanColumn column[kSpans];

  GS_HD static uint64_t offset_at(const PieceSpans& piece, int32_t width, int64_t row) {
    const std::byte* const at = piece.offsets + row * width;
    return static_cast<uint64_t>(width == 4 ? int64_t{load_value<int32_t>(at)} : load_value<int64_t>(at));
  }

  GS_HD void operator()(Thread thread) const {
    for (int64_t i = thread.number; i < rows.count; i += thread.count) {
      const RowPlace at = pieces.find(rows.at(i));
      for (int c = 0; c < count; ++c) {
        const SpanColumn& own = column[c];
        uint64_t length = 0;
        uint64_t start = 0;
        const bool is_valid = own.valid == nullptr || ((own.valid[i / kLanes] >> (i % kLanes)) & 1) != 0;
        if (at.exists() && is_valid) {
          const PieceSpans piece = all == nullptr ? own.piece[at.piece] : all[c * pieces.count + at.piece];
          const uint64_t low = offset_at(piece, own.width, at.row);
          const uint64_t high = offset_at(piece, own.width, at.row + 1);
          const uint64_t reach =
              piece.reach < 0 ? offset_at(piece, own.width, piece.length) : static_cast<uint64_t>(piece.reach);
          if (static_cast<int64_t>(low | high | (high - low) | (reach - high)) >= 0) {
            length = high - low;
            start = piece.base + low * static_cast<uint64_t>(own.item);
            if (length >= most) atomic_add(own.long_rows, (length >> 32) + 1);
          } else {
            wrong->report(own.number);
          }
        }
        own.length[i] = static_cast<int64_t>(length);
        own.start[i] = start;
      }
    }
  }
};

struct OffsetColumn {
  const int64_t* sum = nullptr;
  int32_t* target = nullptr;
};

inline constexpr int kOffsetColumns = 200;

// Sums of lengths as offsets of 32 bits.
struct NarrowOffsets {
  static constexpr const char* kName = "narrow offsets";
  static constexpr uint64_t kVariant = 0;

  int64_t offsets = 0;  // in each column
  int32_t count = 0;
  OffsetColumn column[kOffsetColumns];

  GS_HD void operator()(Thread thread) const {
    for (int64_t i = thread.number; i < offsets; i += thread.count) {
      for (int c = 0; c < count; ++c) column[c].target[i] = static_cast<int32_t>(column[c].sum[i]);
    }
  }
};

// The rows of a result by where they end: sum[i] is where row i begins, sum[count] where the last one ends.
struct RowSpans {
  const int64_t* sum = nullptr;
  const uint64_t* start = nullptr;
  int64_t count = 0;

  // The row that has this place.
  GS_HD int64_t row_at(int64_t place) const {
    int64_t low = 0;
    int64_t high = count - 1;
    while (low < high) {
      const int64_t middle = (low + high + 1) / 2;
      if (sum[middle] <= place) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
};

// What the spans hold, side by side. A thread writes eight bytes, whichever rows they belong to, so that neither long
// nor short rows keep others waiting. The target has room for a whole number of them.
struct CopySpans {
  static constexpr const char* kName = "copy spans";
  static constexpr uint64_t kVariant = 0;

  RowSpans spans;
  int64_t item = 1;
  Divider by_item;
  int64_t bytes = 0;
  uint64_t* target = nullptr;

  GS_HD void operator()(Thread thread) const {
    for (int64_t unit = thread.number; unit * 8 < bytes; unit += thread.count) {
      const int64_t first = unit * 8;
      const int64_t end = bytes - first < 8 ? bytes : first + 8;
      int64_t row = spans.row_at(by_item.divide(first));
      uint64_t word = 0;
      for (int64_t at = first; at < end;) {
        while (spans.sum[row + 1] * item <= at) ++row;
        const int64_t stop = spans.sum[row + 1] * item < end ? spans.sum[row + 1] * item : end;
        const auto* source = reinterpret_cast<const std::byte*>(spans.start[row]) + (at - spans.sum[row] * item);
        for (; at < stop; ++at) word |= static_cast<uint64_t>(*source++) << (8 * (at - first));
      }
      target[unit] = word;
    }
  }
};

// Numbers of the rows of a child that lists consist of.
struct SpanRows {
  static constexpr const char* kName = "span rows";
  static constexpr uint64_t kVariant = 0;

  RowSpans spans;
  RowList rows;

  GS_HD void operator()(Thread thread) const {
    for (int64_t i = thread.number; i < rows.count; i += thread.count) {
      const int64_t list = spans.row_at(i);
      rows.set(i, spans.start[list] + static_cast<uint64_t>(i - spans.sum[list]));
    }
  }
};

}  // namespace gs::device
