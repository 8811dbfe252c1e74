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
  // Where a way of running begins to pay (thresholds.h); GS_FAR_TABLE_BYTES and so on override.
  int64_t far_table_bytes = 0;    // tables from here on come from main memory: fetched in advance
  int64_t far_vector_bytes = 0;   // the same for 4- and 8-byte units, of which level v4 has more loads under way
  int64_t stream_bytes = 0;       // results from here on bypass the caches
  int64_t serial_points = 0;      // fewer are left to one thread: short units, table in a cache
  int64_t serial_points_far = 0;  // the same, table in main memory
  int64_t serial_row_bytes = 0;   // the same, longer units
  int quota = 0;                  // processors that the control groups allow; 0: no limit
  int threads = 0;                // GS_NUM_THREADS; 0: as many as `processors()` says
};

// Throws std::invalid_argument, naming the variable, for a setting that is unknown or unattainable.
const HostInfo& info();

// Processors that the calling thread may use now: its affinity mask, and the quota. A system call.
int processors();

// While one lives, its thread looks at its mask once: a call counts the processors, and its tasks place their helpers.
// Declared here, since the bindings see nothing of backends/cpu; the mask is in cpu/affinity.cpp.
class OneLook {
 public:
  OneLook();
  OneLook(const OneLook&) = delete;
  OneLook& operator=(const OneLook&) = delete;
  ~OneLook();

 private:
  bool outer_;
};

}  // namespace gs::host
