// frame.h: rows of whole tables and columns, in as many chunks as their offsets need.
#pragma once

#include <optional>
#include <string>

#include "table/array.h"
#include "table/selection.h"

namespace gs::table {

inline constexpr int kHost = -1;  // in place of the number of a GPU

// A table (its root is a structure without nulls, whose fields are the columns) or one column.
struct Frame {
  Chunked data;
  bool is_table = false;
  int device = kHost;  // whose memory it is in: the number of a GPU
};

// The rows that `selection` names in the chunks of `first` and then of `second` (may be null), of the type of `first`;
// `nullable`: what the user sees as columns may be null from now on.
Frame take_rows(const table::Sharing& sharing, const Selection& selection, const Frame& first, const Frame* second,
                bool nullable);

// What all ways to take rows begin and end with: the chunks that a selection was made for (ShapeError if it was made
// for others), a frame without rows, and DataTypeError for nulls that the target may not have.
std::vector<const Array*> chunks_of(const ChunkLengths& lengths, const Frame& first, const Frame* second);
Frame empty_like(const Frame& first, bool nullable);
void refuse_new_nulls(const Frame& result, const Frame& target);

// What messages call the two sides.
struct Roles {
  std::string target = "the target";
  std::string source = "the source";
};

// Throws InvalidArgument for another number of columns, DataTypeError for a column of another type.
void check_like(const Frame& target, const Frame& source, const Roles& roles = {});

// The same, and InvalidArgument where the fields of structures inside of columns are called differently.
void check_names(const Frame& target, const Frame& source, const Roles& roles = {});

// A table where the type is a structure, or a column; `is_table` where the caller knows. ExchangeError for a table
// whose records are null.
Frame to_frame(Chunked data, std::optional<bool> is_table, int device = kHost);

// Whether rows of this are taken in no time, whichever they are, if there are few.
bool is_short(const Frame& frame);

// Row r of the result: the values of list r at the positions that list r of `maps` names. Positions count within their
// list, negative ones of signed types from its end. Throws BadRow, NullRow (positions in all map values),
// DataTypeError, InvalidArgument.
Frame segmented_gather(const table::Sharing& sharing, const Frame& lists, const Frame& maps, RowBounds bounds);

}  // namespace gs::table
