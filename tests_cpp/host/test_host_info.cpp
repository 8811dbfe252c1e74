// test_host_info.cpp: settings and quotas from given texts and folders, and the description of this machine.
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/tuning.h"
#include "catch.h"
#include "host/host_info.h"
#include "host/memory_pool.h"
#include "host/settings.h"

using namespace gs::host;

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

// A folder with files of control groups, which is removed at the end.
class Groups {
 public:
  Groups() {
    std::string name = (std::filesystem::temp_directory_path() / "gs_groups_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  ~Groups() { std::filesystem::remove_all(root_); }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = std::filesystem::path(root_) / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

// Exit status of this program when it runs again with a setting and one hidden test case.
int run_again(const std::string& setting, const std::string& name) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "env " + setting + " '" + program + "' '" + name + "' > /dev/null 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

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
  const Groups groups;
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
  const Groups groups;
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
  const Groups groups;
  for (const char* text : {"", "\n", "abc def", "100000", "100000 0", "-5 100000", "100000 x"}) {
    groups.write("cpu.max", text);
    REQUIRE(quota_processors("0::/\n", groups.root()) == 0);
  }
  REQUIRE(quota_processors("", groups.root()) == 0);
  REQUIRE(quota_processors("nonsense\n:\n::\n", groups.root()) == 0);
  REQUIRE(quota_processors("0::/\n", groups.root() + "/missing") == 0);
}

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

TEST_CASE("hidden: the forced level is the one that runs", "[.]") {
  const std::string level = getenv("GS_CPU");
  REQUIRE(info().isa == level);
  REQUIRE(gs::cpu::backend().kernel(gs::Plan(), gs::Direction::gather, {}, 1).rfind(level + " ", 0) == 0);
}

TEST_CASE("hidden: the settings are refused", "[.]") {
  REQUIRE_THROWS_AS(gs::cpu::host_tuning(info()), std::invalid_argument);
}

TEST_CASE("hidden: the numbers are taken", "[.]") {
  REQUIRE(info().threads == 7);
  REQUIRE(info().l2_bytes == 123456);
  REQUIRE(info().llc_bytes == 7654321);
  REQUIRE(gs::cpu::host_tuning(info()).far_bytes == 4 * 123456);
  REQUIRE(gs::cpu::host_tuning(info()).far_vector_bytes == (info().isa == "v4" ? 9 : 4) * 123456);
  REQUIRE(gs::cpu::host_tuning(info()).stream_bytes == 7654321 / 2);
}

TEST_CASE("hidden: the setting decides on the last-level cache", "[.]") {
  REQUIRE(info().llc_bytes == int64_t{480} << 20);
  REQUIRE(gs::cpu::host_tuning(info()).stream_bytes == int64_t{240} << 20);
}

TEST_CASE("hidden: the reported last-level cache decides nothing", "[.]") {
  REQUIRE(info().llc_bytes > 0);
  REQUIRE(gs::cpu::host_tuning(info()).stream_bytes == int64_t{16} << 20);
}

TEST_CASE("hidden: the thresholds are taken", "[.]") {
  REQUIRE(gs::cpu::host_tuning(info()).far_bytes == 11);
  REQUIRE(gs::cpu::host_tuning(info()).far_vector_bytes == 11);
  REQUIRE(gs::cpu::host_tuning(info()).stream_bytes == 12);
  REQUIRE(gs::cpu::host_tuning(info()).serial_points == 13);
  REQUIRE(gs::cpu::host_tuning(info()).serial_points_far == 14);
  REQUIRE(gs::cpu::host_tuning(info()).serial_row_bytes == 15);
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
  const std::vector<std::string> levels = {"baseline", "v3", "v4"};
  bool attainable = true;
  for (const std::string& level : levels) {
    const std::string setting = "GS_CPU=" + level;
    INFO(setting);
    if (attainable) {
      REQUIRE(run_again(setting, "hidden: the forced level is the one that runs") == 0);
    } else {
      REQUIRE(run_again(setting, "hidden: the settings are refused") == 0);
    }
    if (level == supported_level()) attainable = false;
  }
  REQUIRE(run_again("GS_CPU=v5", "hidden: the settings are refused") == 0);
  REQUIRE(run_again("GS_NUM_THREADS=0", "hidden: the settings are refused") == 0);
  REQUIRE(run_again("GS_NUM_THREADS=7 GS_L2_BYTES=123456 GS_LLC_BYTES=7654321", "hidden: the numbers are taken") == 0);
  REQUIRE(run_again("GS_LLC_BYTES=503316480", "hidden: the setting decides on the last-level cache") == 0);
  REQUIRE(run_again("GS_NUM_THREADS=1", "hidden: the reported last-level cache decides nothing") == 0);
  REQUIRE(run_again("GS_NUM_THREADS=8 GS_L2_BYTES=123456 GS_LLC_BYTES=7654321", "hidden: the numbers are taken") != 0);
  REQUIRE(run_again("GS_FAR_TABLE_BYTES=11 GS_STREAM_BYTES=12 GS_SERIAL_POINTS=13 GS_SERIAL_POINTS_FAR=14 "
                    "GS_SERIAL_ROW_BYTES=15",
                    "hidden: the thresholds are taken") == 0);
  REQUIRE(run_again("GS_L2_BYTES=9223372036854775807", "hidden: the settings are refused") != 0);
  REQUIRE(run_again("GS_SERIAL_ROW_BYTES=0", "hidden: the settings are refused") == 0);
  REQUIRE(run_again("GS_POOL=0", "hidden: the pool is off") == 0);
  REQUIRE(run_again("GS_POOL=1", "hidden: the pool is off") != 0);
  REQUIRE(run_again("GS_POOL=maybe", "hidden: the setting of the pool is refused") == 0);
}
