// row_bodies.h: the bodies that turn maps and masks into row numbers, by which columns are picked (column_bodies.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backends/device/bodies/divider.h"
#include "backends/device/bodies/memory_access.h"
#include "backends/device/bodies/thread.h"
#include "core/index_type.h"
#include "core/rule.h"

namespace gs::device {

// Loads a value from another library's memory, which need not be aligned.
template <class Value>
GS_HD inline Value load_value(const std::byte* at) {
#ifdef __CUDA_ARCH__
  if (is_aligned(at, sizeof(Value))) return *reinterpret_cast<const volatile Value*>(at);
  return load_bytes<Value>(at);
#else
  auto value = load_bytes<Value>(at);
  asm volatile("" : "+r"(value));  // pinned: the value that is checked is the value that is used
  return value;
#endif
}

GS_HD inline bool bit_of(uint64_t bit_address) {
  const auto* const byte = reinterpret_cast<const std::byte*>(bit_address >> 3);
  return ((static_cast<unsigned>(*byte) >> (bit_address & 7)) & 1) != 0;
}

inline constexpr uint64_t kMissingRow = ~uint64_t{0};

// For each row of a result, the number of its row among all rows of the source, in 32 bits if those suffice.
struct RowList {
  uint32_t* narrow = nullptr;  // exactly one of `narrow` and `wide` is set
  uint64_t* wide = nullptr;
  int64_t count = 0;

  GS_HD uint64_t at(int64_t i) const {
    if (narrow == nullptr) return wide[i];
    const uint32_t number = narrow[i];
    return number == UINT32_MAX ? kMissingRow : number;
  }
  GS_HD void set(int64_t i, uint64_t number) const {
    if (narrow == nullptr) {
      wide[i] = number;
    } else {
      narrow[i] = static_cast<uint32_t>(number);
    }
  }
};

// The values of a map or mask that are not null: those whose bit, or whose byte, is not 0. With neither bits nor bytes,
// no value is null.
struct Presence {
  uint64_t bits = 0;  // address of the first bit
  const std::byte* bytes = nullptr;
  int64_t stride = 1;

  GS_HD bool has(int64_t i) const {
    if (bits != 0) return bit_of(bits + static_cast<uint64_t>(i));
    return bytes == nullptr || bytes[i * stride] != std::byte{0};
  }
};

// Resolves the values of a map to row numbers, which go to `rows`. For a scatter, `winner`, which holds zeros before,
// gets for each row the last place of the map that names this row, plus one.
struct ResolveMap {
  static constexpr const char* kName = "resolve map";
  static constexpr uint64_t kVariant = 0;

  const std::byte* map = nullptr;
  int64_t stride = 0;
  Presence present;
  int64_t count = 0;
  int64_t before = 0;  // places of the map before this part
  int64_t size = 0;    // rows that the map may name
  int64_t from_end = 0;
  RowList rows;
  RowList winner;
  Status* bad = nullptr;   // a null pointer: values outside are not reported
  Status* null = nullptr;  // a null pointer: the map has no nulls
  IndexType type = IndexType::i64;
  bool to_winner = false;
  bool any_row = false;  // a value outside resolves to row 0

  template <class Index>
  GS_HD int64_t position(int64_t i) const {
    const Index value = load_value<Index>(map + i * stride);
    return std::is_signed_v<Index> ? gs::from_end(widen(value), from_end) : widen(value);
  }

  GS_HD int64_t position_of(int64_t i) const {
    switch (type) {
      case IndexType::i8: return position<int8_t>(i);
      case IndexType::i16: return position<int16_t>(i);
      case IndexType::i32: return position<int32_t>(i);
      case IndexType::i64: return position<int64_t>(i);
      case IndexType::u8: return position<uint8_t>(i);
      case IndexType::u16: return position<uint16_t>(i);
      case IndexType::u32: return position<uint32_t>(i);
      case IndexType::u64: return position<uint64_t>(i);
    }
    return -1;
  }

  GS_HD void operator()(Thread thread) const {
    for (int64_t i = thread.number; i < count; i += thread.count) {
      uint64_t number = kMissingRow;
      if (!present.has(i)) {
        if (null != nullptr) null->report(before + i);
      } else if (const int64_t row = position_of(i); is_inside(row, size)) {
        number = static_cast<uint64_t>(row);
      } else {
        if (bad != nullptr) bad->report(before + i);
        if (any_row) number = 0;
      }
      if (!to_winner) {
        rows.set(before + i, number);
      } else if (number != kMissingRow) {
        const auto place = static_cast<uint64_t>(before + i + 1);
        if (winner.narrow != nullptr) {
          atomic_max(winner.narrow + number, static_cast<uint32_t>(place));
        } else {
          atomic_max(winner.wide + number, place);
        }
      }
    }
  }
};

// Replaces winners by row numbers, in place: the last row of the source that goes to a row, or the target's own row.
struct ReplaceRows {
  static constexpr const char* kName = "replace rows";
  static constexpr uint64_t kVariant = 0;

