// test_number.cpp: narrow floats, and the arithmetic of reductions on values where it could go wrong.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "catch.h"
#include "core/combine.h"

using namespace gs;

namespace {

// The value of a narrow float by its definition, in double, as an independent computation.
template <class Bits, int kExponent, int kMantissa, int kBias, Special kSpecial>
double value_of(NarrowFloat<Bits, kExponent, kMantissa, kBias, kSpecial> number) {
  const int width = 1 + kExponent + kMantissa;
  const auto bits = static_cast<uint32_t>(number.bits);
  const double sign = (bits >> (width - 1)) != 0 ? -1.0 : 1.0;
  const uint32_t exponent = (bits >> kMantissa) & ((1u << kExponent) - 1);
  const uint32_t mantissa = bits & ((1u << kMantissa) - 1);
  const bool top = exponent == (1u << kExponent) - 1;
  if (kSpecial == Special::ieee && top) return mantissa != 0 ? std::nan("") : sign * INFINITY;
  if (kSpecial == Special::fn && top && mantissa == (1u << kMantissa) - 1) return std::nan("");
  if (kSpecial == Special::fnuz && bits == 1u << (width - 1)) return std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - kBias - kMantissa);
  return sign * std::ldexp((1u << kMantissa) + mantissa, static_cast<int>(exponent) - kBias - kMantissa);
}

template <class Narrow>
std::vector<Narrow> all() {
  std::vector<Narrow> values;
  for (uint32_t bits = 0; bits < 1u << (8 * sizeof(Narrow)); ++bits) {
    values.push_back({static_cast<decltype(Narrow::bits)>(bits)});
  }
  return values;
}

}  // namespace

TEMPLATE_TEST_CASE("narrow floats widen exactly and round to the nearest, ties to even", "[number]", F16, BF16,
                   F8E4M3FN, F8E4M3FNUZ, F8E4M3B11FNUZ, F8E4M3, F8E3M4, F8E5M2, F8E5M2FNUZ) {
  std::vector<std::pair<double, TestType>> finite;
  for (const TestType number : all<TestType>()) {
    const double value = value_of(number);
    const float wide = to_float(number);
    if (std::isnan(value)) {
      REQUIRE(bits_as<uint32_t>(wide) == 0x7FC00000u);
      REQUIRE(std::isnan(value_of(Round<TestType>::from(wide))));
      continue;
    }
    REQUIRE(static_cast<double>(wide) == value);
    REQUIRE(std::signbit(wide) == std::signbit(value));
    REQUIRE(Round<TestType>::from(wide).bits == number.bits);
    REQUIRE(bits_as<uint32_t>(decoded(number)) == bits_as<uint32_t>(wide));
    if (std::isfinite(value) && !std::signbit(value)) finite.emplace_back(value, number);
  }
  // Positive values increase with their bits; the middle of two neighbours is rounded to the even one.
  for (std::size_t i = 0; i + 1 < finite.size(); ++i) {
    REQUIRE(finite[i].first < finite[i + 1].first);
    const double middle = (finite[i].first + finite[i + 1].first) / 2;
    const auto half = static_cast<float>(middle);
    if (static_cast<double>(half) != middle) continue;
    const TestType even = finite[i].second.bits % 2 == 0 ? finite[i].second : finite[i + 1].second;
    REQUIRE(Round<TestType>::from(half).bits == even.bits);
    REQUIRE(Round<TestType>::from(std::nextafter(half, 0.0f)).bits == finite[i].second.bits);
    REQUIRE(Round<TestType>::from(std::nextafter(half, INFINITY)).bits == finite[i + 1].second.bits);
    REQUIRE(value_of(Round<TestType>::from(-half)) == -value_of(even));
  }
  for (const float huge : {std::numeric_limits<float>::max(), INFINITY}) {
    const double beyond = value_of(Round<TestType>::from(huge));
    if (sizeof(TestType) == 2 || std::isinf(beyond)) {
      REQUIRE(beyond == INFINITY);
    } else {
      REQUIRE(std::isnan(beyond));
    }
  }
}

