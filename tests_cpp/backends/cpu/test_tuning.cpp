// test_tuning.cpp: the thresholds of the CPU backend, from the caches of the host and from settings.
#include <cstdlib>
#include <stdexcept>

#include "backends/backend.h"
#include "backends/cpu/tuning.h"
#include "catch.h"
#include "host/host_info.h"
#include "host/settings.h"
#include "run_again.h"

using namespace gs::cpu;
using gs::host::info;
using gs::test::run_again;

TEST_CASE("hidden: the settings are refused", "[.]") {
  REQUIRE_THROWS_AS(host_tuning(info()), std::invalid_argument);
}

TEST_CASE("hidden: the thresholds follow the caches", "[.]") {
  REQUIRE(host_tuning(info()).far_bytes == 4 * 123456);
  REQUIRE(host_tuning(info()).far_vector_bytes == (info().isa == "v4" ? 9 : 4) * 123456);
  REQUIRE(host_tuning(info()).far_target_bytes == 16 * 123456);
  REQUIRE(host_tuning(info()).far_element_bytes == (info().is_amd ? 8 : 1) * 123456);
  REQUIRE(host_tuning(info()).stream_bytes == 7654321 / 2);
  REQUIRE(host_tuning(info()).stream_late_bytes == 7654321 / 2 * 2);
}

TEST_CASE("hidden: the setting decides on the last-level cache", "[.]") {
  REQUIRE(info().llc_bytes == int64_t{480} << 20);
  REQUIRE(host_tuning(info()).stream_bytes == int64_t{240} << 20);
}

TEST_CASE("hidden: the reported last-level cache decides nothing", "[.]") {
  REQUIRE(info().llc_bytes > 0);
  REQUIRE(host_tuning(info()).stream_bytes == int64_t{16} << 20);
}

TEST_CASE("hidden: the thresholds are those of the settings", "[.]") {
  REQUIRE(host_tuning(info()).far_bytes == 11);
  REQUIRE(host_tuning(info()).far_vector_bytes == 11);
  REQUIRE(host_tuning(info()).far_target_bytes == 11);
  REQUIRE(host_tuning(info()).stream_bytes == 12);
  REQUIRE(host_tuning(info()).stream_late_bytes == 12);
  REQUIRE(host_tuning(info()).table.far_column_bytes == 11);
  REQUIRE(host_tuning(info()).serial_points == 13);
  REQUIRE(host_tuning(info()).serial_points_far == 13 / 4);
  REQUIRE(host_tuning(info()).serial_row_bytes == 13 * 8);
  REQUIRE(host_tuning(info()).serial_near_bytes == 13 * 32);
}

TEST_CASE("hidden: one point makes every call parallel", "[.]") {
  REQUIRE(host_tuning(info()).serial_points_far == 1);
  REQUIRE(host_tuning(info()).serial_row_bytes == 8);
}

TEST_CASE("hidden: the kernels are those of the setting", "[.]") {
  const std::string level = std::getenv("GS_CPU");
  REQUIRE(gs::cpu::backend().kernel(gs::Plan(), gs::Direction::gather, {}, 1).rfind(level + " ", 0) == 0);
}

TEST_CASE("the environment decides, in a process of its own") {
  for (const std::string level : {"baseline", "v3", "v4"}) {
    REQUIRE(run_again("GS_CPU=" + level, "hidden: the kernels are those of the setting") == 0);
    if (level == gs::host::supported_level()) break;
  }
  const std::string follow = "hidden: the thresholds follow the caches";
  REQUIRE(run_again("GS_L2_BYTES=123456 GS_LLC_BYTES=7654321", follow) == 0);
  REQUIRE(run_again("GS_L2_BYTES=123457 GS_LLC_BYTES=7654321", follow) != 0);
  REQUIRE(run_again("GS_LLC_BYTES=503316480", "hidden: the setting decides on the last-level cache") == 0);
  REQUIRE(run_again("GS_NUM_THREADS=1", "hidden: the reported last-level cache decides nothing") == 0);
  REQUIRE(run_again("GS_FAR_TABLE_BYTES=11 GS_STREAM_BYTES=12 GS_SERIAL_POINTS=13",
                    "hidden: the thresholds are those of the settings") == 0);
  REQUIRE(run_again("GS_SERIAL_POINTS=1", "hidden: one point makes every call parallel") == 0);
  REQUIRE(run_again("GS_L2_BYTES=9223372036854775807", "hidden: the largest cache does not overflow") == 0);
  REQUIRE(run_again("GS_SERIAL_POINTS=0", "hidden: the settings are refused") == 0);
}

TEST_CASE("hidden: the largest cache does not overflow", "[.]") {
  REQUIRE(host_tuning(info()).far_bytes == INT64_MAX);
  REQUIRE(host_tuning(info()).table.far_column_bytes == INT64_MAX);
}
