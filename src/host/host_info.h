// host_info.h: what this machine is, read once at start: instruction set, caches, quota; and processors, read each
// time.
#pragma once

#include <cstdint>
#include <string>

namespace gs::host {

struct HostInfo {
  std::string cpu_model;
  std::string isa;            // level in use: "baseline", "v3" or "v4"; GS_CPU forces it
  std::string isa_supported;  // highest level that this processor has
  bool byte_tables = false;   // AVX-512 VBMI
  int64_t l2_bytes = 0;       // per core; GS_L2_BYTES overrides
  int64_t llc_bytes = 0;      // as reported; decides nothing unless GS_LLC_BYTES overrides it
  int quota = 0;              // processors that the control groups allow; 0: no limit
  int threads = 0;            // GS_NUM_THREADS; 0: as many as `processors()` says
};

// Throws std::invalid_argument, naming the variable, for a setting that is unknown or unattainable.
const HostInfo& info();

// Processors that the calling thread may use now: its affinity mask, and the quota. A system call.
int processors();

}  // namespace gs::host
