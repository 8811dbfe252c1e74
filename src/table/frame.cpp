// frame.cpp: implements frame.h.
#include "table/frame.h"

#include <algorithm>
#include <utility>

#include "arrow/check_rows.h"
#include "backends/table_tuning.h"
#include "core/error.h"
#include "table/row_errors.h"

namespace gs::table {

std::string location_name(int device) {
  return device == kHost ? "in host memory" : "on GPU " + std::to_string(device);
}

int64_t row_count(const ChunkLengths& lengths) {
  int64_t rows = 0;
  for (const int64_t length : lengths) rows += length;
  return rows;
}

namespace {

// The path of the difference in parentheses; empty if the message already names the two types that differ.
std::string nested_difference(const Type& target, const Type& source, const std::string& where) {
  return where == type_name(target) + " and " + type_name(source) ? "" : " (" + where + ")";
}

}  // namespace

void check_like(const Frame& target, const Frame& source, const Roles& roles) {
  if (target.is_table != source.is_table) {
    const auto kind = [](const Frame& frame) { return frame.is_table ? "a table" : "a column"; };
    throw DataTypeError(roles.source + " is " + kind(source) + ", " + roles.target + " is " + kind(target));
  }
  std::string where;
  if (!target.is_table) {
    if (same_type(*target.data.type, *source.data.type, &where)) return;
    throw DataTypeError("the column is " + type_name(*source.data.type) + " in " + roles.source + " and " +
                        type_name(*target.data.type) + " in " + roles.target +
                        nested_difference(*target.data.type, *source.data.type, where));
  }
  const std::vector<Type>& columns = target.data.type->children;
  const std::vector<Type>& others = source.data.type->children;
  if (columns.size() != others.size()) {
    throw InvalidArgument("number of columns: " + std::to_string(others.size()) + " in " + roles.source + ", " +
                          std::to_string(columns.size()) + " in " + roles.target);
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (same_type(columns[c], others[c], &where)) continue;
    throw DataTypeError("column " + std::to_string(c) + " ('" + columns[c].name + "') is " + type_name(others[c]) +
                        " in " + roles.source + " and " + type_name(columns[c]) + " in " + roles.target +
                        nested_difference(columns[c], others[c], where));
  }
}

namespace {

void check_fields(const Type& target, const Type& source, const Roles& roles) {
  if (target.format == "+m") return;  // the field names of an Arrow map have no meaning
  for (std::size_t c = 0; c < target.children.size(); ++c) {
    if (target.layout == Layout::structure && target.children[c].name != source.children[c].name) {
      throw InvalidArgument("field " + std::to_string(c) + " of '" + target.name + "' is called '" +
                            target.children[c].name + "' in " + roles.target + " and '" + source.children[c].name +
                            "' in " + roles.source);
    }
    check_fields(target.children[c], source.children[c], roles);
  }
  if (target.dictionary != nullptr) check_fields(*target.dictionary, *source.dictionary, roles);
}

}  // namespace

void check_names(const Frame& target, const Frame& source, const Roles& roles) {
  check_like(target, source, roles);
  if (!target.is_table) return check_fields(*target.data.type, *source.data.type, roles);
  for (std::size_t c = 0; c < target.data.type->children.size(); ++c) {
    check_fields(target.data.type->children[c], source.data.type->children[c], roles);
  }
}

Frame to_frame(Chunked data, std::optional<bool> is_table, int device) {
  const bool is_structure = data.type->layout == Layout::structure && data.type->dictionary == nullptr;
  Frame frame{std::move(data), is_table.value_or(is_structure), device};
  if (!frame.is_table) return frame;
  const Chunked& records = frame.data;
  if (!is_structure) throw ExchangeError("expected a table (format +s), got a column of " + type_name(*records.type));
  for (const Array& chunk : records.chunks) {
    if (chunk.validity.data == nullptr || chunk.nulls == 0) continue;
    if (chunk.nulls < 0 && device == kHost && count_nulls(chunk.validity.data, chunk.offset, chunk.length) == 0)
      continue;
    throw ExchangeError("expected a table (format +s) without nulls, got one with null records");
  }
  return frame;
}

namespace {

template <class Node>
Node with_children(const Node& whole, const std::vector<std::size_t>& children) {
  Node part = whole;
  part.children.clear();
  for (const std::size_t child : children) part.children.push_back(whole.children.at(child));
  return part;
}

}  // namespace

Frame with_columns(const Frame& table, const std::vector<std::size_t>& columns) {
  Frame part{{}, table.is_table, table.device};
  part.data.type = std::make_shared<const Type>(with_children(*table.data.type, columns));
  for (const Array& chunk : table.data.chunks) part.data.chunks.push_back(with_children(chunk, columns));
  return part;
}

namespace {

// The records of a chunk of a table with an offset of 0: each column begins at its own offset. No record is null.
Array from_first_row(const Array& records) {
  Array moved = records;
  moved.offset = 0;
  moved.validity = {};
  moved.nulls = 0;
  for (Array& column : moved.children) {
    if (column.length != records.length && column.nulls != 0) column.nulls = -1;  // those of its other rows count too
    column.offset += records.offset;
    column.length = records.length;
  }
  return moved;
}

}  // namespace

Frame with_replaced(const Frame& table, const std::vector<std::size_t>& columns, const Frame& part) {
  const std::vector<Array>& parts = part.data.chunks;
  const auto same_length = [](const Array& a, const Array& b) { return a.length == b.length; };
  if (part.device != table.device ||
      !std::equal(table.data.chunks.begin(), table.data.chunks.end(), parts.begin(), parts.end(), same_length)) {
    throw InvalidArgument("the new columns differ from the table in their device or in their chunks");
  }
  Frame result = table;
  Type type = *table.data.type;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    type.children.at(columns[k]) = part.data.type->children.at(k);
  }
  result.data.type = std::make_shared<const Type>(std::move(type));
  for (std::size_t chunk = 0; chunk < parts.size(); ++chunk) {
    result.data.chunks[chunk] = from_first_row(table.data.chunks[chunk]);
    Array found = from_first_row(parts[chunk]);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      result.data.chunks[chunk].children.at(columns[k]) = std::move(found.children.at(k));
    }
  }
  return result;
}

namespace {

bool is_short(const Type& type, const Array& array) {
  if (type.width > kShortRow || type.list_size > kShortRow || array.reach > kShortRow) return false;
  if (type.dictionary != nullptr) return array.dictionary->length <= kShortRow;
  const bool by_rows = type.layout == Layout::structure || type.layout == Layout::sparse_union;
  for (std::size_t c = 0; c < type.children.size(); ++c) {
    if (!by_rows && array.children[c].length > kShortRow) return false;
    if (!is_short(type.children[c], array.children[c])) return false;
  }
  return true;
}

}  // namespace

bool is_short(const Frame& frame) {
  const std::vector<Array>& chunks = frame.data.chunks;
  const auto check = [&](const Array& chunk) { return is_short(*frame.data.type, chunk); };
  return chunks.size() <= kFewChunks && std::all_of(chunks.begin(), chunks.end(), check);
}

}  // namespace gs::table
