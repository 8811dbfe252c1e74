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
  const int64_t percent = cpu::percent_of_gathers(cpu::kernels("v4"));
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
    REQUIRE(gathers(unit, cpu::kGatherPercent));
    REQUIRE(!gathers(unit, cpu::kGatherPercent - 1));
    REQUIRE(!gathers(unit, cpu::kGatherPercent, Direction::scatter));
  }
  REQUIRE(!gathers(2, cpu::kGatherPercent));
  tuning.vectors = false;
  REQUIRE(!gathers(4, cpu::kGatherPercent));
}
