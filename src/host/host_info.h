// host_info.h: describes the host: instruction set, caches, quota and number of processors.
#pragma once

#include <cstdint>
#include <string>

namespace gs::host {

// Read once per process.
struct HostInfo {
  std::string cpu_model;
  std::string isa;            // level in use: "baseline", "v3" or "v4"; GS_CPU forces it
  std::string isa_supported;  // highest level that this processor has
  bool byte_tables = false;   // AVX-512 VBMI
  bool is_amd = false;
  int64_t l2_bytes = 0;   // per core; GS_L2_BYTES overrides
  int64_t llc_bytes = 0;  // as reported; has no effect unless GS_LLC_BYTES overrides it
  int quota = 0;          // processors that the control groups allow; 0: no limit
  int threads = 0;        // GS_NUM_THREADS; 0: use `processors()`
};

// Throws std::invalid_argument with the name of the variable for a setting that is invalid or that the host does not
// support.
const HostInfo& info();

// Number of processors that the calling thread may use now, by its affinity mask and the quota. Makes a system call,
// except within an AffinityScope that has read the mask.
int processors();

}  // namespace gs::host
