// device_selection.h: resolves a map or mask by kernels into one row number for each row of a result.
#pragma once

#include <vector>

#include "backends/device/bodies/row_bodies.h"
#include "table/device/device_context.h"
#include "table/selection.h"

namespace gs::table {

// Tables of so many rows or more have row numbers of 64 bits. Only tests set a smaller value.
inline int64_t wide_rows = UINT32_MAX;

// Row numbers in memory that kernels reach.
struct Numbers {
  Buffer memory;
  device::RowList list;
};
Numbers allocate_numbers(const DeviceContext& context, int64_t count, bool wide);

// The counterpart of Selection for kernels: the functions have the arguments, errors and texts of those of Selection.
// The maps and masks lie in memory that the machine reaches, or in host memory if `on_host`.
class DeviceSelection {
 public:
  static DeviceSelection gather(const DeviceContext& context, const std::vector<MapPart>& map, bool on_host,
                                const ChunkLengths& lengths, RowBounds bounds, Negative negative);
  static DeviceSelection scatter(const DeviceContext& context, const std::vector<MapPart>& map, bool on_host,
                                 const ChunkLengths& target, const ChunkLengths& source, bool one_row);
  static DeviceSelection mask_scatter(const DeviceContext& context, const std::vector<MaskPart>& mask, bool on_host,
                                      const ChunkLengths& target, const ChunkLengths& source, bool one_row);
  static DeviceSelection filter(const DeviceContext& context, const std::vector<MaskPart>& mask, bool on_host,
                                const ChunkLengths& lengths);
  static DeviceSelection choose(const DeviceContext& context, const std::vector<MaskPart>& mask, bool on_host,
                                const ChunkLengths& when_true, const ChunkLengths& when_false);

  int device() const { return device_; }
  int64_t count() const { return numbers_.list.count; }
  int64_t missing() const { return missing_; }
  const ChunkLengths& lengths() const { return lengths_; }
  const device::RowList& rows() const { return numbers_.list; }
  // Copies the row numbers to the host; -1: missing.
  std::vector<int64_t> numbers(const DeviceContext& context) const;

 private:
  DeviceSelection(const DeviceContext& context, ChunkLengths lengths)
      : device_(context.device()), lengths_(std::move(lengths)) {}
  void choose_by(const DeviceContext& context, const std::vector<MaskPart>& mask, bool on_host, int64_t rows,
                 const char* side, device::MaskRows body, int64_t source_rows);

  int device_;
  ChunkLengths lengths_;
  Numbers numbers_;
  int64_t missing_ = 0;
};

}  // namespace gs::table
