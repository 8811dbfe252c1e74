// segmented.h: declares the gather within each list of a column of lists.
#pragma once

#include "table/frame.h"
#include "table/row_request.h"
#include "table/sharing.h"

namespace gs::table {

// Row r of the result has the values of list r at the indices in list r of `maps`. An index counts within its list; a
// negative index of a signed type counts from the end of the list. Throws BadRow and NullRow (with the number of the
// list and the position in it; of a null list, its number as the position), DataTypeError, IndexTypeError and
// InvalidArgument.
Frame segmented_gather(const Sharing& sharing, const Frame& lists, const Frame& maps, Bounds bounds);

}  // namespace gs::table
