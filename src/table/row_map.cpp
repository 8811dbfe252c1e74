// row_map.cpp: implements row_map.h.
#include "table/row_map.h"

#include "core/checked.h"
#include "table/row_errors.h"

namespace gs::table {
namespace {

template <class Part>
int64_t count_of(const std::vector<Part>& parts) {
  int64_t count = 0;
  for (const Part& part : parts) count = checked_add(count, part.count);
  return count;
}

Nulls nulls_of(const Array& chunk) {
  Nulls nulls;
  nulls.bits = chunk.validity.data;
  nulls.offset = chunk.offset;
  return nulls;
}

}  // namespace

int64_t RowMap::count() const {
  return map.empty() ? count_of(mask) : count_of(map);
}

RowMap map_of(const Frame& column) {
  const Type& type = *column.data.type;
  require_row_numbers(type, type);
  RowMap view;
  view.device = column.device;
  for (const Array& chunk : column.data.chunks) {
    const std::byte* const first = chunk.first.data + chunk.offset * type.width;
    view.map.push_back({first, type.width, type.integer, chunk.length, nulls_of(chunk)});
  }
  return view;
}

RowMap mask_of(const Frame& column) {
  const Type& type = *column.data.type;
  if (type.layout != Layout::bits) throw DataTypeError("a mask must consist of booleans, got " + type_name(type));
  RowMap view;
  view.device = column.device;
  for (const Array& chunk : column.data.chunks) {
    view.mask.push_back({chunk.first.data, true, chunk.offset, 1, chunk.length, nulls_of(chunk)});
  }
  return view;
}

void require_row_numbers(const Type& value, const Type& map) {
  const bool is_extension = has_extension(value);
  if (value.layout == Layout::fixed && value.is_integer && value.dictionary == nullptr && !is_extension) return;
  throw IndexTypeError("a map consists of integers, got " + type_name(map) +
                       (is_extension ? " of an extension type" : ""));
}

}  // namespace gs::table
