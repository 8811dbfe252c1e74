// bits.h: reads Arrow bitmaps, which store the lowest bit of each byte first, from any bit offset.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gs::arrow {

constexpr int64_t words_for(int64_t bits) {
  return bits / 64 + (bits % 64 != 0 ? 1 : 0);  // (bits + 63) / 64 may overflow
}
constexpr uint64_t low_bits(int64_t n) {
  return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
}

inline bool bit_at(const std::byte* data, int64_t bit) {
  return ((static_cast<unsigned>(data[bit >> 3]) >> (bit & 7)) & 1) != 0;
}
inline bool bit_at(const uint64_t* words, int64_t bit) {
  return ((words[bit >> 6] >> (bit & 63)) & 1) != 0;
}

// Returns n bits (1 to 64) from `bit` on; reads only the bytes that contain these bits.
inline uint64_t read_bits(const std::byte* data, int64_t bit, int64_t n) {
  static_assert(std::endian::native == std::endian::little);
  const std::byte* const first = data + (bit >> 3);
  const int64_t shift = bit & 7;
  uint64_t word = 0;
  if (n == 64) {  // whole words are most of a bitmap
    std::memcpy(&word, first, 8);
    return shift == 0 ? word : word >> shift | static_cast<uint64_t>(first[8]) << (64 - shift);
  }
  const int64_t bytes = (shift + n + 7) / 8;
  std::memcpy(&word, first, static_cast<std::size_t>(bytes < 8 ? bytes : 8));
  word >>= shift;
  if (bytes > 8) word |= static_cast<uint64_t>(first[8]) << (64 - shift);
  return word & low_bits(n);
}

// Returns a bit for each of n (at most 64) bytes, set if the byte is not 0.
inline uint64_t bits_of_bytes(const std::byte* data, int64_t stride, int64_t n) {
  uint64_t word = 0;
  if (stride == 1 && n == 64) {  // eight bytes at once
    constexpr uint64_t kLow = 0x7F7F7F7F7F7F7F7F;
    for (int64_t k = 0; k < 8; ++k) {
      uint64_t bytes;
      std::memcpy(&bytes, data + k * 8, 8);
      const uint64_t high = (((bytes & kLow) + kLow) | bytes) & ~kLow;  // the highest bit of each byte that is not 0
      word |= (high >> 7) * 0x0102040810204080 >> 56 << (k * 8);
    }
    return word;
  }
  for (int64_t k = 0; k < n; ++k) word |= uint64_t{data[k * stride] != std::byte{0}} << k;
  return word;
}

// Splits the bits [at, at + length) of a result at word boundaries and calls use(at, n) for each part.
template <class Use>
void for_each_word(int64_t at, int64_t length, Use use) {
  while (length > 0) {
    const int64_t room = 64 - (at & 63);
    const int64_t n = length < room ? length : room;
    use(at, n);
    at += n;
    length -= n;
  }
}

// Calls use(bit) for each set bit in [begin, end); `begin` is a multiple of 64.
template <class Use>
void for_each_set(const uint64_t* words, int64_t begin, int64_t end, Use use) {
  for (int64_t w = begin / 64; w * 64 < end; ++w) {
    const uint64_t inside = end - w * 64 < 64 ? low_bits(end - w * 64) : ~uint64_t{0};
    for (uint64_t rest = words[w] & inside; rest != 0; rest &= rest - 1) use(w * 64 + std::countr_zero(rest));
  }
}

// Calls use(first, end) for each run of set bits in [0, count).
template <class Use>
void for_each_run_of_bits(const uint64_t* words, int64_t count, Use use) {
  const auto next = [&](int64_t at, uint64_t flip) {  // the first bit from `at` on that differs from that of `flip`
    if (at >= count) return count;
    int64_t w = at / 64;
    uint64_t word = (words[w] ^ flip) & ~low_bits(at & 63);
    while (word == 0 && ++w * 64 < count) word = words[w] ^ flip;
    return word == 0 ? count : std::min(count, w * 64 + std::countr_zero(word));
  };
  for (int64_t first = next(0, 0); first < count;) {
    const int64_t end = next(first, ~uint64_t{0});
    use(first, end);
    first = next(end, 0);
  }
}

}  // namespace gs::arrow
