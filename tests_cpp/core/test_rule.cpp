// test_rule.cpp: every rule at both edges of an axis, compared with the definition.
#include <limits>
#include <type_traits>

#include "catch.h"
#include "core/rule.h"

using namespace gs;

namespace {

// The definition in plain 128-bit arithmetic.
template <class Index>
int64_t by_definition(Index value, int64_t extent, Rule rule) {
  __int128 v = value;
  if (rule.negative == Negative::from_end && v < 0) v += extent;
  if (v >= 0 && v < extent) return static_cast<int64_t>(v);
  if (extent == 0) return kNowhere;
  if (rule.bounds == Bounds::clip) return v < 0 ? 0 : extent - 1;
  if (rule.bounds == Bounds::wrap) {
    __int128 r = v % extent;
    return static_cast<int64_t>(r < 0 ? r + extent : r);
  }
  return kNowhere;
}

const Bounds kChecked[] = {Bounds::raise, Bounds::deferred, Bounds::fill, Bounds::clip, Bounds::wrap};
const Negative kNegatives[] = {Negative::from_end, Negative::out_of_bounds};

}  // namespace

TEMPLATE_TEST_CASE("resolve agrees with the definition", "[rule]", int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                   uint32_t, uint64_t) {
  using Limits = std::numeric_limits<TestType>;
  const int64_t extents[] = {
      0, 1, 2, 3, 100, 127, 128, 255, 256, 65535, 65536, INT32_MAX, int64_t{1} << 32, INT64_MAX - 1};
  for (const int64_t extent : extents) {
    const __int128 candidates[] = {0,
                                   1,
                                   2,
                                   extent - 1,
                                   extent,
                                   extent + __int128{1},
                                   -1,
                                   -2,
                                   -extent,
                                   -extent - 1,
                                   -extent + 1,
                                   2 * __int128{extent},
                                   7,
                                   Limits::max(),
                                   Limits::min(),
                                   Limits::max() - 1,
                                   Limits::min() + 1,
                                   extent / 2,
                                   (__int128{1} << 32) + 1};
    for (const __int128 candidate : candidates) {
      if (candidate < Limits::min() || candidate > Limits::max()) continue;
      const auto value = static_cast<TestType>(candidate);
      for (const Bounds bounds : kChecked) {
        for (const Negative negative : kNegatives) {
          const Rule rule{bounds, negative};
          INFO("value " << static_cast<int64_t>(value) << " extent " << extent << " bounds "
                        << static_cast<int>(bounds));
          const int64_t expected = by_definition(value, extent, rule);
          REQUIRE(resolve(value, extent, rule) == expected);
          if (extent == 0 || bounds == Bounds::wrap) continue;
          const int64_t added = added_to_negative(extent, negative, std::is_signed_v<TestType>);
          const Lane lane = bounds == Bounds::clip ? resolve_lane<Bounds::clip>(widen(value), extent, added)
                                                   : resolve_lane<Bounds::fill>(widen(value), extent, added);
          REQUIRE((lane.outside < 0) == (expected == kNowhere));
          if (lane.outside >= 0) REQUIRE(lane.position == expected);
        }
      }
    }
  }
}

TEST_CASE("an unsigned maximum never becomes -1", "[rule]") {
  REQUIRE(resolve(UINT64_MAX, 5, {Bounds::raise, Negative::from_end}) == kNowhere);
  REQUIRE(resolve(uint64_t{1} << 63, 5, {Bounds::fill, Negative::from_end}) == kNowhere);
  REQUIRE(resolve(UINT64_MAX, 5, {Bounds::clip, Negative::from_end}) == 4);
  REQUIRE(resolve(UINT64_MAX, 10, {Bounds::wrap, Negative::from_end}) == 5);
  REQUIRE(resolve(uint8_t{255}, 256, {Bounds::raise, Negative::from_end}) == 255);
}

TEST_CASE("unchecked gives the value back, counted from the end where that is the rule", "[rule]") {
  REQUIRE(resolve(int32_t{-1}, 5, {Bounds::unchecked, Negative::from_end}) == 4);
  REQUIRE(resolve(int32_t{-1}, 5, {Bounds::unchecked, Negative::out_of_bounds}) == -1);
  REQUIRE(resolve(int64_t{9}, 5, {Bounds::unchecked, Negative::from_end}) == 9);
}

TEST_CASE("only fill answers a position outside", "[rule]") {
  REQUIRE(Rule{Bounds::fill, Negative::from_end}.fills());
  for (const Bounds bounds : {Bounds::raise, Bounds::deferred, Bounds::clip, Bounds::wrap, Bounds::unchecked}) {
    REQUIRE_FALSE(Rule{bounds, Negative::from_end}.fills());
  }
}

TEST_CASE("a type may miss an axis if one of its values has no position", "[rule]") {
  const auto check = [](auto zero, IndexType type, int64_t extent, Negative negative) {
    using Index = decltype(zero);
    bool misses = false;
    for (int64_t value = std::numeric_limits<Index>::min(); value <= std::numeric_limits<Index>::max(); ++value) {
      misses = misses || resolve(static_cast<Index>(value), extent, {Bounds::raise, negative}) == kNowhere;
    }
    INFO(index_name(type) << " extent " << extent);
    REQUIRE(may_miss(type, extent, negative) == misses);
  };
  for (const Negative negative : kNegatives) {
    for (const int64_t extent : {0, 1, 127, 128, 129, 255, 256, 257}) {
      check(int8_t{}, IndexType::i8, extent, negative);
      check(uint8_t{}, IndexType::u8, extent, negative);
    }
    for (const int64_t extent : {32767, 32768, 32769, 65535, 65536, 65537}) {
      check(int16_t{}, IndexType::i16, extent, negative);
      check(uint16_t{}, IndexType::u16, extent, negative);
    }
    REQUIRE(may_miss(IndexType::i64, INT64_MAX, negative));
    REQUIRE(may_miss(IndexType::u64, INT64_MAX, negative));
  }
}
