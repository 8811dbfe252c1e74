// test_settings.cpp: settings from given texts, and quotas from given control group folders.
#include <stdexcept>
#include <string>

#include "catch.h"
#include "host/settings.h"
#include "temporary_folder.h"

using namespace gs::host;
using gs::test::TemporaryFolder;

namespace {

// Checks the error text, which must contain the variable and its value.
template <class Read>
std::string refusal(Read read) {
  try {
    read();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the maker of the processor is that of /proc/cpuinfo") {
  REQUIRE(is_amd() == (read_file("/proc/cpuinfo").find("AuthenticAMD") != std::string::npos));
}

TEST_CASE("thread and byte settings") {
  REQUIRE(threads_setting("GS_NUM_THREADS", nullptr, 5) == 5);
  REQUIRE(threads_setting("GS_NUM_THREADS", "1", 5) == 1);
  REQUIRE(threads_setting("GS_NUM_THREADS", "64", 5) == 64);
  REQUIRE(bytes_setting("GS_L2_BYTES", nullptr, 7) == 7);
  REQUIRE(bytes_setting("GS_L2_BYTES", "1048576", 7) == 1048576);
  for (const char* bad :
       {"", "0", "-1", "two", "2x", " 2", "2 ", "+2", "1e3", "99999999999999999999", "0x10", "1025"}) {
    INFO("'" << bad << "'");
    const std::string words = refusal([&] { threads_setting("GS_NUM_THREADS", bad, 5); });
    REQUIRE(words.find(std::string("GS_NUM_THREADS=") + bad + ": expected") == 0);
  }
  REQUIRE(refusal([] { bytes_setting("GS_LLC_BYTES", "32M", 7); }).find("GS_LLC_BYTES=32M: expected") == 0);
  REQUIRE(refusal([] { bytes_setting("GS_LLC_BYTES", "0", 7); }).find("GS_LLC_BYTES=0: expected") == 0);
  REQUIRE(points_setting("GS_SERIAL_POINTS", nullptr, 7) == 7);
  REQUIRE(points_setting("GS_SERIAL_POINTS", "9223372036854775807", 7) == INT64_MAX);
  const std::string words = refusal([] { points_setting("GS_SERIAL_POINTS", "0", 7); });
  REQUIRE(words == "GS_SERIAL_POINTS=0: expected a number of points, at least 1");
}

TEST_CASE("the model of the processor") {
  REQUIRE(
      processor_model("processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 2\nmodel name\t: AMD EPYC: 9B45\n\n") ==
      "AMD EPYC: 9B45");
  const std::string first =
      "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
      "CPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\n";
  const std::string second = "processor\t: 1\nCPU implementer\t: 0x42\nCPU part\t: 0xd05\n\n";
  REQUIRE(processor_model(first + second) == "Arm implementer 0x41, variant 0x3, part 0xd0c, revision 1");
  REQUIRE(processor_model(second) == "Arm implementer 0x42, part 0xd05");
  for (const char* text : {"", "\n", "processor : 0\n\n", "CPU part\n: x\n", "model name"}) {
    INFO("'" << text << "'");
    REQUIRE(processor_model(text) == "unknown");
  }
}

TEST_CASE("level settings") {
  for (const char* supported : {"baseline", "v3", "v4"}) {
    REQUIRE(level_setting("GS_CPU", nullptr, supported) == supported);
    REQUIRE(level_setting("GS_CPU", "baseline", supported) == "baseline");
    REQUIRE(level_setting("GS_CPU", supported, supported) == supported);
  }
  REQUIRE(level_setting("GS_CPU", "v3", "v4") == "v3");
  REQUIRE(refusal([] { level_setting("GS_CPU", "v4", "v3"); }) ==
          "GS_CPU=v4: expected at most v3, the highest level that this processor supports");
  REQUIRE(refusal([] { level_setting("GS_CPU", "v3", "baseline"); }).find("GS_CPU=v3: expected at most baseline") == 0);
  REQUIRE(refusal([] { level_setting("GS_CPU", "avx2", "v4"); }) == "GS_CPU=avx2: expected baseline, v3 or v4");
  REQUIRE(refusal([] { level_setting("GS_CPU", "", "v4"); }).find("GS_CPU=: expected") == 0);
}

TEST_CASE("quotas of version 2 groups: the tightest of a group and its parents") {
  const TemporaryFolder groups;
  groups.write("a/b/cpu.max", "max 100000\n");
  groups.write("a/cpu.max", "350000 100000\n");
  groups.write("cpu.max", "800000 100000\n");
  groups.write("a/b/memory.max", "1073741824\n");
  groups.write("a/memory.max", "max\n");
  REQUIRE(quota_processors("0::/a/b\n", groups.root()) == 4);  // 3.5, rounded up
  REQUIRE(quota_processors("0::/\n", groups.root()) == 8);
  REQUIRE(quota_processors("0::/a/b/gone\n", groups.root()) == 4);
  REQUIRE(quota_memory("0::/a/b\n", groups.root()) == 1073741824);
  REQUIRE(quota_memory("0::/a\n", groups.root()) == 0);
  groups.write("a/b/cpu.max", "10000 100000\n");
  REQUIRE(quota_processors("0::/a/b\n", groups.root()) == 1);
}

TEST_CASE("quotas of version 1 groups, also where a container sees its group as the root") {
  const TemporaryFolder groups;
  groups.write("cpu,cpuacct/job/cpu.cfs_quota_us", "200000\n");
  groups.write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  groups.write("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  groups.write("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  groups.write("memory/memory.limit_in_bytes", "536870912\n");
  const std::string membership = "12:memory:/docker/0123\n4:cpu,cpuacct:/job\n1:name=systemd:/x\n0::/x\n";
  REQUIRE(quota_processors(membership, groups.root()) == 2);
  REQUIRE(quota_processors("4:cpu,cpuacct:/\n", groups.root()) == 0);
  REQUIRE(quota_processors("4:cpuset:/job\n", groups.root()) == 0);
  REQUIRE(quota_memory(membership, groups.root()) == 536870912);
}

TEST_CASE("damaged control group files limit nothing") {
  const TemporaryFolder groups;
  for (const char* text : {"", "\n", "abc def", "100000", "100000 0", "-5 100000", "100000 x"}) {
    groups.write("cpu.max", text);
    REQUIRE(quota_processors("0::/\n", groups.root()) == 0);
  }
  REQUIRE(quota_processors("", groups.root()) == 0);
  REQUIRE(quota_processors("nonsense\n:\n::\n", groups.root()) == 0);
  REQUIRE(quota_processors("0::/\n", groups.root() + "/missing") == 0);
}
