// row_selection.h: holds the rows of a result, resolved once from a map or mask for tables on one device.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "table/frame.h"
#include "table/host_selection.h"
#include "table/row_request.h"
#include "table/sharing.h"

namespace gs::table {

class DeviceSelection;

// A selection can be used only for tables on the device that it was made for. It is resolved by kernels on a GPU, and
// on the host if the host's backend has a machine for its memory; otherwise by HostSelection.
class RowSelection {
 public:
  // `device` is that of the tables: a GPU number, or kHost. The map or mask is read during the constructor only; it
  // lies on the same device or in host memory. Throws InvalidArgument for one on another device, and what RowRequest
  // says.
  RowSelection(const Sharing& sharing, const RowRequest& request, const RowMap& map, int device);

  int device() const { return device_; }
  int64_t count() const;
  int64_t missing() const;
  const ChunkLengths& lengths() const;

  // Returns the selected rows of the chunks of `first`, then those of `second` (may be null), as take_rows does. Throws
  // InvalidArgument for tables on another device than the selection's, DataTypeError for columns on a GPU that the
  // kernels do not support.
  Frame take(const Sharing& sharing, const Frame& first, const Frame* second, bool nullable) const;
  // Returns the selected items of `width` bytes from one plain array in host memory for each chunk; `chunks` are their
  // addresses. The items of missing rows are zero bytes.
  Buffer take_items(const Sharing& sharing, const std::vector<const std::byte*>& chunks, int64_t width) const;
  // Writes the number of each selected row among the rows of all chunks to `target`, -1 for a missing row.
  void positions(const Sharing& sharing, int64_t* target) const;
  void replaced(const Sharing& sharing, int64_t size, std::vector<int64_t>& to, std::vector<int64_t>& from) const;

 private:
  // The row numbers of kernels, copied to the host by the first call that needs them there.
  struct HostCopy {
    std::mutex lock;
    std::unique_ptr<const HostSelection> selection;
  };

  bool is_for_kernels(const Frame& first, const Frame* second) const;
  const HostSelection& on_host(const Sharing& sharing) const;

  int device_;
  // Exactly one of the two is set.
  std::unique_ptr<const HostSelection> by_host_;
  std::shared_ptr<const DeviceSelection> by_kernels_;  // a unique_ptr would need its destructor here
  std::unique_ptr<HostCopy> copy_;                     // of by_kernels_
};

}  // namespace gs::table
