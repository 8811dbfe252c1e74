// test_pick_positions.cpp: positions that are picked and values that are repeated, beside what NumPy documents.
#include <cstddef>
#include <string>
#include <vector>

#include "catch.h"
#include "core/pick_positions.h"

using namespace gs;

namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const std::vector<std::byte> kMask = {std::byte{1}, std::byte{0}, std::byte{2}, std::byte{0}, std::byte{255}};

}  // namespace

TEST_CASE("true positions are those of all bytes that are not 0, of any stride") {
  std::vector<int32_t> found(5, -9);
  REQUIRE(true_positions(kMask.data(), 5, 1, 5, found.data()) == 3);
  REQUIRE(found == std::vector<int32_t>{0, 2, 4, -9, -9});
  REQUIRE(true_positions(kMask.data() + 4, 3, -2, 3, found.data()) == 3);
  REQUIRE(found == std::vector<int32_t>{0, 1, 2, -9, -9});
  REQUIRE(true_positions(kMask.data(), 0, 1, 0, found.data()) == 0);
}

TEST_CASE("more true positions than there is room for are a number of their own, and no others are written") {
  std::vector<int32_t> found(3, -9);
  REQUIRE(true_positions(kMask.data(), 5, 1, 2, found.data()) == -1);
  REQUIRE(found == std::vector<int32_t>{0, 2, -9});
  REQUIRE(true_positions(kMask.data(), 4, 1, 2, found.data()) == 2);
}

TEST_CASE("a roll moves the item of each position to the place that is the shift further on") {
  for (int64_t extent = 0; extent < 6; ++extent) {
    for (const int64_t shift : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{7}, int64_t{-13}, INT64_MAX, INT64_MIN}) {
      std::vector<int32_t> found(static_cast<std::size_t>(extent), -1);
      roll_positions(shift, extent, found.data());
      for (int64_t from = 0; from < extent; ++from) {
        const int64_t to = ((from + shift % extent) % extent + extent) % extent;
        REQUIRE(found[static_cast<std::size_t>(to)] == from);
      }
    }
  }
}

TEST_CASE("values are repeated at all places, and at those of a mask without leaving one out") {
  const std::vector<std::byte> values = bytes_of("aabb");
  std::vector<std::byte> target = bytes_of("..........");
  repeat_values(values.data(), 2, 2, kMask.data(), 5, target.data());
  REQUIRE(text_of(target) == "aa..bb..aa");
  repeat_values(values.data(), 2, 2, nullptr, 5, target.data());
  REQUIRE(text_of(target) == "aabbaabbaa");
  repeat_values(values.data(), 1, 4, nullptr, 2, target.data());
  REQUIRE(text_of(target) == "aabbaabbaa");
}
