// device_selection.h: resolves a map or mask by kernels into one row number for each row of a result.
#pragma once

#include <vector>

#include "backends/device/bodies/row_bodies.h"
#include "table/device/device_context.h"
#include "table/row_request.h"

namespace gs::table {

// Tables of so many rows or more have row numbers of 64 bits. Only tests set a smaller value.
inline int64_t wide_rows = UINT32_MAX;

// Row numbers in memory that kernels reach.
struct Numbers {
  Buffer memory;
  device::RowList list;
};
Numbers allocate_numbers(const DeviceContext& context, int64_t count, bool wide);

// The counterpart of HostSelection for kernels.
class DeviceSelection {
 public:
  // The map or mask lies in memory that the machine reaches, or in host memory. Throws what RowRequest says.
  DeviceSelection(const DeviceContext& context, const RowRequest& request, const RowMap& map);

  int64_t count() const { return numbers_.list.count; }
  int64_t missing() const { return missing_; }
  const ChunkLengths& lengths() const { return lengths_; }
  const device::RowList& rows() const { return numbers_.list; }
  // Copies the row numbers to the host; -1: missing.
  std::vector<int64_t> numbers(const DeviceContext& context) const;

 private:
  void gather(const DeviceContext& context, const RowRequest& request, const RowMap& map);
  void scatter(const DeviceContext& context, const RowRequest& request, const RowMap& map);
  void choose_by(const DeviceContext& context, const RowRequest& request, const RowMap& map);

  ChunkLengths lengths_;
  Numbers numbers_;
  int64_t missing_ = 0;
};

}  // namespace gs::table
