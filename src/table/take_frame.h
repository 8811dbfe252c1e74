// take_frame.h: takes rows of whole tables and columns, in as many chunks as the offsets of the result need.
#pragma once

#include "table/frame.h"
#include "table/host_selection.h"

namespace gs::table {

// Returns the rows that `selection` selects from the chunks of `first`, then those of `second` (may be null). The
// result has the type of `first`; `nullable` makes its columns (or, of a column, its type) nullable.
Frame take_rows(const Sharing& sharing, const HostSelection& selection, const Frame& first, const Frame* second,
                bool nullable);

// Common parts of the functions that take rows on the CPU and on a GPU. chunks_of returns all chunks; it throws
// ShapeError if their lengths are not those of the selection. empty_like returns a frame without chunks.
// refuse_new_nulls throws DataTypeError if a field of the result has nulls but is not nullable. It exempts the columns
// of a table that had nulls in the target already.
std::vector<const Array*> chunks_of(const ChunkLengths& lengths, const Frame& first, const Frame* second);
Frame empty_like(const Frame& first, bool nullable);
void refuse_new_nulls(const Frame& result, const Frame& target);

}  // namespace gs::table
