// arrow_input.h: makes Arrow schemas and arrays from the input of a fuzz target, with faults of every kind.
//
// Each buffer has exactly the bytes that the array declares, so that AddressSanitizer sees a read beyond it. Lengths
// that no memory has are among the faults; a length that is false but possible is not, because no consumer can see it.
#pragma once

#include "arrow/exchange.h"
#include "arrow_fixture.h"
#include "fuzz_input.h"

namespace gs::fuzz {

inline constexpr int kMostLevels = 3;

inline fixture::FieldPtr make_field(Input& input, int level) {
  static constexpr const char* kFlat[] = {"i", "l", "c",   "S",       "b",   "u",       "z",   "U",   "vu", "vz",
                                          "n", "g", "w:3", "d:19,10", "tdD", "tsu:UTC", "tin", "w:0", "C",  "L"};
  static constexpr const char* kNested[] = {"+s",   "+l", "+L",      "+vl",     "+vL", "+w:2",
                                            "+w:0", "+m", "+us:5,2", "+ud:0,1", "+r"};
  std::string format = level < kMostLevels && input.coin() ? input.pick(kNested) : input.pick(kFlat);
  if (input.rarely()) format.resize(static_cast<std::size_t>(input.from(0, 6)), 'x');
  if (input.rarely()) format[static_cast<std::size_t>(input.from(0, 5)) % (format.size() + 1)] = input.raw<char>();

  std::vector<fixture::FieldPtr> children;
  if (format[0] == '+') {
    int64_t count = format[1] == 's' ? input.from(0, 3) : format[1] == 'u' || format[1] == 'r' ? 2 : 1;
    if (input.rarely()) count = input.from(0, 3);
    for (int64_t i = 0; i < count; ++i) children.push_back(make_field(input, level + 1));
    if (format[1] == 'r' && count > 0 && !input.rarely()) {
      children[0] = fixture::field(input.pick({"s", "i", "l"}), "run_ends", {}, 0);
    }
    if (format[1] == 'm' && count > 0 && !input.rarely()) {
      auto entry = fixture::list_of(make_field(input, level + 2), make_field(input, level + 2));
      children[0] = fixture::field("+s", "entries", std::move(entry), 0);
    }
  }
  std::string metadata;
  if (input.rarely(8)) {
    const int32_t numbers[] = {1, static_cast<int32_t>(input.rarely(4) ? -1 : 2), 'a' + 256 * 'b',
                               static_cast<int32_t>(input.rarely(4) ? INT32_MIN : 0)};
    metadata.assign(reinterpret_cast<const char*>(numbers), 4 + 4);
    metadata += "ab";
    metadata.append(reinterpret_cast<const char*>(&numbers[3]), 4);
  }
  const int64_t flags = input.rarely() ? input.wild() : input.from(0, 3);
  std::string name = input.rarely() ? std::string{input.raw<char>(), input.raw<char>()} : input.coin() ? "a" : "b";
  auto made = fixture::field(std::move(format), std::move(name), std::move(children), flags, std::move(metadata));
  if (input.rarely(8) && level < kMostLevels) made->adopt_dictionary(make_field(input, level + 1));
  if (!input.rarely(64)) return made;
  switch (input.from(0, 4)) {
    case 0: made->it.format = nullptr; break;
    case 1: made->it.name = nullptr; break;
    case 2: made->it.n_children = -1 - input.from(0, 1) * INT64_MAX; break;
    case 3: made->it.children = nullptr; break;
    default:
      if (!made->pointers.empty()) made->pointers[0] = nullptr;
  }
  return made;
}

// Numbers of `width` bytes in a buffer of their own.
inline fixture::Bytes packed(const std::vector<int64_t>& values, int64_t width) {
  std::vector<char> made(values.size() * static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::memcpy(made.data() + i * static_cast<std::size_t>(width), &values[i],
                static_cast<std::size_t>(std::min<int64_t>(width, 8)));
  }
  return fixture::bytes(made);
}

inline fixture::Bytes random_bytes(Input& input, int64_t count) {
  std::vector<char> made(static_cast<std::size_t>(count));
  for (char& byte : made) byte = input.raw<char>();
  return fixture::bytes(made);
}

// `count` numbers in [0, most], a few of them anything at all; ascending ones for offsets.
inline std::vector<int64_t> places(Input& input, int64_t count, int64_t most, bool ascending) {
  std::vector<int64_t> made;
  int64_t last = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t next = ascending ? last + (input.coin() ? input.from(0, 3) : 0) : input.from(0, most > 0 ? most : 0);
    last = std::min(next, most);
    made.push_back(input.rarely(64) ? input.wild() : last);
  }
  return made;
}

