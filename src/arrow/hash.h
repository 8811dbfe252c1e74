// hash.h: hashes bytes by products of 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace gs::arrow {

// The halves of the product of 128 bits, folded. The factors are added, so that a factor of 0 does not hide the other.
inline uint64_t fold_product(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ a ^ b;
}

// Texts of up to 16 bytes, which most keys are, take two loads, which may overlap, and two products. With
// a seed that is not known, texts of equal hashes cannot be chosen.
inline uint64_t hash_bytes(std::string_view bytes, uint64_t seed) {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 over the golden ratio
  constexpr uint64_t kRoot = 0x6A09E667F3BCC909;    // 2^64 times the fraction of the square root of 2
  const auto load64 = [](const char* at) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    return word;
  };
  const auto load32 = [](const char* at) {
    uint32_t word;
    std::memcpy(&word, at, 4);
    return uint64_t{word};
  };
  const char* at = bytes.data();
  std::size_t rest = bytes.size();
  uint64_t hash = seed ^ kRoot ^ rest;
  for (; rest > 16; at += 16, rest -= 16) {
    hash = fold_product(load64(at) ^ kGolden ^ seed, load64(at + 8) ^ hash);
  }
  uint64_t low = 0;
  uint64_t high = 0;
  if (rest >= 8) {
    low = load64(at);
    high = load64(at + rest - 8);
  } else if (rest >= 4) {
    low = load32(at);
    high = load32(at + rest - 4);
  } else if (rest > 0) {
    low = static_cast<uint8_t>(at[0]) | uint64_t{static_cast<uint8_t>(at[rest / 2])} << 8;
    high = static_cast<uint8_t>(at[rest - 1]);
  }
  return fold_product(fold_product(low ^ kGolden ^ seed, high ^ hash), kGolden);
}

}  // namespace gs::arrow