TEST_CASE("integers wrap, and their means round down", "[combine]") {
  REQUIRE(combined<Reduce::add>(int8_t{127}, int8_t{1}) == -128);
  REQUIRE(combined<Reduce::mul>(int32_t{INT32_MAX}, int32_t{INT32_MAX}) == 1);
  REQUIRE(combined<Reduce::mul>(uint16_t{65535}, uint16_t{65535}) == 1);
  REQUIRE(combined<Reduce::add>(INT64_MAX, int64_t{1}) == INT64_MIN);
  REQUIRE(combined<Reduce::mul>(INT64_MIN, int64_t{-1}) == INT64_MIN);
  REQUIRE(combined<Reduce::min>(int8_t{-3}, int8_t{2}) == -3);
  REQUIRE(combined<Reduce::max>(uint64_t{UINT64_MAX}, uint64_t{0}) == UINT64_MAX);
  REQUIRE(mean_of(int64_t{-2}, 3) == -1);
  REQUIRE(mean_of(int64_t{2}, 3) == 0);
  REQUIRE(mean_of(int64_t{-6}, 3) == -2);
  REQUIRE(mean_of(uint64_t{UINT64_MAX}, 2) == UINT64_MAX / 2);
}

TEST_CASE("every NaN is the same one, and extrema keep it", "[combine]") {
  const float payload = bits_as<float>(0xFFC12345u);
  const auto is_canonical = [](float value) { return bits_as<uint32_t>(value) == 0x7FC00000u; };
  REQUIRE(is_canonical(combined<Reduce::add>(payload, 1.0f)));
  REQUIRE(is_canonical(combined<Reduce::add>(INFINITY, -INFINITY)));
  REQUIRE(is_canonical(combined<Reduce::mul>(0.0f, INFINITY)));
  for (const float other : {-1.0f, 0.0f, INFINITY}) {
    REQUIRE(is_canonical(combined<Reduce::min>(payload, other)));
    REQUIRE(is_canonical(combined<Reduce::min>(other, payload)));
    REQUIRE(is_canonical(combined<Reduce::max>(payload, other)));
    REQUIRE(is_canonical(combined<Reduce::max>(other, payload)));
  }
  REQUIRE(is_canonical(narrow_number<float>(payload)));
  REQUIRE(std::signbit(combined<Reduce::max>(-0.0f, 0.0f)));
  REQUIRE_FALSE(std::signbit(combined<Reduce::min>(0.0f, -0.0f)));
}

TEST_CASE("complex numbers add and multiply by the plain formulas, and have no extrema", "[combine]") {
  const Complex<double> product = combined<Reduce::mul>(Complex<double>{1, 2}, Complex<double>{3, -4});
  REQUIRE(product.re == 11);
  REQUIRE(product.im == 2);
  REQUIRE_FALSE(has_reduction<Complex<float>>(Reduce::min));
  REQUIRE_FALSE(has_reduction<bool>(Reduce::mean));
  REQUIRE_FALSE(has_reduction<void>(Reduce::add));
}

TEMPLATE_TEST_CASE("an extremum is one of its operands, the earlier of two equal ones", "[combine]", float, double,
                   int8_t, int64_t, uint8_t, uint64_t) {
  const auto low = static_cast<TestType>(3);
  const auto high = static_cast<TestType>(100);
  for (const auto& [a, b] : {std::pair{low, high}, std::pair{high, low}, std::pair{low, low}}) {
    REQUIRE(combined<Reduce::min>(a, b) == std::min(a, b));
    REQUIRE(combined<Reduce::max>(a, b) == std::max(a, b));
    REQUIRE(combined_in_target<Reduce::min>(a, b) == std::min(a, b));
    REQUIRE(combined_in_target<Reduce::max>(a, b) == std::max(a, b));
  }
}

