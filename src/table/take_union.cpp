// take_union.cpp: takes rows of sparse and dense unions.
#include "core/error.h"
#include "table/row_errors.h"
#include "table/take.h"

namespace gs::table {
namespace {

[[noreturn]] void refuse(const Type& type, const char* what) {
  throw ExchangeError("'" + type.name + "' (" + type_name(type) + "): " + what);
}

std::size_t child_of(const Type& type, std::byte id) {
  const int child = type.child_of(id);
  if (child < 0) refuse(type, "a row has a type id that the union does not have");
  return static_cast<std::size_t>(child);
}

int8_t id_of(const Type& type, std::size_t child) {
  for (std::size_t id = 0; id < type.child_of_id.size(); ++id) {
    if (type.child_of_id[id] == static_cast<int8_t>(child)) return static_cast<int8_t>(id);
  }
  refuse(type, "a field has no type id");
}

// A missing row is a null of the first field: a union has no validity of its own.
std::byte missing_id(const Type& type) {
  if (type.children.empty()) {
    throw DataTypeError("'" + type.name + "' (" + type_name(type) + ") has no field that could hold a missing row");
  }
  return static_cast<std::byte>(id_of(type, 0));
}

}  // namespace

void RowTaker::sparse_union(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const {
  const NewBuffer ids = allocate(picks.count);
  walk(picks, [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
    const auto size = static_cast<std::size_t>(length);
    if (piece == kMissing) {
      std::memset(ids.data + at, static_cast<int>(missing_id(type)), size);
    } else {
      std::memcpy(ids.data + at, pieces[piece].array->first.data + pieces[piece].offset + start, size);
    }
  });
  out.first = ids.buffer;
  structure(type, pieces, picks, out);
}

void RowTaker::dense_union(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const {
  if (picks.count > offset_limit()) throw OffsetOverflow{};
  const std::size_t children = type.children.size();
  const NewBuffer ids = allocate(picks.count);
  const NewBuffer offsets = allocate(bytes_of_values(picks.count, 4));
  std::vector<RangeList> rows(children);
  walk(picks, [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
    for (int64_t i = at; i < at + length; ++i) {
      if (piece == kMissing) {
        ids.data[i] = missing_id(type);
        store(offsets.data, i, static_cast<int32_t>(rows[0].count()));
        rows[0].add(kMissing, 0, 1);
        continue;
      }
      const Array& array = *pieces[piece].array;
      const int64_t row = pieces[piece].offset + start + (i - at);
      const std::byte id = array.first.data[row];
      const std::size_t child = child_of(type, id);
      const int64_t from = load<int32_t>(array.second.data, row);
      if (from < 0 || from >= array.children[child].length) refuse(type, "an offset lies outside of its field");
      ids.data[i] = id;
      store(offsets.data, i, static_cast<int32_t>(rows[child].count()));
      rows[child].add(piece, from, 1);
    }
  });
  out.first = ids.buffer;
  out.second = offsets.buffer;
  out.children.reserve(children);
  for (std::size_t c = 0; c < children; ++c) {
    Pieces fields;
    for (const Piece& piece : pieces) {
      const Array& child = piece.array->children[c];
      fields.push_back({&child, child.offset, child.length});
    }
    out.children.push_back(take(type.children[c], fields, rows[c].picks()));
  }
}

}  // namespace gs::table
