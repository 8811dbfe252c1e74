// test_totals.cpp: sums of narrow floats, compared with loops over floats. test_scatter_run.cpp has the sums of
// rows, masks and other dtypes.
#include <cstring>

#include "cpu_cases.h"

using namespace gs;
using namespace gs::test;

namespace {

// What a sum is, value by value: a float, rounded once. A target without a value keeps its bytes.
template <class T>
std::vector<T> summed(const std::vector<T>& targets, const std::vector<T>& values, const std::vector<int64_t>& index,
                      bool include_self) {
  std::vector<T> result = targets;
  for (std::size_t slot = 0; slot < targets.size(); ++slot) {
    float sum = to_float(targets[slot]);
    bool touched = false;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (index[k] != static_cast<int64_t>(slot)) continue;
      sum = include_self || touched ? sum + to_float(values[k]) : to_float(values[k]);
      touched = true;
    }
    if (touched) result[slot] = narrow_number<T>(sum);
  }
  return result;
}

Plan plan_of(int64_t slots, int64_t points, int64_t item) {
  Plan plan;
  plan.item = plan.unit = item;
  plan.space = Space(Dims{points}, kIndex + 1);
  plan.space.stride(kDense, 0) = item;
  plan.space.stride(kIndex, 0) = 8;
  plan.index.push_back({IndexType::i64, 0, slots, item});
  plan.result_shape = plan.index_shape = Dims{points};
  plan.index_space = Space(Dims{points}, kIndex + 1);
  plan.index_space.stride(kIndex, 0) = 8;
  plan.finish();
  return plan;
}

