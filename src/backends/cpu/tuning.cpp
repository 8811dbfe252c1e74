// tuning.cpp: computes the tuning of the host from its caches and from environment variables.
#include "backends/cpu/tuning.h"

#include <algorithm>
#include <cstdlib>

#include "host/host_info.h"
#include "host/saved_tuning.h"
#include "host/settings.h"

namespace gs::cpu {
namespace {

constexpr int64_t kFarTablePerL2 = 4;    // a source array of so many L2 caches is far
constexpr int64_t kFarColumnsPerL2 = 2;  // the same of the columns of tables
constexpr int64_t kFarVectorsPerL2 = 9;  // the same on the `vectors` path
// The same of the targets of scatters: prefetching nearer ones takes 1.0 to 1.2 of the time (Zen 5, Xeon).
constexpr int64_t kFarTargetsPerL2 = 16;
// The same of units up to 16 bytes that are copied: 0.55 of the time into 4 MiB (Xeon).
constexpr int64_t kFarElementsPerL2 = 1;
// On processors of AMD, whose last-level cache is nearer: 1.1 to 1.3 into less (Zen 4).
constexpr int64_t kFarElementsPerL2OfAmd = 8;
// Multiples of kStreamBytes from which rows of a near source array stream: 16 MiB 1.15 to 1.9 (Zen 5, Xeon).
constexpr int64_t kStreamLateFactor = 2;
// In a table that streams, columns of this part of kStreamBytes do: 0.6 to 0.95 of the time (Xeon).
constexpr int64_t kStreamColumnPart = 8;
constexpr int64_t kStreamPartOfLlc = 2;  // with GS_LLC_BYTES: results of at least LLC / this stream
// The other thresholds of threads keep the ratios to serial_points that they have by default (tuning.h).
constexpr Tuning kDefault;
constexpr int64_t kSerialPointsPerFar = kDefault.serial_points / kDefault.serial_points_far;
constexpr int64_t kRowBytesPerPoint = kDefault.serial_row_bytes / kDefault.serial_points;
constexpr int64_t kNearBytesPerPoint = kDefault.serial_near_bytes / kDefault.serial_points;

// What the user has set, else what `tune --save` has measured, else the default.
int64_t bytes_from(const char* variable, int64_t otherwise) {
  const int64_t* const saved = host::saved_tuning().find(variable);
  return host::bytes_setting(variable, std::getenv(variable), saved != nullptr ? *saved : otherwise);
}

int64_t points_from(const char* variable, int64_t otherwise) {
  const int64_t* const saved = host::saved_tuning().find(variable);
  return host::points_setting(variable, std::getenv(variable), saved != nullptr ? *saved : otherwise);
}

int64_t times(int64_t bytes, int64_t factor) {
  return bytes > INT64_MAX / factor ? INT64_MAX : bytes * factor;
}

}  // namespace

Tuning host_tuning(const host::HostInfo& host) {
  Tuning tuning;
  tuning.l2_bytes = host.l2_bytes;
  tuning.vectors = host.isa == "v4";
  tuning.byte_tables = host.byte_tables;
  tuning.far_bytes = bytes_from("GS_FAR_TABLE_BYTES", times(host.l2_bytes, kFarTablePerL2));
  tuning.far_vector_bytes =
      tuning.vectors ? bytes_from("GS_FAR_TABLE_BYTES", times(host.l2_bytes, kFarVectorsPerL2)) : tuning.far_bytes;
  tuning.far_target_bytes = bytes_from("GS_FAR_TABLE_BYTES", times(host.l2_bytes, kFarTargetsPerL2));
  const int64_t far_elements = host.is_amd ? kFarElementsPerL2OfAmd : kFarElementsPerL2;
  tuning.far_element_bytes = bytes_from("GS_FAR_TABLE_BYTES", times(host.l2_bytes, far_elements));
  tuning.table.far_column_bytes = bytes_from("GS_FAR_TABLE_BYTES", times(host.l2_bytes, kFarColumnsPerL2));
  const bool llc_is_set = std::getenv("GS_LLC_BYTES") != nullptr;
  const int64_t stream_bytes =
      llc_is_set ? std::max<int64_t>(host.llc_bytes / kStreamPartOfLlc, 1) : tuning.stream_bytes;
  tuning.stream_bytes = bytes_from("GS_STREAM_BYTES", stream_bytes);
  tuning.table.stream_column_bytes = std::max<int64_t>(tuning.stream_bytes / kStreamColumnPart, 1);
  tuning.stream_late_bytes = bytes_from("GS_STREAM_BYTES", times(stream_bytes, kStreamLateFactor));
  tuning.gather_percent = points_from("GS_GATHER_PERCENT", tuning.gather_percent);
  tuning.gather_percent_sparse = points_from("GS_GATHER_PERCENT", tuning.gather_percent_sparse);
  tuning.serial_points = points_from("GS_SERIAL_POINTS", tuning.serial_points);
  tuning.serial_points_far = std::max<int64_t>(tuning.serial_points / kSerialPointsPerFar, 1);
  tuning.serial_row_bytes = times(tuning.serial_points, kRowBytesPerPoint);
  tuning.serial_near_bytes = times(tuning.serial_points, kNearBytesPerPoint);
  return tuning;
}

}  // namespace gs::cpu