TEMPLATE_TEST_CASE("an extremum of narrow floats keeps the bits of one of them", "[combine]", F16, BF16, F8E4M3FN,
                   F8E4M3FNUZ, F8E4M3B11FNUZ, F8E4M3, F8E3M4, F8E5M2, F8E5M2FNUZ) {
  const auto narrow = [](float value) { return Round<TestType>::from(value); };
  for (const auto& [a, b] : {std::pair{1.0f, 2.0f}, std::pair{-1.0f, 0.5f}, std::pair{-2.0f, -1.0f}}) {
    for (const bool turned : {false, true}) {
      const TestType first = narrow(turned ? b : a);
      const TestType second = narrow(turned ? a : b);
      REQUIRE(combined_in_target<Reduce::min>(first, second).bits == narrow(a).bits);
      REQUIRE(combined_in_target<Reduce::max>(first, second).bits == narrow(b).bits);
    }
  }
  // Of two zeros the earlier one; types without a minus zero have but one.
  const TestType zeros[] = {narrow(0.0f), narrow(-0.0f)};
  for (const int i : {0, 1}) {
    REQUIRE(combined_in_target<Reduce::min>(zeros[i], zeros[1 - i]).bits == zeros[i].bits);
    REQUIRE(combined_in_target<Reduce::max>(zeros[i], zeros[1 - i]).bits == zeros[i].bits);
  }
  const TestType nan = narrow(NAN);
  for (const float other : {-1.0f, 0.0f, 2.0f}) {
    REQUIRE(combined_in_target<Reduce::min>(nan, narrow(other)).bits == nan.bits);
    REQUIRE(combined_in_target<Reduce::min>(narrow(other), nan).bits == nan.bits);
    REQUIRE(combined_in_target<Reduce::max>(nan, narrow(other)).bits == nan.bits);
    REQUIRE(combined_in_target<Reduce::max>(narrow(other), nan).bits == nan.bits);
  }
}

TEST_CASE("bools add and have a maximum by or, multiply and have a minimum by and", "[combine]") {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      REQUIRE(combined<Reduce::add>(a, b) == (a || b));
      REQUIRE(combined<Reduce::max>(a, b) == (a || b));
      REQUIRE(combined<Reduce::mul>(a, b) == (a && b));
      REQUIRE(combined<Reduce::min>(a, b) == (a && b));
    }
  }
}

TEST_CASE("a value is combined with its target at any address, and with nothing beside it", "[combine]") {
  unsigned char memory[24];
  std::memset(memory, 0xAB, sizeof(memory));
  const int32_t held = 40;
  std::memcpy(memory + 1, &held, 4);
  const int32_t added = 2;
  combine_direct<int32_t, Reduce::add>(memory + 1, &added);
  int32_t found = 0;
  std::memcpy(&found, memory + 1, 4);
  REQUIRE(found == 42);
  REQUIRE(memory[0] == 0xAB);
  REQUIRE(memory[5] == 0xAB);
  F16 half = Round<F16>::from(3.0f);
  const F16 less = Round<F16>::from(-1.0f);
  combine_direct<F16, Reduce::min>(&half, &less);
  REQUIRE(half.bits == less.bits);
  // A byte that is not 0 is true.
  const unsigned char two = 2;
  unsigned char target = 0;
  combine_direct<bool, Reduce::add>(&target, &two);
  REQUIRE(target == 1);
}

TEST_CASE("a total begins with the target or without it, and is written once", "[combine]") {
  const F16 half = Round<F16>::from(0.5f);
  F16 target = Round<F16>::from(1000.0f);
  for (const bool include_self : {true, false}) {
    target = Round<F16>::from(1000.0f);
    float total = -1;
    int64_t hits = 0;
    for (int i = 0; i < 4; ++i) combine_wide<F16, Reduce::mean>(&target, &half, &total, &hits, include_self);
    REQUIRE(hits == 4);
    finish_wide<F16, true>(&target, total, &hits, include_self);
    REQUIRE(hits == 0);
    REQUIRE(to_float(target) == to_float(Round<F16>::from(include_self ? 1002.0f / 5 : 0.5f)));
    const F16 once = target;
    finish_wide<F16, true>(&target, 77.0f, &hits, include_self);
    REQUIRE(target.bits == once.bits);
  }
}
