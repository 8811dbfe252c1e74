// test_scatter_elements.cpp: scatters of small units along one axis, whose groups of points may follow each other, be
// masked or lie outside, compared with loops.
#include "cpu_cases.h"
#include "host/zero_pages.h"

using namespace gs;
using namespace gs::test;

namespace {

// A scatter of `points` units to an axis of `extent` positions.
Case scatter_along_axis(int64_t unit, IndexType type, int64_t points, int64_t extent, bool masked, Random& random) {
  Case test;
  Plan& plan = test.plan;
  plan.item = plan.unit = unit;
  plan.masked = masked;
  plan.space = Space(Dims{points}, kIndex + 1);
  plan.space.stride(kDense, 0) = unit;
  plan.space.stride(kIndex, 0) = index_size(type);
  if (masked) plan.space.stride(kMask, 0) = 1;
  plan.index.push_back({type, 0, extent, unit});
  plan.result_shape = plan.index_shape = Dims{points};
  plan.index_space = plan.space;
  plan.finish();
  test.dense = make_array({0, points * unit}, random);
  test.indexed = make_array({0, extent * unit}, random);
  if (masked) test.mask = make_array({0, points}, random);
  test.index.push_back(make_array({0, points * index_size(type)}, random));
  return test;
}

// Runs of positions that follow each other, between points at random. Some are counted from the end.
void choose_runs(Case& test, int64_t longest, Random& random) {
  const IndexArray& index = test.plan.index[0];
  const int64_t points = test.plan.space.count();
  const bool counts = test.plan.rule.negative == Negative::from_end && index_is_signed(index.type);
  for (int64_t k = 0; k < points;) {
    int64_t position = random.from(0, index.extent - 1);
    const bool negative = counts && random.chance(30);
    const int64_t run = random.chance(50) ? random.from(1, longest) : 1;
    for (const int64_t end = std::min(k + run, points); k < end && position < index.extent; ++k, ++position) {
      store(test.index_data(0) + k * index_size(index.type), index.type, negative ? position - index.extent : position);
    }
  }
}

void choose_mask(Case& test, Random& random) {
  const int64_t points = test.plan.space.count();
  for (int64_t k = 0; k < points;) {
    const auto keeps = static_cast<std::byte>(random.chance(70) ? random.from(1, 255) : 0);
    for (const int64_t end = std::min(k + random.from(1, 300), points); k < end; ++k) test.mask.data()[k] = keeps;
  }
}

}  // namespace

TEST_CASE("groups of points that follow each other are copied, whatever stands between them") {
  Random random(20261128);
  const auto setups = run_setups();
  for (const std::string& level : levels()) {
    for (const int64_t unit : {1, 2, 4, 8, 16}) {
      for (int round = 0; round < 120; ++round) {
        const auto type = static_cast<IndexType>(random.from(0, 7));
        const int64_t most = std::min<int64_t>(index_size(type) == 1 ? 127 : 3000, 3000);
        const int64_t points = random.chance(50) ? random.pick(kEdges) : random.from(1, 3000);
        Case test = scatter_along_axis(unit, type, points, random.from(1, most), random.chance(40), random);
        test.plan.rule.bounds = random.pick<Bounds>({Bounds::raise, Bounds::fill, Bounds::clip, Bounds::unchecked});
        if (random.chance(20)) test.plan.rule.negative = Negative::out_of_bounds;
        test.plan.finish();
        choose_runs(test, random.pick<int64_t>({3, 70, 1000}), random);
        if (test.plan.masked) choose_mask(test, random);
        if (test.plan.rule.bounds != Bounds::unchecked && random.chance(30)) {  // an index outside
          const int64_t value = choose_value(type, test.plan.index[0].extent, test.plan.rule, true, random);
          store(test.index_data(0) + random.from(0, points - 1) * index_size(type), type, value);
        }
        const RunSetup& setup = random.pick(setups);
        INFO(level << ", " << setup.name << ", unit " << unit << ", index type " << static_cast<int>(type)
                   << ", bounds " << static_cast<int>(test.plan.rule.bounds) << ", " << points << " points");
        REQUIRE(agrees(test, Direction::scatter, level, setup));
      }
    }
  }
}

TEST_CASE("a point that is nowhere does not belong to the group that follows it") {
  // Its position is the largest number, in front of position 0 as unsigned numbers go. The others were lost.
  Random random(7);
  const auto setups = run_setups();
  for (const std::string& level : levels()) {
    for (const RunSetup& setup : setups) {
      for (const int64_t points : {1, 2, 16, 17, 63, 64, 65, 129, 400}) {
        for (const bool masked : {false, true}) {
          const int64_t unit = random.pick<int64_t>({1, 2, 4, 8, 16});
          const int64_t nowhere = random.chance(50) ? 0 : random.from(0, points - 1);
          Case test = scatter_along_axis(unit, IndexType::i64, points, points, masked, random);
          test.plan.rule = {masked ? Bounds::raise : Bounds::fill, Negative::out_of_bounds};
          test.plan.finish();
          for (int64_t k = 0; k < points; ++k) {
            const int64_t position = k == nowhere ? -1 : (k - nowhere - 1 + points) % points;
            store(test.index_data(0) + k * 8, IndexType::i64, position);
            if (masked) test.mask.data()[k] = static_cast<std::byte>(k != nowhere);
          }
          INFO(level << ", " << setup.name << ", unit " << unit << ", " << points << " points, nowhere " << nowhere);
          REQUIRE(agrees(test, Direction::scatter, level, setup));
        }
      }
    }
  }
}

TEST_CASE("positions of an axis of more than 2^31 positions are found") {
  // One byte each; a few pages of the target are touched.
  constexpr int64_t kExtent = (int64_t{1} << 31) + 5000;
  host::ZeroPages target(kExtent);
  Random random(3);
  for (const std::string& level : levels()) {
    for (const IndexType type : {IndexType::i32, IndexType::u32, IndexType::i64, IndexType::u64}) {
      Case test = scatter_along_axis(1, type, 70, 1, false, random);
      test.plan.index[0].extent = kExtent;
      test.plan.finish();
      std::vector<int64_t> position(70);
      for (int64_t k = 0; k < 70; ++k) {
        const bool far = type != IndexType::i32 || k % 2 == 0;
        position[static_cast<std::size_t>(k)] = far ? kExtent - 71 + k : INT32_MAX - k;
        const bool negative = type == IndexType::i32 ? far : type == IndexType::i64 && k % 3 == 0;
        store(test.index_data(0) + k * index_size(type), type,
              position[static_cast<std::size_t>(k)] - (negative ? kExtent : 0));
      }
      Buffers buffers = test.buffers();
      buffers.indexed = target.data();
      INFO(level << ", index type " << static_cast<int>(type));
      REQUIRE(cpu::move_with(*cpu::kernels_of(level), {}, test.plan, buffers, Direction::scatter, {}) == Outcome::done);
      for (int64_t k = 0; k < 70; ++k) {
        std::byte& written = target.data()[position[static_cast<std::size_t>(k)]];
        REQUIRE((written == test.dense.data()[k]));
        written = std::byte{0};
      }
    }
  }
}
