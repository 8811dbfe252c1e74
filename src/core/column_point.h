// column_point.h: rows of a column picked one by one: the body that the reference backend and the device share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/hd.h"

namespace gs {

// Which rows a column gives, by numbers that are known to be inside: the row in its chunk, and the chunk (null: all
// rows lie in the first).
struct RowNumbers {
  const uint32_t* row = nullptr;
  const uint32_t* chunk = nullptr;

  GS_INLINE uint32_t chunk_of(int64_t i) const { return chunk == nullptr ? 0 : chunk[i]; }
};

// The bits of one chunk, by the address of its first one: that of its byte times 8, plus its number in the byte,
// counted from the lowest. A chunk without bits has one that is set, and keeps nothing of a row's number.
struct BitSource {
  uint64_t first = 0;
  uint64_t keep = ~uint64_t{0};
  uint64_t end = 0;  // behind the last byte

  GS_INLINE uint64_t at(uint64_t row) const {
    const uint64_t bit = first + (row & keep);
    return (static_cast<uint64_t>(*reinterpret_cast<const std::byte*>(bit >> 3)) >> (bit & 7)) & 1;
  }
};

GS_INLINE void pick_item(const std::byte* const* items, int64_t width, RowNumbers rows, int64_t i, std::byte* target) {
  const std::byte* const source = items[rows.chunk_of(i)] + int64_t{rows.row[i]} * width;
  for (int64_t b = 0; b < width; ++b) target[b] = source[b];
}

// The bits of up to 64 rows from `i` on, as one word; those beyond `n` are 0.
GS_INLINE uint64_t pick_bits(const BitSource* bits, RowNumbers rows, int64_t i, int64_t n) {
  uint64_t word = 0;
  for (int64_t k = 0; k < n; ++k) word |= bits[rows.chunk_of(i + k)].at(rows.row[i + k]) << k;
  return word;
}

// Calls put(k, i) for every bit i in [begin, end) that is set, k counting from `first`.
template <class Put>
GS_INLINE void for_each_set_place(const uint64_t* places, int64_t begin, int64_t end, int64_t first, Put put) {
  for (int64_t i = begin; i < end; ++i) {
    if (((places[i >> 6] >> (i & 63)) & 1) != 0) put(first++, i);
  }
}

}  // namespace gs