inline fixture::ColumnPtr make_column(Input& input, const arrow::Type& type, int64_t end);

// What a column consists of, besides its validity.
struct Parts {
  std::vector<fixture::Bytes> buffers;
  std::vector<fixture::ColumnPtr> children;
};

inline Parts view_parts(Input& input, int64_t end) {
  std::vector<int64_t> sizes;
  Parts parts;
  parts.buffers.emplace_back();
  for (int64_t i = input.from(0, 2); i > 0; --i) {
    sizes.push_back(input.from(0, 40));
    parts.buffers.push_back(random_bytes(input, sizes.back()));
  }
  std::vector<int32_t> views;
  for (int64_t row = 0; row < end; ++row) {
    const auto length = static_cast<int32_t>(input.rarely(64) ? input.wild() : input.from(0, 24));
    views.push_back(length);
    views.push_back(input.raw<int32_t>());
    const bool is_inline = length <= 12;
    views.push_back(is_inline ? input.raw<int32_t>()
                              : static_cast<int32_t>(input.rarely() ? input.wild() : input.from(0, 1)));
    views.push_back(is_inline ? input.raw<int32_t>()
                              : static_cast<int32_t>(input.rarely() ? input.wild() : input.from(0, 20)));
  }
  parts.buffers[0] = fixture::bytes(views);
  if (input.rarely(64) && !sizes.empty()) sizes[0] = -1;
  parts.buffers.push_back(fixture::i64(sizes));
  return parts;
}

inline Parts union_parts(Input& input, const arrow::Type& type, int64_t end) {
  std::vector<int64_t> ids;
  for (int id = 0; id < 128; ++id) {
    if (type.child_of_id[static_cast<std::size_t>(id)] >= 0) ids.push_back(id);
  }
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < end; ++row) {
    const bool is_known = !ids.empty() && !input.rarely(64);
    rows.push_back(is_known ? ids[static_cast<std::size_t>(input.from(0, 127)) % ids.size()] : input.raw<int8_t>());
  }
  Parts parts;
  parts.buffers.push_back(packed(rows, 1));
  const bool is_dense = type.layout == arrow::Layout::dense_union;
  if (is_dense) parts.buffers.push_back(packed(places(input, end, 2, false), 4));
  for (const arrow::Type& child : type.children) {
    parts.children.push_back(make_column(input, child, is_dense ? input.from(2, 4) : end));
  }
  return parts;
}

inline Parts run_parts(Input& input, const arrow::Type& type, int64_t end) {
  std::vector<int64_t> ends;
  for (int64_t last = 0; last < end || ends.empty();) {
    last += input.from(1, 4);
    ends.push_back(input.rarely(64) ? input.wild() : last);
    if (input.rarely(64)) break;
  }
  const auto runs = static_cast<int64_t>(ends.size());
  Parts parts;
  parts.children.push_back(fixture::column(runs, {fixture::none, packed(ends, type.children[0].width)}));
  parts.children.push_back(make_column(input, type.children[1], runs + 3));
  return parts;
}

