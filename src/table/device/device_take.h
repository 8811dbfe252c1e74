// device_take.h: takes rows of arrays by kernels: all columns of one selection at once, then the children of lists.
#pragma once

#include "table/device/device_selection.h"
#include "table/frame.h"
#include "table/picks.h"

namespace gs::table {

// Whether the kernels support columns of this type in these chunks; if not, `what` (if not null) gets the type's name.
// They do not support views, list views, unions, run-end encoding, and dictionaries that differ between chunks.
bool is_picked_by_kernels(const Type& type, const std::vector<const Array*>& chunks, std::string* what = nullptr);

// Takes rows as take_rows of take_frame.h does. The context's machine reaches all chunks, and is_picked_by_kernels is
// true for them. Throws ExchangeError for offsets that are not in order.
Frame take_rows(const DeviceContext& context, const DeviceSelection& selection, const Frame& first, const Frame* second,
                bool nullable);

// The number of calls of this take_rows in the process so far.
int64_t kernel_takes();

// A column whose rows pick_rows takes: its pieces and the array for the result.
struct PickTask {
  const Type* type;
  Pieces pieces;
  Array* out;
};

// Takes the rows `rows`, numbered among all pieces, of all columns of `tasks`. The pieces of all tasks have equal
// lengths. `has_missing`: rows may be missing. Throws OffsetOverflow if 32-bit offsets do not suffice.
void pick_rows(const DeviceContext& context, const std::vector<PickTask>& tasks, const device::RowList& rows,
               bool has_missing);

}  // namespace gs::table
