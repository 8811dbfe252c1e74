// row_selection.cpp: implements row_selection.h: chooses between the host and the kernels of a device.
#include "table/row_selection.h"

#include "table/device/device_take.h"
#include "table/row_errors.h"
#include "table/take.h"
#include "table/take_frame.h"

namespace gs::table {
namespace {

// Whether kernels make the selection: for tables on a GPU, and for all tables if the backend has a machine for host
// memory.
bool is_made_by_kernels(const Sharing& sharing, int device) {
  return device != kHost || sharing.backend.new_machine() != nullptr;
}

}  // namespace

RowSelection::RowSelection(const Sharing& sharing, const RowRequest& request, const RowMap& map, int device)
    : device_(device) {
  if (map.device != kHost && map.device != device) {
    throw InvalidArgument("the map or mask lies " + location_name(map.device) + ", the table " + location_name(device));
  }
  if (is_made_by_kernels(sharing, device)) {
    by_kernels_ = std::make_shared<const DeviceSelection>(DeviceContext(sharing, device), request, map);
    copy_ = std::make_unique<HostCopy>();
  } else {
    by_host_ = std::make_unique<const HostSelection>(sharing, request, map);
  }
}

int64_t RowSelection::count() const {
  return by_host_ ? by_host_->count() : by_kernels_->count();
}

int64_t RowSelection::missing() const {
  return by_host_ ? by_host_->missing() : by_kernels_->missing();
}

const ChunkLengths& RowSelection::lengths() const {
  return by_host_ ? by_host_->lengths() : by_kernels_->lengths();
}

// Several threads may use one selection. The copy is made without the lock, because it may take long; the first one
// that is finished stays as long as the selection, so references to it stay valid.
const HostSelection& RowSelection::on_host(const Sharing& sharing) const {
  if (by_host_) return *by_host_;
  {
    const std::lock_guard guard(copy_->lock);
    if (copy_->selection) return *copy_->selection;
  }
  const std::vector<int64_t> numbers = by_kernels_->numbers(DeviceContext(sharing, device_));
  auto made = std::make_unique<const HostSelection>(HostSelection::of_numbers(sharing, numbers, lengths()));
  const std::lock_guard guard(copy_->lock);
  if (!copy_->selection) copy_->selection = std::move(made);
  return *copy_->selection;
}

// Whether kernels take the rows. The host cannot take rows that lie in memory of a GPU.
bool RowSelection::is_for_kernels(const Frame& first, const Frame* second) const {
  if (second != nullptr && second->device != first.device) {
    throw InvalidArgument("one table lies " + location_name(first.device) + ", the other " +
                          location_name(second->device));
  }
  if (device_ != first.device) {
    throw InvalidArgument("the selection was made for a table " + location_name(device_) + ", this one lies " +
                          location_name(first.device));
  }
  if (!by_kernels_) return false;
  std::string what;
  if (is_picked_by_kernels(*first.data.type, chunks_of(lengths(), first, second), &what)) return true;
  if (device_ == kHost) return false;
  throw DataTypeError("a column of " + what + " on a GPU is not supported; copy the table to host memory");
}

Frame RowSelection::take(const Sharing& sharing, const Frame& first, const Frame* second, bool nullable) const {
  if (is_for_kernels(first, second)) {
    return take_rows(DeviceContext(sharing, device_), *by_kernels_, first, second, nullable);
  }
  return take_rows(sharing, on_host(sharing), first, second, nullable);
}

Buffer RowSelection::take_items(const Sharing& sharing, const std::vector<const std::byte*>& chunks,
                                int64_t width) const {
  const HostSelection& selection = on_host(sharing);
  std::vector<Array> arrays(chunks.size());
  std::vector<const Array*> pointers;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    arrays[i].length = lengths()[i];
    pointers.push_back(&arrays[i]);
  }
  return RowTaker(sharing, RowTaker::kOneColumn)
      .items_or_zeros(selection.bases(chunks, width), selection.pieces(pointers), width, selection.picks(sharing));
}

void RowSelection::positions(const Sharing& sharing, int64_t* target) const {
  on_host(sharing).positions(sharing, target);
}

void RowSelection::replaced(const Sharing& sharing, int64_t size, std::vector<int64_t>& to,
                            std::vector<int64_t>& from) const {
  on_host(sharing).replaced(sharing, size, to, from);
}

}  // namespace gs::table
