// test_host_info.cpp: the description of this machine, and the settings that change it.
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "catch.h"
#include "host/host_info.h"
#include "host/memory_pool.h"
#include "host/settings.h"
#include "run_again.h"

using namespace gs::host;
using gs::test::run_again;

TEST_CASE("this machine") {
  const HostInfo& host = info();
  REQUIRE(&host == &info());
  REQUIRE_FALSE(host.cpu_model.empty());
  REQUIRE(host.l2_bytes >= 64 * 1024);
  REQUIRE(host.llc_bytes >= host.l2_bytes);
  cpu_set_t set;
  REQUIRE(sched_getaffinity(0, sizeof(set), &set) == 0);
  REQUIRE(processors() == (host.quota > 0 ? std::min(host.quota, CPU_COUNT(&set)) : CPU_COUNT(&set)));
  REQUIRE(host.isa_supported == supported_level());
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
  const char* level = __builtin_cpu_supports("x86-64-v4")   ? "v4"
                      : __builtin_cpu_supports("x86-64-v3") ? "v3"
                                                            : "baseline";
  REQUIRE(host.isa_supported == level);  // the compiler's own detection
#endif
}

TEST_CASE("the number of processors follows the mask of the calling thread") {
  const int before = processors();
  int narrowed = 0;
  std::thread([&narrowed] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &set);
    if (sched_setaffinity(0, sizeof(set), &set) == 0) narrowed = processors();
  }).join();
  REQUIRE(narrowed == 1);
  REQUIRE(processors() == before);
}

TEST_CASE("hidden: the level is that of the setting", "[.]") {
  REQUIRE(info().isa == std::getenv("GS_CPU"));
}

TEST_CASE("hidden: the settings are refused", "[.]") {
  REQUIRE_THROWS_AS(info(), std::invalid_argument);
}

TEST_CASE("hidden: the numbers are those of the settings", "[.]") {
  REQUIRE(info().threads == 7);
  REQUIRE(info().l2_bytes == 123456);
  REQUIRE(info().llc_bytes == 7654321);
}

TEST_CASE("hidden: the pool is off", "[.]") {
  REQUIRE_FALSE(pool_state().enabled);
  void* block = allocate(size_t{8} << 20);
  REQUIRE(pool_state().used_bytes == 0);
  release(block);
  REQUIRE(pool_state().cached_bytes == 0);
}

TEST_CASE("hidden: the setting of the pool is refused", "[.]") {
  REQUIRE_THROWS_AS(pool_state(), std::invalid_argument);
}

TEST_CASE("the environment decides, in a process of its own") {
  bool attainable = true;
  for (const std::string level : {"baseline", "v3", "v4"}) {
    const std::string setting = "GS_CPU=" + level;
    INFO(setting);
    if (attainable) {
      REQUIRE(run_again(setting, "hidden: the level is that of the setting") == 0);
    } else {
      REQUIRE(run_again(setting, "hidden: the settings are refused") == 0);
    }
    if (level == supported_level()) attainable = false;
  }
  const std::string numbers = "hidden: the numbers are those of the settings";
  REQUIRE(run_again("GS_CPU=v5", "hidden: the settings are refused") == 0);
  REQUIRE(run_again("GS_NUM_THREADS=0", "hidden: the settings are refused") == 0);
  REQUIRE(run_again("GS_L2_BYTES=9223372036854775807", "hidden: the settings are refused") != 0);
  REQUIRE(run_again("GS_NUM_THREADS=7 GS_L2_BYTES=123456 GS_LLC_BYTES=7654321", numbers) == 0);
  REQUIRE(run_again("GS_NUM_THREADS=8 GS_L2_BYTES=123456 GS_LLC_BYTES=7654321", numbers) != 0);
  REQUIRE(run_again("GS_POOL=0", "hidden: the pool is off") == 0);
  REQUIRE(run_again("GS_POOL=1", "hidden: the pool is off") != 0);
  REQUIRE(run_again("GS_POOL=maybe", "hidden: the setting of the pool is refused") == 0);
}
