// column_point.h: picks rows of a column one by one, on the CPU and on GPUs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/hd.h"

namespace gs {

// The rows to pick, as numbers that were checked before: `row` is the row within its piece of the column, `chunk` is
// the number of that piece (null: all rows lie in the first piece).
struct RowNumbers {
  const uint32_t* row = nullptr;
  const uint32_t* chunk = nullptr;

  GS_INLINE uint32_t chunk_of(int64_t i) const { return chunk == nullptr ? 0 : chunk[i]; }
};

// Reads the bits of one piece. A piece without a bitmap has `keep` = 0 and the address of a bit that is set, so that
// every row reads this one bit.
struct BitSource {
  uint64_t first = 0;            // bit address of row 0: 8 * address of its byte + number of the bit, from the lowest
  uint64_t keep = ~uint64_t{0};  // mask of the row number
  uint64_t end = 0;              // address behind the last byte

  GS_INLINE uint64_t at(uint64_t row) const {
    const uint64_t bit = first + (row & keep);
    return (static_cast<uint64_t>(*reinterpret_cast<const std::byte*>(bit >> 3)) >> (bit & 7)) & 1;
  }
};

GS_INLINE void pick_item(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t i, std::byte* target) {
  const std::byte* const source = items[rows.chunk_of(i)] + int64_t{rows.row[i]} * width;
  for (int64_t b = 0; b < width; ++b) target[b] = source[b];
}

// The bits of the `n` <= 64 rows from `i` on, as one word; the bits from `n` on are 0.
GS_INLINE uint64_t pick_bits(const BitSource* bits, RowNumbers rows, int64_t i, int64_t n) {
  uint64_t word = 0;
  for (int64_t k = 0; k < n; ++k) word |= bits[rows.chunk_of(i + k)].at(rows.row[i + k]) << k;
  return word;
}

}  // namespace gs
