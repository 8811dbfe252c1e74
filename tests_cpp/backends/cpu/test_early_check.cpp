// test_early_check.cpp: which gathers look for bad indices before their first write, and what they find.
#include <vector>

#include "backends/cpu/early_check.h"
#include "cpu_cases.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

namespace {

template <class Index>
Buffers on(const std::vector<Index>& index) {
  Buffers buffers;
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  return buffers;
}

}  // namespace

TEST_CASE("what is looked at early depends on the bytes of the indices and on the cost of the move") {
  const cpu::Tuning tuning;
  const int64_t fitting = tuning.l2_bytes / 8;
  const int64_t far = tuning.far_bytes / 4 * cpu::kEarlyFar;
  REQUIRE(cpu::early_check(take_plan(fitting), tuning) == cpu::EarlyCheck::nothing);
  REQUIRE(cpu::early_check(take_plan(fitting, cpu::kEarlyUnit), tuning) == cpu::EarlyCheck::all);
  REQUIRE(cpu::early_check(take_plan(fitting, 4, IndexType::i64, far), tuning) == cpu::EarlyCheck::all);
  REQUIRE(cpu::early_check(take_plan(fitting + 1, 4, IndexType::i64, far), tuning) == cpu::EarlyCheck::lines);
  REQUIRE(cpu::early_check(take_plan(2 * fitting), tuning) == cpu::EarlyCheck::lines);
  REQUIRE(cpu::early_check(take_plan(16 * fitting, 4, IndexType::u8, 256), tuning) == cpu::EarlyCheck::nothing);
  Plan clipped = take_plan(2 * fitting);
  clipped.rule.bounds = Bounds::clip;
  REQUIRE(cpu::early_check(clipped, tuning) == cpu::EarlyCheck::nothing);
  Plan masked = take_plan(2 * fitting);
  masked.masked = true;
  REQUIRE(cpu::early_check(masked, tuning) == cpu::EarlyCheck::nothing);
}

TEMPLATE_TEST_CASE("a hundredth of bad indices is found, in a row and in any order", "", int16_t, uint16_t, int32_t,
                   uint32_t, int64_t, uint64_t) {
  const cpu::Kernels& kernels = *cpu::kernels_of("baseline");
  const auto type = static_cast<IndexType>((sizeof(TestType) == 2   ? 1
                                            : sizeof(TestType) == 4 ? 2
                                                                    : 3) +
                                           (std::is_signed_v<TestType> ? 0 : 4));
  const size_t count = 1000000;
  const Plan plan = take_plan(static_cast<int64_t>(count), 4, type, 100);
  std::vector<TestType> index(count, TestType{99});
  REQUIRE_FALSE(cpu::finds_outside_early(kernels, {}, plan, on(index), {2, nullptr}));
  for (size_t begin = 0; begin + count / 100 <= count; begin += 4321) {
    std::fill_n(index.begin() + static_cast<std::ptrdiff_t>(begin), count / 100, TestType{100});
    REQUIRE(cpu::finds_outside_early(kernels, {}, plan, on(index), {2, nullptr}));
    std::fill_n(index.begin() + static_cast<std::ptrdiff_t>(begin), count / 100, TestType{99});
  }
  Random random(5);
  for (size_t i = 0; i < count / 100; ++i) {
    index[static_cast<size_t>(random.from(0, static_cast<int64_t>(count) - 1))] = TestType{100};
  }
  REQUIRE(cpu::finds_outside_early(kernels, {}, plan, on(index), {2, nullptr}));
}

TEST_CASE("a gather that looks at all indices first writes nothing when one is bad") {
  const cpu::Tuning tuning;
  std::vector<int64_t> index(1000, 3);
  std::vector<std::byte> source(100 * cpu::kEarlyUnit), result(index.size() * cpu::kEarlyUnit, std::byte{7});
  Buffers buffers = on(index);
  buffers.indexed = source.data();
  buffers.dense = result.data();
  index.back() = 100;
  const Plan plan = take_plan(1000, cpu::kEarlyUnit);
  for (const std::string& level : levels()) {
    const cpu::Kernels& kernels = *cpu::kernels_of(level);
    REQUIRE(cpu::move_with(kernels, tuning, plan, buffers, Direction::gather, {2, nullptr}) == Outcome::bad_index);
    REQUIRE(std::count(result.begin(), result.end(), std::byte{7}) == static_cast<std::ptrdiff_t>(result.size()));
  }
}

TEST_CASE("strided indices and indices on several axes are looked at as well") {
  const cpu::Kernels& kernels = *cpu::kernels_of("baseline");
  const int64_t count = 200000;
  std::vector<int64_t> index(static_cast<size_t>(3 * count), 5);
  Plan plan = take_plan(count, 4, IndexType::i64, 10);
  plan.space = Space(Dims{count}, kIndex + 3);
  for (int a = 0; a < 3; ++a) plan.space.stride(kIndex + a, 0) = 24;
  plan.index.push_back({IndexType::i64, 1, 10, 40});
  plan.index.push_back({IndexType::i64, 2, 10, 400});
  plan.index_space = plan.space;
  Buffers buffers = on(index);
  for (int a = 1; a < 3; ++a) buffers.index.push_back(buffers.index[0] + 8 * a);
  REQUIRE_FALSE(cpu::finds_outside_early(kernels, {}, plan, buffers, {2, nullptr}));
  for (int64_t i = 0; i < count; i += 50) index[static_cast<size_t>(3 * i + 2)] = 10;
  REQUIRE(cpu::finds_outside_early(kernels, {}, plan, buffers, {2, nullptr}));
}
