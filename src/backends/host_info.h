// host_info.h: what this machine is, read once at start: instruction set, caches, processors that may be used.
#pragma once

#include <cstdint>
#include <string>

namespace gs::host {

struct HostInfo {
  std::string cpu_model;
  std::string isa;            // level in use: "baseline", "v3" or "v4"; GS_CPU forces it
  std::string isa_supported;  // highest level that this processor has
  bool fast_gathers = true;   // gather instructions, unless microcode slows them down
  bool byte_tables = false;   // AVX-512 VBMI
  int64_t l2_bytes = 0;       // per core; GS_L2_BYTES overrides
  int64_t llc_bytes = 0;      // GS_LLC_BYTES overrides
  int processors = 1;         // affinity mask and cgroup quota respected
  int threads = 1;            // GS_NUM_THREADS, else `processors`
};

// Throws std::invalid_argument, naming the variable, for a setting that is unknown or unattainable.
const HostInfo& info();

}  // namespace gs::host
