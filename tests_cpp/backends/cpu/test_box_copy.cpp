// test_box_copy.cpp: boxes of every item size and rank, compared with a loop over items.
#include <cstring>
#include <vector>

#include "backends/cpu/box_copy.h"
#include "catch.h"

using namespace gs;

namespace {

// Copies item by item, with the coordinates of a counter.
void copy_naively(const cpu::Box& box, const std::byte* from, std::byte* to, int64_t bytes) {
  int64_t count = 1;
  for (const cpu::BoxAxis& axis : box) count *= axis.extent;
  for (int64_t flat = 0; flat < count; ++flat) {
    int64_t left = flat;
    int64_t source = 0;
    int64_t target = 0;
    for (int axis = box.size() - 1; axis >= 0; --axis) {
      source += left % box[axis].extent * box[axis].from;
      target += left % box[axis].extent * box[axis].to;
      left /= box[axis].extent;
    }
    std::memcpy(to + target, from + source, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

TEST_CASE("boxes of every item size and rank") {
  std::vector<std::byte> source(1 << 16);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + i / 251);
  for (const int64_t bytes : {1, 2, 4, 8, 16}) {
    const int64_t b = bytes;
    const std::vector<cpu::Box> boxes = {
        {},
        {{5, 3 * b, b}},
        {{5, b, b}},
        {{7, b, 20 * b}, {20, 7 * b, b}},
        {{7, 20 * b, b}, {20, b, 7 * b}},
        {{7, 20 * b, 30 * b}, {20, b, b}},
        {{3, b, 40 * b}, {4, 60 * b, 120 * b}, {10, 3 * b, 4 * b}},
        {{2, 500 * b, 600 * b}, {3, 100 * b, 7 * b}, {4, 20 * b, 21 * b}, {7, b, b}},
    };
    for (const cpu::Box& box : boxes) {
      std::vector<std::byte> expected(1 << 16);
      std::vector<std::byte> result(1 << 16);
      copy_naively(box, source.data(), expected.data(), bytes);
      cpu::copy_box(box, source.data(), result.data(), bytes);
      INFO("item of " << bytes << " bytes, rank " << box.size());
      REQUIRE(result == expected);
    }
    const cpu::Box backwards = {{6, -8 * b, b}, {8, -b, 6 * b}};
    std::vector<std::byte> expected(1 << 12);
    std::vector<std::byte> result(1 << 12);
    copy_naively(backwards, source.data() + 2048, expected.data(), bytes);
    cpu::copy_box(backwards, source.data() + 2048, result.data(), bytes);
    REQUIRE(result == expected);
  }
}
