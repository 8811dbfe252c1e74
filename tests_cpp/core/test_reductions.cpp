// test_reductions.cpp: which dtypes have which reductions, and how they are computed, by lists of both.
#include <algorithm>
#include <vector>

#include "catch.h"
#include "core/reductions.h"

using namespace gs;

namespace {

const std::vector<Number> kIntegers{Number::i8, Number::i16, Number::i32, Number::i64,
                                    Number::u8, Number::u16, Number::u32, Number::u64};
const std::vector<Number> kFloats{Number::f32, Number::f64};
const std::vector<Number> kComplex{Number::c64, Number::c128};
const std::vector<Number> kNarrow{Number::f16,         Number::bf16,           Number::f8_e4m3fn,
                                  Number::f8_e4m3fnuz, Number::f8_e4m3b11fnuz, Number::f8_e4m3,
                                  Number::f8_e3m4,     Number::f8_e5m2,        Number::f8_e5m2fnuz};
const std::vector<Reduce> kAll{Reduce::add, Reduce::mul, Reduce::min, Reduce::max, Reduce::mean};

// Checks the three questions about one dtype: the reductions that it has, and those that need no total.
void check(Number number, const std::vector<Reduce>& has, const std::vector<Reduce>& direct, bool narrow) {
  const auto is_among = [](const std::vector<Reduce>& list, Reduce reduce) {
    return std::find(list.begin(), list.end(), reduce) != list.end();
  };
  for (const Reduce reduce : {Reduce::set, Reduce::add, Reduce::mul, Reduce::min, Reduce::max, Reduce::mean}) {
    INFO("dtype " << static_cast<int>(number) << " reduction " << static_cast<int>(reduce));
    for (const bool include_self : {true, false}) {
      const Combine combine{reduce, number, include_self};
      REQUIRE(has_reduction(combine) == is_among(has, reduce));
      REQUIRE(combines_directly(combine) == (include_self && is_among(direct, reduce)));
      REQUIRE(sums_suffice(combine) == (narrow && reduce == Reduce::add));
    }
  }
}

}  // namespace

TEST_CASE("each dtype has its reductions, and needs totals where a value is rounded on the way", "[reductions]") {
  const std::vector<Reduce> exact{Reduce::add, Reduce::mul, Reduce::min, Reduce::max};
  for (const Number number : kIntegers) check(number, kAll, exact, false);
  for (const Number number : kFloats) check(number, kAll, exact, false);
  for (const Number number : kNarrow) check(number, kAll, {Reduce::min, Reduce::max}, true);
  for (const Number number : kComplex) {
    check(number, {Reduce::add, Reduce::mul, Reduce::mean}, {Reduce::add, Reduce::mul}, false);
  }
  check(Number::boolean, exact, exact, false);
  check(Number::none, {}, {}, false);
}

TEST_CASE("a dtype answers for itself which reductions it has", "[reductions]") {
  for (const Reduce reduce : kAll) {
    REQUIRE(has_reduction<float>(reduce));
    REQUIRE(has_reduction<int8_t>(reduce));
    REQUIRE(has_reduction<F16>(reduce));
    REQUIRE(has_reduction<bool>(reduce) == (reduce != Reduce::mean));
    REQUIRE(has_reduction<Complex<double>>(reduce) == (reduce != Reduce::min && reduce != Reduce::max));
    REQUIRE_FALSE(has_reduction<void>(reduce));
    REQUIRE(picks_operand(reduce) == (reduce == Reduce::min || reduce == Reduce::max));
  }
  REQUIRE(has_reduction<void>(Reduce::set));
}
