// join.h: copies the pieces of a column into one array, from which many rows are taken faster than from the pieces.
#pragma once

#include <optional>

#include "table/picks.h"
#include "table/sharing.h"

namespace gs::table {

class RowTaker;

// The rows of all pieces, one piece after the other. Nothing if their rows have no fixed size (of numbers, bools and
// dictionary keys they have), or if a key lies outside of its dictionary, which is an error only if its row is taken.
std::optional<Array> join(const Sharing& sharing, const RowTaker& taker, const Type& type, const Pieces& pieces);

}  // namespace gs::table
