// row_bodies.h: the bodies that turn maps and masks into numbers of rows, which columns are picked by (columns.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backends/device/bodies/divider.h"
#include "backends/device/bodies/memory_access.h"
#include "backends/device/bodies/thread.h"
#include "core/index_type.h"
#include "core/rule.h"

namespace gs::device {

// A value of another library's memory, which need not be aligned.
template <class Value>
GS_HD inline Value load_value(const std::byte* at) {
#ifdef __CUDA_ARCH__
  if (is_aligned(at, sizeof(Value))) return *reinterpret_cast<const volatile Value*>(at);
  return load_bytes<Value>(at);
#else
  auto value = load_bytes<Value>(at);
  asm volatile("" : "+r"(value));  // what is checked is what is used
  return value;
#endif
}

GS_HD inline bool bit_of(uint64_t bit_address) {
  const auto* const byte = reinterpret_cast<const std::byte*>(bit_address >> 3);
  return ((static_cast<unsigned>(*byte) >> (bit_address & 7)) & 1) != 0;
}

GS_HD inline int count_bits(uint32_t word) {
#ifdef __CUDA_ARCH__
  return __popc(word);
#else
  return std::popcount(word);
#endif
}

inline constexpr uint64_t kMissingRow = ~uint64_t{0};

// The number of a row among all rows of the source for each row of a result, in 32 bits wherever those suffice.
struct RowList {
  uint32_t* narrow = nullptr;  // one of the two
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

// Which values of a map or mask are null: those whose bit, or whose byte, is 0. Neither: none is.
struct Presence {
  uint64_t bits = 0;  // address of the first bit
  const std::byte* bytes = nullptr;
  int64_t stride = 1;

  GS_HD bool has(int64_t i) const {
    if (bits != 0) return bit_of(bits + static_cast<uint64_t>(i));
    return bytes == nullptr || bytes[i * stride] != std::byte{0};
  }
};

// The values of a map become numbers of rows: in `rows`, or, for a scatter, the last place + 1 of the map that names a
// row in `winner`, which was cleared.
struct ResolveMap {
  static constexpr const char* kName = "resolve map";
  static constexpr uint64_t kVariant = 0;

  const std::byte* map = nullptr;
  int64_t stride = 0;
  Presence present;
  int64_t count = 0;
  int64_t before = 0;  // places of the map in front of these
  int64_t size = 0;    // rows of the table
  int64_t from_end = 0;
  RowList rows;
  RowList winner;
  Status* bad = nullptr;   // null: nobody asks
  Status* null = nullptr;  // null: no value is
  IndexType type = IndexType::i64;
  bool to_winner = false;
  bool any_row = false;  // a number outside is row 0

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

// Winners become numbers, in the same memory: the row of the source that came last, or the row of the target itself.
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

// A mask of bits, or of bytes, becomes words of 32 bits, those of null values 0. The words hold what parts in front of
// this one left there.
struct PackMask {
  static constexpr const char* kName = "mask words";
  static constexpr uint64_t kVariant = 0;

  Presence value;
  Presence present;
  int64_t count = 0;
  int64_t before = 0;
  uint32_t* words = nullptr;

  GS_HD void operator()(Warp warp) const {
    const int64_t end = before + count;
    for (int64_t w = before / kLanes + warp.number(); w * kLanes < end; w += warp.count()) {
      const uint32_t word = warp.ballot([&](int lane) {
        const int64_t i = w * kLanes + lane - before;
        return i >= 0 && i < count && present.has(i) && value.has(i);
      });
      warp.once([&] { words[w] |= word; });
    }
  }
};

// How many bits are set in each word.
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

// What a mask says about rows becomes numbers.
struct MaskRows {
  static constexpr const char* kName = "mask rows";
  static constexpr uint64_t kVariant = 0;

  enum class MaskUse : uint8_t {
    filter,   // the true rows one after the other
    scatter,  // the k-th true row is row k of the source
    scalar,   // every true row is row 0 of the source
    choose,   // a true row is that of the first table, any other that of the second
  };

  const uint32_t* words = nullptr;
  const int64_t* before = nullptr;  // true rows in front of each word; not for `scalar` and `choose`
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

// Numbers of the elements of lists of one size.
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
