// bit_source.h: describes the bits of pieces for kernels that pick single bits and for loops that copy whole words.
#pragma once

#include "arrow/bits.h"
#include "table/picks.h"

namespace gs::table {

// Kernels read this byte for pieces without a validity bitmap.
inline constexpr std::byte kOnes{0xFF};

inline uint64_t bit_address(const std::byte* data) {
  return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(data)) * 8;
}

// The bits of `buffer` for the rows of a piece. If there is no buffer, all bits are 1 (BitSource::keep is 0).
inline BitSource bit_source(const Buffer& buffer, const Piece& piece) {
  if (buffer.data == nullptr) return {bit_address(&kOnes), 0, bit_address(&kOnes) / 8 + 1};
  const uint64_t first = bit_address(buffer.data) + static_cast<uint64_t>(piece.offset);
  return {first, ~uint64_t{0}, (first + static_cast<uint64_t>(piece.length) + 7) / 8};
}

inline uint64_t source_bits(const BitSource& source, int64_t row, int64_t n) {
  if (source.keep == 0) return low_bits(n);
  const uint64_t bit = source.first + static_cast<uint64_t>(row);
  return read_bits(reinterpret_cast<const std::byte*>(bit >> 3), static_cast<int64_t>(bit & 7), n);
}

}  // namespace gs::table
