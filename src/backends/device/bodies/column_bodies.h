// column_bodies.h: the bodies that pick rows of columns by row numbers: fixed-width columns together in one launch,
// then the rows of columns with offsets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/device/bodies/row_bodies.h"
#include "backends/device/bodies/thread.h"

namespace gs::device {

// One value for each lane of a warp, kept from one call of Warp::each to the next.
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

// A row of a piece; without a piece, the row is missing.
struct RowPlace {
  int64_t row = 0;
  int32_t piece = -1;
  GS_HD bool exists() const { return piece >= 0; }
};

// The pieces of a source, whose rows are numbered consecutively.
struct PieceList {
  int32_t count = 0;
  int64_t second = INT64_MAX;      // number of the first row of piece 1
  const int64_t* begin = nullptr;  // number of the first row of each piece, if there are more than two

  GS_HD RowPlace find(uint64_t number) const {
    if (number == kMissingRow) return {};
    const auto row = static_cast<int64_t>(number);
    if (begin == nullptr) return row < second ? RowPlace{row, 0} : RowPlace{row - second, 1};
    int32_t low = 0;
    int32_t high = count - 1;
    while (low < high) {  // finds the last piece that begins at or before the row
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

// Copies `width` bytes in accesses of sizeof(Unit) bytes, which divides the width and all addresses. Without a source
// it writes zeros.
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

// Addresses of row 0 of a piece: of its item, or of its bit (the byte's address times 8, plus the number of the bit).
struct PieceColumn {
  uint64_t items = 0;
  uint64_t valid = 0;  // 0: every row is valid
};

struct Column {
  PieceColumn piece[2];
  std::byte* target = nullptr;  // null: only the validity is written
  uint32_t* valid = nullptr;    // null: the validity is not written
  int32_t width = 0;            // bytes of an item, at most 16; 0: bits
  int32_t unit = 1;             // bytes of one access (copy_item)
};

inline constexpr int kColumns = 60;

// Picks rows of many columns. A warp handles 32 rows and keeps their numbers in registers. Bits are written in whole
// words of 64 bits.
struct PickColumns {
  static constexpr const char* kName = "pick columns";
  static constexpr uint64_t kVariant = 0;

  RowList rows;
  PieceList pieces;
  const PieceColumn* all = nullptr;  // if there are more than two pieces: all pieces of a column, column by column
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

// Picks rows of one column of long items; neighbouring threads copy neighbouring units.
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
  int64_t units = 0;  // units of one item
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

// Counts the zeros among the first `bits` bits of each list of words. The bits after them are 0 and are not counted.
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

// The offsets of a piece, from its row 0 on.
struct PieceSpans {
  const std::byte* offsets = nullptr;
  uint64_t base = 0;   // address, or row number, that offset 0 stands for
  int64_t reach = 0;   // the largest valid offset; negative: the offset after the last row is the largest
  int64_t length = 0;  // rows
};

struct SpanColumn {
  PieceSpans piece[2];
  const uint32_t* valid = nullptr;  // validity of the result; null: all rows are valid
  int64_t* length = nullptr;        // length of each row of the result
  uint64_t* start = nullptr;        // beginning of each row: base + offset * item
  uint64_t* long_rows = nullptr;    // sum of (length >> 32) + 1 over the rows of length `most` or longer
  int64_t item = 1;
  int32_t width = 4;  // bytes of an offset
  int32_t number = 0;
};

inline constexpr int kSpans = 34;

// Finds the lengths and beginnings of the rows of string and list columns. Each offset is read once for a row, so that
// the offset that is checked is the offset that is used.
struct FindSpans {
  static constexpr const char* kName = "find spans";
  static constexpr uint64_t kVariant = 0;

  RowList rows;
  PieceList pieces;
  const PieceSpans* all = nullptr;
  Status* wrong = nullptr;  // gets the numbers of columns whose offsets are not in order
  uint64_t most = 0;        // if all rows are shorter, the sum of their lengths fits into 64 bits
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

// Stores sums of lengths as offsets of 32 bits.
struct NarrowOffsets {
  static constexpr const char* kName = "narrow offsets";
  static constexpr uint64_t kVariant = 0;

  int64_t offsets = 0;  // offsets of each column
  int32_t count = 0;
  OffsetColumn column[kOffsetColumns];

  GS_HD void operator()(Thread thread) const {
    for (int64_t i = thread.number; i < offsets; i += thread.count) {
      for (int c = 0; c < count; ++c) column[c].target[i] = static_cast<int32_t>(column[c].sum[i]);
    }
  }
};

// The rows of a result by their bounds: row i begins at sum[i], and the last row ends at sum[count].
struct RowSpans {
  const int64_t* sum = nullptr;
  const uint64_t* start = nullptr;
  int64_t count = 0;

  // The row that contains a place.
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

// Copies the spans one after the other. A thread writes eight bytes, which may belong to several rows, so that neither
// long nor short rows delay other threads. The target has room for a whole number of eight bytes.
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

// The row numbers, in a child column, of the elements of lists.
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
