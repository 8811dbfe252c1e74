// table.h: rows of whole tables and columns, in as many chunks as their offsets need.
#pragma once

#include "table/array.h"
#include "table/selection.h"

namespace gs::table {

// A table (its root is a structure without nulls, whose fields are the columns) or one column.
struct Frame {
  Chunked data;
  bool is_table = false;
};

// The rows that `selection` names in the chunks of `first` and then of `second` (may be null), of the type of `first`;
// `nullable`: what the user sees as columns may be null from now on.
Frame take_rows(const Selection::Sharing& sharing, const Selection& selection, const Frame& first, const Frame* second,
                bool nullable);

// Throws InvalidArgument for another number of columns, DataTypeError for a column of another type.
void check_like(const Frame& target, const Frame& source);

// Throws InvalidArgument where the fields of structures inside of columns are called differently.
void check_names(const Frame& target, const Frame& source);

// Row r of the result: the values of list r at the positions that list r of `maps` names. Positions count within their
// list, negative ones of signed types from its end. Throws BadRow, NullRow (positions in all map values),
// DataTypeError, InvalidArgument.
Frame segmented_gather(const Selection::Sharing& sharing, const Frame& lists, const Frame& maps, RowBounds bounds);

}  // namespace gs::table
