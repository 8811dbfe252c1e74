// values.cpp: implements values.h.
#include "arrow/values.h"

#include <limits>
#include <string_view>

#include "arrow/bits.h"
#include "arrow/run_ends.h"
#include "core/error.h"
#include "core/rule.h"

namespace gs::arrow {
namespace {

void append_bytes(const void* data, int64_t size, std::string& out) {
  if (size > 0) out.append(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

void append_size(int64_t size, std::string& out) {
  append_bytes(&size, sizeof size, out);
}

[[noreturn]] void refuse(const Type& type) {
  throw ExchangeError("'" + type.name + "' (" + type_name(type) + "): a value lies outside of its buffers");
}

int64_t offset_of(const Type& type, const Buffer& buffer, int64_t row) {
  return load_offset(buffer.data, type.width, row);
}

void append_rows(const Type& type, const Array& array, int64_t begin, int64_t end, std::string& out) {
  if (begin < 0 || end < begin || end > array.length) refuse(type);
  append_size(end - begin, out);
  for (int64_t i = begin; i < end; ++i) append_value(type, array, i, out);
}

std::string_view as_text(const std::byte* data, int64_t size) {
  return size == 0 ? std::string_view("")
                   : std::string_view(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
}

std::string_view view_bytes(const Type& type, const Array& array, int64_t at) {
  constexpr int64_t kInline = 12;
  const std::byte* const view = array.first.data + at * 16;
  const int64_t size = load<int32_t>(view, 0);
  if (size < 0) refuse(type);
  if (size <= kInline) return as_text(view + 4, size);
  const int64_t buffer = load<int32_t>(view, 2);
  const int64_t begin = load<int32_t>(view, 3);
  if (buffer < 0 || buffer >= static_cast<int64_t>(array.shared.size())) refuse(type);
  const auto b = static_cast<std::size_t>(buffer);
  if (begin < 0 || begin > array.shared_bytes[b] - size) refuse(type);
  return as_text(array.shared[b].data + begin, size);
}

std::string_view binary_bytes(const Type& type, const Array& array, int64_t at) {
  const int64_t begin = offset_of(type, array.first, at);
  const int64_t end = offset_of(type, array.first, at + 1);
  if (begin < 0 || end < begin || end > array.reach) refuse(type);
  return as_text(array.second.data + begin, end - begin);
}

void append_text(std::string_view text, std::string& out) {
  append_size(static_cast<int64_t>(text.size()), out);
  out.append(text);
}

void append_present(const Type& type, const Array& array, int64_t row, std::string& out) {
  const int64_t at = array.offset + row;
  const Type* const child = type.children.empty() ? nullptr : &type.children[0];
  switch (type.layout) {
    case Layout::null: return;
    case Layout::bits: return out.push_back(bit_at(array.first.data, at) ? '\1' : '\0');
    case Layout::fixed: return append_bytes(array.first.data + at * type.width, type.width, out);
    case Layout::view: return append_text(view_bytes(type, array, at), out);
    case Layout::binary: return append_text(binary_bytes(type, array, at), out);
    case Layout::list:
      return append_rows(*child, array.children[0], offset_of(type, array.first, at),
                         offset_of(type, array.first, at + 1), out);
    case Layout::list_view: {
      const int64_t begin = offset_of(type, array.first, at);
      const int64_t size = offset_of(type, array.second, at);
      if (begin < 0 || size < 0 || begin > array.children[0].length - size) refuse(type);
      return append_rows(*child, array.children[0], begin, begin + size, out);
    }
    case Layout::fixed_list:
      return append_rows(*child, array.children[0], at * type.list_size, (at + 1) * type.list_size, out);
    case Layout::structure:
      for (std::size_t c = 0; c < type.children.size(); ++c) append_value(type.children[c], array.children[c], at, out);
      return;
    case Layout::sparse_union:
    case Layout::dense_union: {
      const std::byte id = array.first.data[at];
      const int child_number = type.child_of(id);
      if (child_number < 0) refuse(type);
      const auto c = static_cast<std::size_t>(child_number);
      const bool dense = type.layout == Layout::dense_union;
      const int64_t from = dense ? load<int32_t>(array.second.data, at) : at;
      if (from < 0 || from >= array.children[c].length) refuse(type);
      out.push_back(static_cast<char>(id));
      return append_value(type.children[c], array.children[c], from, out);
    }
    case Layout::run_end: {
      const int64_t run = RunEnds(type, array).find(at);
      if (run >= array.children[1].length) refuse(type);
      return append_value(type.children[1], array.children[1], run, out);
    }
  }
}

}  // namespace

void append_value(const Type& type, const Array& array, int64_t row, std::string& out) {
  const bool is_null = array.validity.data != nullptr && !bit_at(array.validity.data, array.offset + row);
  out.push_back(is_null ? '\0' : '\1');
  if (is_null) return;
  if (type.dictionary == nullptr) return append_present(type, array, row, out);
  const int64_t key = integer_at(type, array.first.data, array.offset + row);
  if (!is_inside(key, array.dictionary->length)) refuse(type);
  append_value(*type.dictionary, *array.dictionary, key, out);
}

bool has_plain_bytes(const Type& type) {
  if (type.dictionary != nullptr) return false;
  return type.layout == Layout::fixed || type.layout == Layout::binary || type.layout == Layout::view;
}

std::string_view plain_bytes(const Type& type, const Array& array, int64_t row) {
  const int64_t at = array.offset + row;
  if (type.layout == Layout::binary) return binary_bytes(type, array, at);
  if (type.layout == Layout::view) return view_bytes(type, array, at);
  return as_text(array.first.data + at * type.width, type.width);
}

int64_t integer_at(const Type& type, const std::byte* data, int64_t row) {
  return visit_index(type.integer, [&]<class Integer>() { return widen(load<Integer>(data, row)); });
}

void set_integer(const Type& type, std::byte* data, int64_t row, int64_t value) {
  visit_index(type.integer, [&]<class Integer>() { store(data, row, static_cast<Integer>(value)); });
}

int64_t most_integer(const Type& type) {
  return visit_index(type.integer, []<class Integer>() { return widen(std::numeric_limits<Integer>::max()); });
}

}  // namespace gs::arrow
