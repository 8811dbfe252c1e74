// test_hash.cpp: the hash of bytes depends on all of them, on nothing else, and spreads values over all bits.
#include <bit>
#include <cstring>
#include <random>
#include <set>
#include <string>

#include "arrow/hash.h"
#include "catch.h"

using namespace gs::arrow;

TEST_CASE("equal bytes have one hash wherever they lie", "[hash]") {
  std::mt19937_64 random(1);
  for (std::size_t size = 0; size < 100; ++size) {
    std::string text(size, ' ');
    for (char& byte : text) byte = static_cast<char>(random());
    for (std::size_t shift = 0; shift < 9; ++shift) {
      const std::string moved = std::string(shift, 'x') + text + "behind";
      REQUIRE(hash_bytes(std::string_view(moved).substr(shift, size), 7) == hash_bytes(text, 7));
    }
  }
}

TEST_CASE("every bit of every byte changes about half of the bits of the hash", "[hash]") {
  std::mt19937_64 random(2);
  for (const std::size_t size : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 64, 65}) {
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      int changed = 0;
      constexpr int kRounds = 64;
      for (int round = 0; round < kRounds; ++round) {
        std::string text(size, ' ');
        for (char& byte : text) byte = static_cast<char>(random());
        std::string other = text;
        other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
        const uint64_t seed = random();
        const uint64_t difference = hash_bytes(text, seed) ^ hash_bytes(other, seed);
        REQUIRE(difference != 0);
        changed += std::popcount(difference);
      }
      REQUIRE(changed > kRounds * 24);
      REQUIRE(changed < kRounds * 40);
    }
  }
}

TEST_CASE("words with numbers, and bytes of zeros, have different hashes that fill a table evenly", "[hash]") {
  std::set<uint64_t> hashes;
  std::set<uint64_t> places;
  constexpr int kWords = 1 << 15;
  for (int k = 0; k < kWords; ++k) {
    const uint64_t hash = hash_bytes("word number " + std::to_string(k), 0);
    hashes.insert(hash);
    places.insert(hash % kWords);
  }
  REQUIRE(hashes.size() == kWords);
  REQUIRE(places.size() > kWords * 6 / 10);  // 1 - 1/e = 0.632 of the places for hashes at random
  for (std::size_t size = 0; size < 200; ++size) hashes.insert(hash_bytes(std::string(size, '\0'), 0));
  REQUIRE(hashes.size() == kWords + 200);
}

TEST_CASE("blocks that cancel a constant of the hash do not hide the other bytes", "[hash]") {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{12345}}) {
    const uint64_t hidden = 0x9E3779B97F4A7C15 ^ seed;
    std::set<uint64_t> hashes;
    constexpr int kWords = 1 << 12;
    for (uint64_t k = 0; k < kWords; ++k) {
      std::string text(16, '\0');
      std::memcpy(text.data(), &hidden, 8);
      std::memcpy(text.data() + 8, &k, 8);
      hashes.insert(hash_bytes(text, seed));
      hashes.insert(hash_bytes(text + text.substr(0, 8) + "abcdefgh", seed));  // the second block hides the first one
    }
    REQUIRE(hashes.size() == 2 * kWords);
  }
}
