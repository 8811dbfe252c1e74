// frame.h: takes rows of whole tables and columns, in as many chunks as the offsets of the result need.
#pragma once

#include <optional>
#include <string>

#include "table/array.h"
#include "table/selection.h"

namespace gs::table {

inline constexpr int kHost = -1;  // in place of a GPU number: host memory

// A table (a structure without nulls, whose fields are the columns) or one column.
struct Frame {
  Chunked data;
  bool is_table = false;
  int device = kHost;  // the memory of the buffers: a GPU number, or kHost
};

// Returns the rows that `selection` selects from the chunks of `first`, then those of `second` (may be null). The
// result has the type of `first`; `nullable` makes its columns (or, of a column, its type) nullable.
Frame take_rows(const table::Sharing& sharing, const Selection& selection, const Frame& first, const Frame* second,
                bool nullable);

// Common parts of the functions that take rows on the CPU and on a GPU. chunks_of returns all chunks; it throws
// ShapeError if their lengths are not those of the selection. empty_like returns a frame without chunks.
// refuse_new_nulls throws DataTypeError if a field of the result has nulls but is not nullable. It exempts the columns
// of a table that had nulls in the target already.
std::vector<const Array*> chunks_of(const ChunkLengths& lengths, const Frame& first, const Frame* second);
Frame empty_like(const Frame& first, bool nullable);
void refuse_new_nulls(const Frame& result, const Frame& target);

// The names of the two frames in error messages.
struct Roles {
  std::string target = "the target";
  std::string source = "the source";
};

// Throws InvalidArgument if the numbers of columns differ, DataTypeError if the types of a column differ.
void check_like(const Frame& target, const Frame& source, const Roles& roles = {});

// Checks as check_like does, and throws InvalidArgument if the fields of structures inside of columns have different
// names.
void check_names(const Frame& target, const Frame& source, const Roles& roles = {});

// Returns a table if the type is a structure, else a column; `is_table` overrides this. Throws ExchangeError for a
// table with null records and for a table whose type is no structure.
Frame to_frame(Chunked data, std::optional<bool> is_table, int device = kHost);

// Whether a few rows of the frame are a short task, whichever rows they are: no row is long, and there are few chunks.
bool is_short(const Frame& frame);

// Row r of the result has the values of list r at the indices in list r of `maps`. An index counts within its list; a
// negative index of a signed type counts from the end of the list. Throws BadRow and NullRow (with the number of the
// list and the position in it; of a null list, its number as the position), DataTypeError, IndexTypeError and
// InvalidArgument.
Frame segmented_gather(const table::Sharing& sharing, const Frame& lists, const Frame& maps, RowBounds bounds);

}  // namespace gs::table