// The targets after the values were added to them on this level.
template <class T>
std::vector<T> added(const std::string& level, const cpu::Tuning& tuning, const std::vector<T>& targets,
                     std::vector<T>& values, const std::vector<int64_t>& index, const Combine& combine,
                     int threads = 1) {
  const Plan plan = plan_of(static_cast<int64_t>(targets.size()), static_cast<int64_t>(values.size()), sizeof(T));
  std::vector<T> result = targets;
  Buffers buffers;
  buffers.dense = reinterpret_cast<std::byte*>(values.data());
  buffers.indexed = reinterpret_cast<std::byte*>(result.data());
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  RunOptions options;
  options.threads = threads;
  REQUIRE(cpu::reduce_with(*cpu::kernels_of(level), tuning, plan, buffers, combine, options) == Outcome::done);
  return result;
}

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T, class Bits>
void check_sums(Number number, Random& random) {
  for (const int64_t slots : {1, 7, 8, 9, 31, 400}) {
    for (const int64_t points : {1, 8, 63, 65, 300, 1200}) {
      std::vector<T> targets(static_cast<std::size_t>(slots));
      std::vector<T> values(static_cast<std::size_t>(points));
      std::vector<int64_t> index(static_cast<std::size_t>(points));
      // Half of the targets and a quarter of the values are any bytes: NaNs with and without a payload, signalling
      // ones, infinities, subnormal numbers, zeros of both signs.
      const auto draw = [&](int percent) {
        const uint64_t any = static_cast<uint64_t>(random.from(0, (int64_t{1} << (8 * sizeof(T))) - 1));
        if (random.chance(percent)) return T{static_cast<Bits>(any)};
        return narrow_number<T>(static_cast<float>(random.from(-40, 40)) / 8);
      };
      for (T& target : targets) target = draw(50);
      for (T& value : values) value = draw(25);
      for (int64_t& place : index) place = random.from(0, slots - 1);
      for (const bool include_self : {true, false}) {
        const std::vector<T> expected = summed(targets, values, index, include_self);
        for (const std::string& level : levels()) {
          for (const int threads : {1, 2, 5}) {
            cpu::Tuning tuning;
            tuning.serial_points = tuning.serial_points_far = 1;
            tuning.min_chunk_points = 16;
            INFO(level << ", " << threads << " threads, " << slots << " slots, " << points << " points, include_self "
                       << include_self);
            const Combine combine{Reduce::add, number, include_self};
            REQUIRE(same_bytes(added(level, tuning, targets, values, index, combine, threads), expected));
          }
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("sums of narrow floats are rounded once, and targets without a value keep their bytes") {
  Random random(20261128);
  check_sums<F16, uint16_t>(Number::f16, random);
  check_sums<BF16, uint16_t>(Number::bf16, random);
  check_sums<F8E5M2, uint8_t>(Number::f8_e5m2, random);
  check_sums<F8E4M3FN, uint8_t>(Number::f8_e4m3fn, random);
}

TEST_CASE("every float of 16 bits is a target with and without a value, and a value") {
  const auto check = []<class T>(Number number, T) {
    std::vector<T> targets(65536);
    for (std::size_t k = 0; k < targets.size(); ++k) targets[k] = T{static_cast<uint16_t>(k)};
    for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {  // every second target has a value
      std::vector<T> values;
      std::vector<int64_t> index;
      for (std::size_t k = first; k < targets.size(); k += 2) {
        index.push_back(static_cast<int64_t>(k));
        values.push_back(T{static_cast<uint16_t>(k * 40503)});  // an odd factor, so that all bytes come
      }
      for (const bool include_self : {true, false}) {
        std::vector<T> expected = targets;
        for (std::size_t k = 0; k < values.size(); ++k) {
          T& to = expected[static_cast<std::size_t>(index[k])];
          to = narrow_number<T>(include_self ? to_float(to) + to_float(values[k]) : to_float(values[k]));
        }
        for (const std::string& level : levels()) {
          INFO(level << ", include_self " << include_self << ", from " << first);
          const Combine combine{Reduce::add, number, include_self};
          REQUIRE(same_bytes(added(level, cpu::Tuning{}, targets, values, index, combine), expected));
        }
      }
    }
  };
  check(Number::f16, F16{});
  check(Number::bf16, BF16{});
}

TEST_CASE("a sum of many small values and a large one is not rounded at each addition") {
  std::vector<F16> values(1201, Round<F16>::from(1.0f));
  values[0] = Round<F16>::from(2048.0f);  // 2048 + 1 rounds to 2048 in a float16
  const std::vector<int64_t> index(values.size(), 0);
  for (const std::string& level : levels()) {
    const Combine combine{Reduce::add, Number::f16, true};
    const std::vector<F16> found = added(level, cpu::Tuning{}, std::vector<F16>(1), values, index, combine);
    REQUIRE(to_float(found[0]) == 3248.0f);
  }
}

TEST_CASE("sums of windows begin and end at any slot") {
  Random random(4);
  std::vector<BF16> targets(500, BF16{0x7F81});  // a signalling NaN
  for (std::size_t k = 0; k < targets.size(); k += 10) targets[k] = narrow_number<BF16>(static_cast<float>(k));
  std::vector<BF16> values(2000);
  std::vector<int64_t> index(values.size());
  for (BF16& value : values) value = narrow_number<BF16>(static_cast<float>(random.from(-9, 9)));
  for (int64_t& place : index) place = random.from(0, 99) * 5;
  cpu::Tuning tuning;
  tuning.totals_window = 37;
  for (const bool include_self : {true, false}) {
    const std::vector<BF16> expected = summed(targets, values, index, include_self);
    for (const std::string& level : levels()) {
      INFO(level << ", include_self " << include_self);
      const Combine combine{Reduce::add, Number::bf16, include_self};
      REQUIRE(same_bytes(added(level, tuning, targets, values, index, combine), expected));
    }
  }
}

TEST_CASE("a target without a value that another call changes meanwhile keeps what that call wrote") {
  const auto check = []<class T>(Number number, T) {
    constexpr int64_t kSlots = 21;
    for (const bool include_self : {true, false}) {
      for (const std::string& level : levels()) {
        const cpu::Appliers appliers = cpu::kernels_of(level)->appliers;
        const Combine combine{Reduce::add, number, include_self};
        std::vector<T> targets(kSlots, narrow_number<T>(1.0f));
        std::vector<float> sums(kSlots);
        std::vector<T> before(kSlots);
        cpu::Window totals;
        totals.record = reinterpret_cast<std::byte*>(sums.data());
        totals.before = reinterpret_cast<std::byte*>(before.data());
        totals.first = reinterpret_cast<cpu::Address>(targets.data());
        totals.include_self = include_self;
        totals.begun = true;
        appliers.sweep(combine, cpu::ApplyStep::accumulate, cpu::Keep::nothing)(totals, kSlots);
        for (T& target : targets) target = narrow_number<T>(3.0f);  // the other call
        sums[4] = 8.0f;                                             // this call
        appliers.sweep(combine, cpu::ApplyStep::finish, cpu::Keep::nothing)(totals, kSlots);
        INFO(level << ", include_self " << include_self);
        for (int64_t k = 0; k < kSlots; ++k) {
          REQUIRE(to_float(targets[static_cast<std::size_t>(k)]) == (k == 4 ? 8.0f : 3.0f));
        }
      }
    }
  };
  check(Number::f16, F16{});
  check(Number::bf16, BF16{});
  check(Number::f8_e5m2, F8E5M2{});
}
