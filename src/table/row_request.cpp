// row_request.cpp: implements row_request.h.
#include "table/row_request.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "table/row_errors.h"

namespace gs::table {
namespace {

void check_mask(const RowMap& mask, int64_t rows, const char* table) {
  if (mask.count() == rows) return;
  throw InvalidArgument("the mask has length " + std::to_string(mask.count()) + ", " + table + " has length " +
                        std::to_string(rows));
}

void refuse_spare(int64_t count, int64_t rows) {
  const std::string n = std::to_string(count);
  const std::string numbers = count == 1 ? "there is 1 row number" : "there are " + n + " row numbers";
  throw InvalidArgument(numbers + " for " + std::to_string(rows) +
                        " rows of the source, the last of which would be lost: give source[:" + n + "]");
}

}  // namespace

RowRequest RowRequest::gather(ChunkLengths table, Bounds bounds, Negative negative) {
  return {SelectionKind::gather, std::move(table), {}, {bounds, negative}};
}

RowRequest RowRequest::scatter(ChunkLengths target, ChunkLengths source, bool one_row, Bounds bounds,
                               Negative negative) {
  return {SelectionKind::scatter, std::move(target), std::move(source), {bounds, negative}, one_row};
}

RowRequest RowRequest::mask_scatter(ChunkLengths target, ChunkLengths source, bool one_row, Named named) {
  return {.kind = SelectionKind::mask_scatter,
          .first = std::move(target),
          .second = std::move(source),
          .one_row = one_row,
          .named = named};
}

RowRequest RowRequest::filter(ChunkLengths table, Named named) {
  return {.kind = SelectionKind::filter, .first = std::move(table), .named = named};
}

RowRequest RowRequest::choose(ChunkLengths when_true, ChunkLengths when_false) {
  return {SelectionKind::choose, std::move(when_true), std::move(when_false)};
}

ChunkLengths RowRequest::lengths() const {
  ChunkLengths lengths;
  lengths.reserve(first.size() + second.size());
  lengths.insert(lengths.end(), first.begin(), first.end());
  lengths.insert(lengths.end(), second.begin(), second.end());
  return lengths;
}

void RowRequest::check(const RowMap& map) const {
  const bool by_map = kind == SelectionKind::gather || kind == SelectionKind::scatter;
  if (by_map ? !map.mask.empty() : !map.map.empty()) throw std::logic_error("a map for a mask, or a mask for a map");
  const int64_t rows = row_count(first);
  const int64_t others = row_count(second);
  if (one_row && others != 1) {
    throw InvalidArgument("`one_row` needs a source of one row, got " + std::to_string(others) + " rows");
  }
  switch (kind) {
    case SelectionKind::gather: return;
    case SelectionKind::scatter:
      if (one_row || map.count() == others) return;
      if (map.count() < others) return whole ? refuse_spare(map.count(), others) : void();
      throw InvalidArgument("the map has " + std::to_string(map.count()) + " rows, the source only " +
                            std::to_string(others));
    case SelectionKind::mask_scatter: return check_mask(map, rows, "the target");
    case SelectionKind::filter: return check_mask(map, rows, "the table");
    case SelectionKind::choose:
      if (others == rows) return check_mask(map, rows, "each side");
      throw InvalidArgument("the two sides have " + std::to_string(rows) + " and " + std::to_string(others) + " rows");
  }
}

void RowRequest::check_true_rows(int64_t count) const {
  const int64_t rows = row_count(second);
  if (one_row || count <= rows) return;
  throw InvalidArgument("the mask has " + std::to_string(count) + " true rows, the source only " +
                        std::to_string(rows) + " rows");
}

}  // namespace gs::table
