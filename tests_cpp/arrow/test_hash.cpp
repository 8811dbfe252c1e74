// test_hash.cpp: the hash of bytes depends on all of them, on nothing else, and spreads values over all bits.
#include <bit>
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
      REQUIRE(hash_bytes(std::string_view(moved).substr(shift, size)) == hash_bytes(text));
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
        const uint64_t difference = hash_bytes(text) ^ hash_bytes(other);
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
    const uint64_t hash = hash_bytes("word number " + std::to_string(k));
    hashes.insert(hash);
    places.insert(hash % kWords);
  }
  REQUIRE(hashes.size() == kWords);
  REQUIRE(places.size() > kWords * 6 / 10);  // 1 - 1/e = 0.632 of the places for hashes at random
  for (std::size_t size = 0; size < 200; ++size) hashes.insert(hash_bytes(std::string(size, '\0')));
  REQUIRE(hashes.size() == kWords + 200);
}