  RowList rows;
  uint64_t first_new = 0;  // number of row 0 of the source
  bool one_row = false;

  GS_HD void operator()(Thread thread) const {
    for (int64_t i = thread.number; i < rows.count; i += thread.count) {
      const uint64_t winner = rows.narrow != nullptr ? rows.narrow[i] : rows.wide[i];
      const uint64_t row = one_row ? first_new : first_new + winner - 1;
      rows.set(i, winner == 0 ? static_cast<uint64_t>(i) : row);
    }
  }
};

// Packs the rows that a mask of bits or bytes names into words of 32 bits. The bits are or-ed into the words, which
// already hold those of the mask's earlier parts.
struct PackMask {
  static constexpr const char* kName = "mask words";
  static constexpr uint64_t kVariant = 0;

  Presence value;
  Presence present;
  int64_t count = 0;
  int64_t before = 0;
  uint32_t* words = nullptr;
  bool wanted = true;  // of the values that are not null: those that are named
  bool nulls = false;  // whether null values are named

  GS_HD void operator()(Warp warp) const {
    const int64_t end = before + count;
    for (int64_t w = before / kLanes + warp.number(); w * kLanes < end; w += warp.count()) {
      const uint32_t word = warp.ballot([&](int lane) {
        const int64_t i = w * kLanes + lane - before;
        return i >= 0 && i < count && (present.has(i) ? value.has(i) == wanted : nulls);
      });
      warp.once([&] { words[w] |= word; });
    }
  }
};

// Counts the bits that are set in each word.
struct CountWords {
  static constexpr const char* kName = "count words";
  static constexpr uint64_t kVariant = 0;

  const uint32_t* words = nullptr;
  int64_t* ones = nullptr;
  int64_t count = 0;

  GS_HD void operator()(Thread thread) const {
    for (int64_t w = thread.number; w < count; w += thread.count) ones[w] = count_bits(words[w]);
  }
};

// Turns the words of a mask into row numbers.
struct MaskRows {
  static constexpr const char* kName = "mask rows";
  static constexpr uint64_t kVariant = 0;

  enum class MaskUse : uint8_t {
    filter,   // the numbers of the named rows, one after the other
    scatter,  // the k-th named row is row k of the source
    scalar,   // every named row is row 0 of the source
    choose,   // a named row comes from the first table, any other row from the second
  };

  const uint32_t* words = nullptr;
  const int64_t* before = nullptr;  // named rows before each word; unused by `scalar` and `choose`
  int64_t count = 0;
  RowList rows;
  uint64_t second = 0;  // number of row 0 of the second table
  MaskUse kind = MaskUse::filter;

  GS_HD void operator()(Thread thread) const {
    for (int64_t i = thread.number; i < count; i += thread.count) {
      const uint32_t word = words[i / kLanes];
      const uint32_t mark = uint32_t{1} << (i % kLanes);
      const bool is_true = (word & mark) != 0;
      const auto own = static_cast<uint64_t>(i);
      if (kind == MaskUse::choose) {
        rows.set(i, is_true ? own : second + own);
      } else if (kind == MaskUse::scalar) {
        rows.set(i, is_true ? second : own);
      } else {
        const int64_t order = before[i / kLanes] + count_bits(word & (mark - 1));
        if (kind == MaskUse::scatter) rows.set(i, is_true ? second + static_cast<uint64_t>(order) : own);
        if (kind == MaskUse::filter && is_true) rows.set(order, own);
      }
    }
  }
};

// The row numbers of the elements of fixed-size lists.
struct ElementRows {
  static constexpr const char* kName = "element rows";
  static constexpr uint64_t kVariant = 0;

  RowList lists;
  int64_t size = 1;
  Divider by_size;
  RowList rows;

  GS_HD void operator()(Thread thread) const {
    for (int64_t i = thread.number; i < rows.count; i += thread.count) {
      const int64_t list = by_size.divide(i);
      const uint64_t number = lists.at(list);
      const auto place = static_cast<uint64_t>(i - list * size);
      rows.set(i, number == kMissingRow ? kMissingRow : number * static_cast<uint64_t>(size) + place);
    }
  }
};

}  // namespace gs::device
