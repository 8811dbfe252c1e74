// device_selection.h: which rows a result has, found out by kernels once for all columns: one number for each row.
#pragma once

#include <vector>

#include "backends/device/bodies/row_bodies.h"
#include "table/device/device_context.h"
#include "table/selection.h"

namespace gs::table {

// From this many rows on their numbers have 64 bits. Smaller in tests only.
inline int64_t wide_rows = UINT32_MAX;

// Numbers of rows where kernels reach them.
struct Numbers {
  Buffer memory;
  device::RowList list;
};
Numbers allocate_numbers(const DeviceContext& worker, int64_t count, bool wide);

// What Selection is on the host, with its errors and its texts. Maps and masks lie where the machine reaches them, or
// on the host.
class DeviceSelection {
 public:
  static DeviceSelection gather(const DeviceContext& worker, const std::vector<MapPart>& map, bool on_host,
                                const ChunkLengths& lengths, RowBounds bounds, Negative negative);
  static DeviceSelection scatter(const DeviceContext& worker, const std::vector<MapPart>& map, bool on_host,
                                 const ChunkLengths& target, const ChunkLengths& source, bool one_row);
  static DeviceSelection mask_scatter(const DeviceContext& worker, const std::vector<MaskPart>& mask, bool on_host,
                                      const ChunkLengths& target, const ChunkLengths& source, bool one_row);
  static DeviceSelection filter(const DeviceContext& worker, const std::vector<MaskPart>& mask, bool on_host,
                                const ChunkLengths& lengths);
  static DeviceSelection choose(const DeviceContext& worker, const std::vector<MaskPart>& mask, bool on_host,
                                const ChunkLengths& when_true, const ChunkLengths& when_false);

  int device() const { return device_; }
  int64_t count() const { return numbers_.list.count; }
  int64_t missing() const { return missing_; }
  const ChunkLengths& lengths() const { return lengths_; }
  const device::RowList& rows() const { return numbers_.list; }
  // The same on the host; -1: missing.
  std::vector<int64_t> numbers(const DeviceContext& worker) const;

 private:
  DeviceSelection(const DeviceContext& worker, ChunkLengths lengths)
      : device_(worker.device()), lengths_(std::move(lengths)) {}
  void choose_by(const DeviceContext& worker, const std::vector<MaskPart>& mask, bool on_host, int64_t rows,
                 const char* whose, device::MaskRows body, int64_t source_rows);

  int device_;
  ChunkLengths lengths_;
  Numbers numbers_;
  int64_t missing_ = 0;
};

}  // namespace gs::table
