// device_take.h: rows of arrays picked by kernels: all columns of one selection at once, then the children of lists.
#pragma once

#include "table/device/device_selection.h"
#include "table/frame.h"

namespace gs::table {

// Whether kernels take columns of this type from these chunks; where not, `what` (if not null) gets the type's name.
// Views, list views, unions and run ends are not among them, nor dictionaries that differ from chunk to chunk.
bool is_picked_by_kernels(const Type& type, const std::vector<const Array*>& chunks, std::string* what = nullptr);

// As take_rows of table.h. All chunks lie where the worker's machine reaches them, and the types are such that kernels
// pick them. Throws ExchangeError for offsets that are out of order.
Frame take_rows(const DeviceContext& worker, const DeviceSelection& selection, const Frame& first, const Frame* second,
                bool nullable);

// How many times rows were taken this way.
int64_t kernel_takes();

// Rows of columns, by numbers through the pieces.
struct PickTask {
  const Type* type;
  Pieces pieces;
  Array* out;
};

// Takes all columns of `tasks`, whose pieces have the same lengths. `has_missing`: some numbers may be missing.
// OffsetOverflow where 32-bit offsets do not suffice.
void pick_rows(const DeviceContext& worker, const std::vector<PickTask>& tasks, const device::RowList& rows,
               bool has_missing);

}  // namespace gs::table
