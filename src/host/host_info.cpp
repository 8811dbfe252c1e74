// host_info.cpp: reads processor, caches, quota and settings of the host.
#include "host/host_info.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "host/affinity.h"
#include "host/settings.h"

namespace gs::host {
namespace {

constexpr int64_t kUsualL2 = 1 << 20;
constexpr int64_t kUsualLlc = 8 << 20;

// Size of a cache of processor 0, which Linux reports as "1024K" or "32M"; 0 if it is not reported.
int64_t cache_bytes(int level) {
  for (int entry = 0; entry < 8; ++entry) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(entry) + "/";
    if (std::atoi(read_file(folder + "level").c_str()) != level) continue;
    if (read_file(folder + "type").rfind("Instruction", 0) == 0) continue;
    std::istringstream text(read_file(folder + "size"));
    int64_t size = 0;
    char scale = ' ';
    text >> size >> scale;
    return size << (scale == 'K' ? 10 : scale == 'M' ? 20 : scale == 'G' ? 30 : 0);
  }
  return 0;
}

int64_t bytes_of(const char* variable, int64_t otherwise) {
  return bytes_setting(variable, std::getenv(variable), otherwise);
}

HostInfo read_host() {
  HostInfo info;
  info.cpu_model = processor_model(read_file("/proc/cpuinfo"));
  info.isa_supported = supported_level();
  info.isa = level_setting("GS_CPU", std::getenv("GS_CPU"), info.isa_supported);
  info.byte_tables = info.isa == "v4" && has_byte_permutations();
  info.is_amd = is_amd();
  const int64_t l2 = cache_bytes(2);
  const int64_t l3 = cache_bytes(3);
  info.l2_bytes = bytes_of("GS_L2_BYTES", l2 > 0 ? l2 : kUsualL2);
  info.llc_bytes = bytes_of("GS_LLC_BYTES", l3 > 0 ? l3 : std::max(l2, kUsualLlc));
  info.quota = quota_processors(read_file("/proc/self/cgroup"), "/sys/fs/cgroup");
  info.threads = threads_setting("GS_NUM_THREADS", std::getenv("GS_NUM_THREADS"), 0);
  return info;
}

}  // namespace

const HostInfo& info() {
  static const HostInfo host = read_host();
  return host;
}

int processors() {
  int allowed = Affinity::of_caller().count();
  if (allowed == 0) allowed = static_cast<int>(std::thread::hardware_concurrency());
  const int quota = info().quota;
  return std::clamp(quota > 0 ? std::min(quota, allowed) : allowed, 1, kMostThreads);
}

}  // namespace gs::host
