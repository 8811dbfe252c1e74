// test_measure_gathers.cpp: whether gather instructions are faster on this processor, and where they serve.
#include "backends/cpu/kernel_levels.h"
#include "backends/cpu/measure_gathers.h"
#include "backends/cpu/prepare.h"
#include "catch.h"
#include "host/host_info.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;

TEST_CASE("the time of gather instructions is measured where a level has them") {
  if (host::info().isa_supported != "v4") {
    SUCCEED("this processor has no such level");
    return;
  }
  const int64_t percent = cpu::percent_of_gathers(*cpu::kernels_of("v4"));
  REQUIRE(percent > 5);
  REQUIRE(percent < 2000);
}

TEST_CASE("gather instructions load units of 4 and 8 bytes where single loads take longer") {
  cpu::Tuning tuning;
  tuning.vectors = true;
  const auto gathers = [&](int64_t unit, int64_t measured, Direction direction = Direction::gather) {
    tuning.measured_percent = measured;
    Buffers buffers;
    buffers.index.push_back(nullptr);
    cpu::Prepared prepared;
    cpu::prepare(take_plan(1000, unit), buffers, direction, tuning, prepared);
    return prepared.job.gathers;
  };
  for (const int64_t unit : {4, 8}) {
    REQUIRE(gathers(unit, cpu::Tuning{}.gather_percent));
    REQUIRE(!gathers(unit, cpu::Tuning{}.gather_percent - 1));
    REQUIRE(!gathers(unit, cpu::Tuning{}.gather_percent, Direction::scatter));
  }
  REQUIRE(!gathers(2, cpu::Tuning{}.gather_percent));
  tuning.vectors = false;
  REQUIRE(!gathers(4, cpu::Tuning{}.gather_percent));
}

TEST_CASE("sparse rows of a far array need a smaller percentage") {
  cpu::Tuning tuning;
  tuning.vectors = true;
  tuning.far_vector_bytes = 1 << 20;
  tuning.measured_percent = cpu::Tuning{}.gather_percent_sparse;
  const auto gathers = [&](int64_t rows, int64_t columns, int64_t wanted, int64_t unit = 4) {
    Plan plan;  // result[i, j] = source[i, index[i, j]]
    plan.item = plan.unit = unit;
    plan.space = Space(Dims{rows, wanted}, kIndex + 1);
    plan.space.stride(kDense, 0) = wanted * unit;
    plan.space.stride(kDense, 1) = unit;
    plan.space.stride(kIndexed, 0) = columns * unit;
    plan.space.stride(kIndex, 0) = wanted * 8;
    plan.space.stride(kIndex, 1) = 8;
    plan.index.push_back({IndexType::i64, 1, columns, unit});
    plan.result_shape = plan.index_shape = Dims{rows, wanted};
    plan.index_space = plan.space;
    plan.finish();
    Buffers buffers;
    buffers.index.push_back(nullptr);
    cpu::Prepared prepared;
    cpu::prepare(plan, buffers, Direction::gather, tuning, prepared);
    const cpu::Comparison comparison = cpu::gathering(tuning, prepared.job);
    REQUIRE(comparison.is_met() == prepared.job.gathers);
    if (prepared.job.gathers) REQUIRE(std::string(comparison.threshold) == "gather_percent_sparse");
    return prepared.job.gathers;
  };
  REQUIRE(gathers(4096, 4096, 1024));
  REQUIRE(gathers(4096, 4096, 2048));
  REQUIRE(gathers(4096, 2048, 512, 8));
  REQUIRE_FALSE(gathers(4096, 4096, 2049));
  REQUIRE_FALSE(gathers(4096, 1000, 256));  // short rows
  REQUIRE_FALSE(gathers(16, 4096, 1024));   // near
  tuning.measured_percent = cpu::Tuning{}.gather_percent_sparse - 1;
  REQUIRE_FALSE(gathers(4096, 4096, 1024));
}
