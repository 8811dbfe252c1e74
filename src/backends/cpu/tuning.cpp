// tuning.cpp: computes the tuning of the host from its caches and from environment variables.
#include "backends/cpu/tuning.h"

#include <algorithm>
#include <cstdlib>

#include "host/host_info.h"
#include "host/saved_tuning.h"
#include "host/settings.h"

namespace gs::cpu {
namespace {

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
  // A size that the user sets for source arrays is right for columns too, unless there is one for columns.
  const bool far_is_set =
      std::getenv("GS_FAR_TABLE_BYTES") != nullptr || host::saved_tuning().find("GS_FAR_TABLE_BYTES") != nullptr;
  tuning.table.far_column_bytes =
      bytes_from("GS_FAR_COLUMN_BYTES", far_is_set ? tuning.far_bytes : times(host.l2_bytes, kFarColumnsPerL2));
  const bool llc_is_set = std::getenv("GS_LLC_BYTES") != nullptr;
  const int64_t stream_bytes = llc_is_set ? std::max<int64_t>(host.llc_bytes / kStreamPartOfLlc, 1) : kStreamBytes;
  tuning.stream_bytes = bytes_from("GS_STREAM_BYTES", stream_bytes);
  tuning.table.stream_column_bytes = std::max<int64_t>(tuning.stream_bytes / kStreamColumnPart, 1);
  tuning.stream_late_bytes = bytes_from("GS_STREAM_BYTES", times(stream_bytes, kStreamLateFactor));
  tuning.gather_percent = points_from("GS_GATHER_PERCENT", kGatherPercent);
  tuning.gather_percent_sparse = points_from("GS_GATHER_PERCENT", kGatherPercentSparse);
  tuning.serial_points = points_from("GS_SERIAL_POINTS", kSerialPoints);
  tuning.serial_points_far = points_from("GS_SERIAL_POINTS_FAR", kSerialPointsFar);
  tuning.serial_row_bytes = bytes_from("GS_SERIAL_ROW_BYTES", kSerialRowBytes);
  tuning.serial_near_bytes = bytes_from("GS_SERIAL_ROW_BYTES", kSerialNearFactor * kSerialRowBytes);
  return tuning;
}

}  // namespace gs::cpu