inline Parts make_parts(Input& input, const arrow::Type& type, int64_t end) {
  using arrow::Layout;
  Parts parts;
  switch (type.layout) {
    case Layout::null: break;
    case Layout::bits: parts.buffers = {random_bytes(input, (end + 7) / 8)}; break;
    case Layout::fixed:
      if (type.dictionary != nullptr) {
        parts.buffers = {packed(places(input, end, 2, false), type.width)};
      } else {
        parts.buffers = {random_bytes(input, end * type.width)};
      }
      break;
    case Layout::binary: {
      std::vector<int64_t> offsets = places(input, end + 1, 60, true);
      // The last offset declares the bytes; a larger one than there are would be a lie about memory.
      offsets.back() = std::min<int64_t>(offsets.back(), 60);
      parts.buffers = {packed(offsets, type.width), random_bytes(input, std::max<int64_t>(offsets.back(), 0))};
      break;
    }
    case Layout::view: return view_parts(input, end);
    case Layout::list:
    case Layout::list_view: {
      const int64_t rows = input.from(0, 12);
      const bool is_list = type.layout == Layout::list;
      parts.buffers = {packed(places(input, end + int64_t{is_list}, is_list ? rows : rows / 2, is_list), type.width)};
      if (!is_list) parts.buffers.push_back(packed(places(input, end, rows / 2, false), type.width));
      parts.children.push_back(make_column(input, type.children[0], rows));
      break;
    }
    case Layout::fixed_list:
      parts.children.push_back(make_column(input, type.children[0], std::min<int64_t>(end * type.list_size, 40)));
      break;
    case Layout::structure:
      for (const arrow::Type& child : type.children) parts.children.push_back(make_column(input, child, end));
      break;
    case Layout::sparse_union:
    case Layout::dense_union: return union_parts(input, type, end);
    case Layout::run_end: return run_parts(input, type, end);
  }
  return parts;
}

// One number or pointer of the struct is false.
inline void break_column(Input& input, fixture::Column& column) {
  const int64_t huge[] = {INT64_MAX, INT64_MAX / 2, int64_t{1} << 49, -1, INT64_MIN};
  switch (input.from(0, 8)) {
    case 0: column.it.length = input.pick(huge); break;
    case 1: column.it.offset = input.pick(huge); break;
    case 2: column.it.null_count = input.wild(); break;
    case 3: {
      // With 4 of the 5 buffers of views, a data buffer would be declared to hold the sizes: a lie about memory.
      const int64_t most = std::min<int64_t>(column.it.n_buffers, 3);
      column.it.n_buffers = input.coin() ? input.pick(huge) : input.from(0, most);
      break;
    }
    case 4: column.it.n_children = input.wild(); break;
    case 5: column.it.buffers = nullptr; break;
    case 6: column.it.children = nullptr; break;
    case 7:
      if (!column.buffer_pointers.empty()) {
        column.buffer_pointers[static_cast<std::size_t>(input.from(0, 7)) % column.buffer_pointers.size()] = nullptr;
      }
      break;
    default:
      if (column.dictionary != nullptr) column.it.dictionary = nullptr;
      if (!column.pointers.empty()) column.pointers[0] = nullptr;
  }
}

// A column of `end` rows, of which the first ones may be sliced off, or of fewer.
inline fixture::ColumnPtr make_column(Input& input, const arrow::Type& type, int64_t end) {
  if (input.rarely(64)) end = input.from(0, end);
  const int64_t offset = input.rarely(4) ? input.from(0, end) : 0;
  Parts parts = make_parts(input, type, end);
  if (type.has_validity()) {
    parts.buffers.insert(parts.buffers.begin(), input.coin() ? random_bytes(input, (end + 7) / 8) : fixture::none);
  }
  auto made = fixture::column(end - offset, std::move(parts.buffers), std::move(parts.children), offset);
  if (type.dictionary != nullptr) made->adopt_dictionary(make_column(input, *type.dictionary, input.from(2, 4)));
  if (type.has_validity() && made->buffer_pointers[0] == nullptr) made->it.null_count = input.from(-1, 0);
  if (input.rarely(64)) break_column(input, *made);
  return made;
}

}  // namespace gs::fuzz
