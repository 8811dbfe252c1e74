// selection.h: which rows a result has, found out by kernels once for all columns: one number for each row.
#pragma once

#include <vector>

#include "backends/device/rows.h"
#include "table/device/worker.h"
#include "table/selection.h"

namespace gs::table {

// From this many rows on their numbers have 64 bits. Smaller in tests only.
inline int64_t wide_rows = UINT32_MAX;

// Numbers of rows where kernels reach them.
struct Numbers {
  Buffer memory;
  device::RowList list;
};
Numbers allocate_numbers(const Worker& worker, int64_t count, bool wide);

// What Selection is on the host, with its errors and its texts. Maps and masks lie where the machine reaches them, or
// on the host.
class DeviceSelection {
 public:
  using Lengths = Selection::Lengths;

  static DeviceSelection gather(const Worker& worker, const std::vector<MapPart>& map, bool on_host,
                                const Lengths& lengths, RowBounds bounds, Negative negative);
  static DeviceSelection scatter(const Worker& worker, const std::vector<MapPart>& map, bool on_host,
                                 const Lengths& target, const Lengths& source, bool one_row);
  static DeviceSelection mask_scatter(const Worker& worker, const std::vector<MaskPart>& mask, bool on_host,
                                      const Lengths& target, const Lengths& source, bool one_row);
  static DeviceSelection filter(const Worker& worker, const std::vector<MaskPart>& mask, bool on_host,
                                const Lengths& lengths);
  static DeviceSelection choose(const Worker& worker, const std::vector<MaskPart>& mask, bool on_host,
                                const Lengths& when_true, const Lengths& when_false);

  int device() const { return device_; }
  int64_t count() const { return numbers_.list.count; }
  int64_t missing() const { return missing_; }
  const Lengths& lengths() const { return lengths_; }
  const device::RowList& rows() const { return numbers_.list; }
  // The same on the host; -1: missing.
  std::vector<int64_t> numbers(const Worker& worker) const;

 private:
  DeviceSelection(const Worker& worker, Lengths lengths) : device_(worker.device()), lengths_(std::move(lengths)) {}
  void choose_by(const Worker& worker, const std::vector<MaskPart>& mask, bool on_host, int64_t rows, const char* whose,
                 device::MaskRows body, int64_t source_rows);

  int device_;
  Lengths lengths_;
  Numbers numbers_;
  int64_t missing_ = 0;
};

}  // namespace gs::table
