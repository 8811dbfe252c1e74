// check_rows.cpp: implements check_rows.h.
#include "arrow/check_rows.h"

#include <algorithm>
#include <bit>

#include "arrow/bits.h"
#include "arrow/load.h"

namespace gs::arrow {
namespace {

std::string item(const char* name, int64_t row, int64_t value) {
  return std::string(name) + "[" + std::to_string(row) + "] = " + std::to_string(value);
}

bool is_null(const Array& array, int64_t row) {
  return array.validity.data != nullptr && !bit_at(array.validity.data, row);
}

template <class Offset>
void check_offsets(const Array& array, const Path& path) {
  const int64_t end = array.offset + array.length;
  Offset before = load<Offset>(array.first.data, array.offset);
  for (int64_t row = array.offset + 1; row <= end; ++row) {
    const Offset offset = load<Offset>(array.first.data, row);
    if (offset < before) {
      fail(path, item("offsets", row, offset) + " is less than " + item("offsets", row - 1, before));
    }
    before = offset;
  }
}

template <class Offset>
void check_list_views(const Array& array, const Path& path) {
  const int64_t child = array.children[0].length;
  for (int64_t row = array.offset; row < array.offset + array.length; ++row) {
    const Offset offset = load<Offset>(array.first.data, row);
    const Offset size = load<Offset>(array.second.data, row);
    if (offset < 0 || size < 0 || offset > child || size > child - offset) {
      fail(path, item("offsets", row, offset) + " and " + item("sizes", row, size) + " do not lie inside of the " +
                     std::to_string(child) + " rows of the child");
    }
  }
}

// The views of null rows may have any content, so they are not checked.
void check_views(const Array& array, const Path& path) {
  constexpr int32_t kInline = 12;
  const auto buffers = static_cast<int64_t>(array.shared.size());
  for (int64_t row = array.offset; row < array.offset + array.length; ++row) {
    if (is_null(array, row)) continue;
    const int32_t length = load<int32_t>(array.first.data, 4 * row);
    if (length < 0) fail(path, "view " + std::to_string(row) + " has the length " + std::to_string(length));
    if (length <= kInline) continue;
    const int32_t buffer = load<int32_t>(array.first.data, 4 * row + 2);
    const int32_t offset = load<int32_t>(array.first.data, 4 * row + 3);
    if (buffer < 0 || buffer >= buffers) {
      fail(path, "view " + std::to_string(row) + " points to buffer " + std::to_string(buffer) + " of " +
                     std::to_string(buffers));
    }
    const int64_t bytes = array.shared_bytes[static_cast<std::size_t>(buffer)];
    if (offset < 0 || length > bytes - offset) {
      fail(path, "view " + std::to_string(row) + " has " + std::to_string(length) + " bytes at " +
                     std::to_string(offset) + ", but buffer " + std::to_string(buffer) + " has " +
                     std::to_string(bytes));
    }
  }
}

void check_type_ids(const Array& array, const Type& type, const Path& path) {
  for (int64_t row = array.offset; row < array.offset + array.length; ++row) {
    const auto id = load<int8_t>(array.first.data, row);
    const int8_t child = id < 0 ? int8_t{-1} : type.child_of_id[static_cast<std::size_t>(id)];
    if (child < 0) fail(path, item("type_ids", row, id) + " is not among the ids of the type");
    if (type.layout == Layout::sparse_union) continue;
    const auto offset = load<int32_t>(array.second.data, row);
    const int64_t rows = array.children[static_cast<std::size_t>(child)].length;
    if (offset < 0 || offset >= rows) {
      fail(path, item("offsets", row, offset) + " does not lie inside of the " + std::to_string(rows) +
                     " rows of child " + std::to_string(child));
    }
  }
}

void check_run_ends(const Array& array, const Type& type, const Path& path) {
  const Array& ends = array.children[0];
  visit_index(type.children[0].integer, [&]<class End>() {
    int64_t before = 0;
    for (int64_t run = 0; run < ends.length; ++run) {
      const auto end = static_cast<int64_t>(load<End>(ends.first.data, ends.offset + run));
      if (end <= before) {
        fail(path,
             item("run_ends", run, end) + " is not more than " + (run == 0 ? "0" : item("run_ends", run - 1, before)));
      }
      before = end;
    }
  });
}

void check_keys(const Array& array, const Type& type, const Path& path) {
  const int64_t rows = array.dictionary->length;
  visit_index(type.integer, [&]<class Key>() {
    for (int64_t row = array.offset; row < array.offset + array.length; ++row) {
      const Key key = load<Key>(array.first.data, row);
      const bool inside = key >= 0 && static_cast<uint64_t>(key) < static_cast<uint64_t>(rows);
      if (inside || is_null(array, row)) continue;
      fail(path, "keys[" + std::to_string(row) + "] = " + std::to_string(key) + " does not lie inside of the " +
                     std::to_string(rows) + " values of the dictionary");
    }
  });
}

}  // namespace

int64_t count_nulls(const std::byte* validity, int64_t offset, int64_t length) {
  int64_t valid = 0;
  for (int64_t done = 0; done < length; done += 64) {
    valid += std::popcount(read_bits(validity, offset + done, std::min<int64_t>(64, length - done)));
  }
  return length - valid;
}

void check_rows(const Array& array, const Type& type, const Path& path) {
  if (array.length == 0) return;
  const bool wide = type.width == 8;
  switch (type.layout) {
    case Layout::fixed:
      if (type.dictionary != nullptr) check_keys(array, type, path);
      return;
    case Layout::binary:
    case Layout::list: return wide ? check_offsets<int64_t>(array, path) : check_offsets<int32_t>(array, path);
    case Layout::list_view:
      return wide ? check_list_views<int64_t>(array, path) : check_list_views<int32_t>(array, path);
    case Layout::view: return check_views(array, path);
    case Layout::sparse_union:
    case Layout::dense_union: return check_type_ids(array, type, path);
    case Layout::run_end: return check_run_ends(array, type, path);
    case Layout::null:
    case Layout::bits:
    case Layout::fixed_list:
    case Layout::structure: return;
  }
}

}  // namespace gs::arrow
