// row_request.h: describes which rows a result has, apart from the values of the map or mask.
#pragma once

#include "core/rule.h"
#include "table/frame.h"
#include "table/row_map.h"

namespace gs::table {

enum class SelectionKind : uint8_t { gather, scatter, mask_scatter, filter, choose };

// A kind of selection and the chunks of the one or two tables that it selects from. The chunks of `first` are numbered
// before those of `second`.
struct RowRequest {
  SelectionKind kind = SelectionKind::gather;
  ChunkLengths first = {};
  ChunkLengths second = {};
  Rule rule = {};
  bool one_row = false;
  Named named = Named::true_rows;  // by a mask
  bool whole = false;              // of a scatter: rows of the source without a row number throw InvalidArgument

  // Selects the rows that the map names. For bad indices and nulls, `raise` throws BadRow or NullRow and `fill`
  // makes the rows missing. `unchecked` takes any row for a bad index and throws NullRow for nulls; if there are no
  // rows, it also throws BadRow.
  static RowRequest gather(ChunkLengths table, Bounds bounds, Negative negative = Negative::from_end);
  // Selects the rows of `target`, with those that the map names replaced by rows of `source`: row i of the source for
  // the last entry i of the map that names the row, or row 0 for all if `one_row`. `fill` ignores the entries that are
  // null or out of bounds; the other bounds throw as `raise` does.
  static RowRequest scatter(ChunkLengths target, ChunkLengths source, bool one_row, Bounds bounds = Bounds::raise,
                            Negative negative = Negative::from_end);
  // Selects the rows of `target`, with those that the mask names replaced by the rows of the source in order, or by
  // row 0 if `one_row`.
  static RowRequest mask_scatter(ChunkLengths target, ChunkLengths source, bool one_row,
                                 Named named = Named::true_rows);
  // Selects the rows that the mask names.
  static RowRequest filter(ChunkLengths table, Named named = Named::true_rows);
  // Selects row i of the first table where the mask is true, else row i of the second.
  static RowRequest choose(ChunkLengths when_true, ChunkLengths when_false);

  ChunkLengths lengths() const;  // of all chunks
  // Throws InvalidArgument if the number of values of the map or mask does not fit the numbers of rows.
  void check(const RowMap& map) const;
  // Throws InvalidArgument if the source has fewer rows than the mask names.
  void check_true_rows(int64_t count) const;
};

}  // namespace gs::table
