// read_format.cpp: implements read_format.h.
#include "arrow/read_format.h"

#include <charconv>
#include <limits>
#include <string_view>

namespace gs::arrow {
namespace {

bool starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// Removes a decimal number, and the comma behind it, from the front of `text`; false: there is no valid number.
bool take_number(std::string_view& text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > std::numeric_limits<int32_t>::max()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty()) return true;
  if (text.front() != ',' || text.size() == 1) return false;
  text.remove_prefix(1);
  return true;
}

bool read_fixed(Type& type, int64_t width) {
  type.layout = Layout::fixed;
  type.width = width;
  return true;
}

bool read_integer(Type& type, IndexType integer) {
  type.integer = integer;
  type.is_integer = true;
  return read_fixed(type, index_size(integer));
}

bool read_layout(Type& type, Layout layout, int64_t width) {
  type.layout = layout;
  type.width = width;
  return true;
}

bool read_one_letter(char letter, Type& type) {
  switch (letter) {
    case 'n': return read_layout(type, Layout::null, 0);
    case 'b': return read_layout(type, Layout::bits, 0);
    case 'c': return read_integer(type, IndexType::i8);
    case 'C': return read_integer(type, IndexType::u8);
    case 's': return read_integer(type, IndexType::i16);
    case 'S': return read_integer(type, IndexType::u16);
    case 'i': return read_integer(type, IndexType::i32);
    case 'I': return read_integer(type, IndexType::u32);
    case 'l': return read_integer(type, IndexType::i64);
    case 'L': return read_integer(type, IndexType::u64);
    case 'e': return read_fixed(type, 2);
    case 'f': return read_fixed(type, 4);
    case 'g': return read_fixed(type, 8);
    case 'z':
    case 'u': return read_layout(type, Layout::binary, 4);
    case 'Z':
    case 'U': return read_layout(type, Layout::binary, 8);
    default: return false;
  }
}

// The text is "precision,scale" or "precision,scale,bits"; the default is 128 bits.
bool read_decimal(std::string_view text, Type& type) {
  int64_t precision = 0;
  int64_t scale = 0;
  int64_t bits = 128;
  if (!take_number(text, precision) || precision < 1 || text.empty() || !take_number(text, scale)) return false;
  if (!text.empty() && (!take_number(text, bits) || !text.empty())) return false;
  const bool is_supported = bits == 32 || bits == 64 || bits == 128 || bits == 256;
  return is_supported && read_fixed(type, bits / 8);
}

bool is_unit(char unit) {
  return unit == 's' || unit == 'm' || unit == 'u' || unit == 'n';
}

bool read_time(std::string_view text, Type& type) {
  if (text == "tdD" || text == "tts" || text == "ttm" || text == "tiM") return read_fixed(type, 4);
  if (text == "tdm" || text == "ttu" || text == "ttn" || text == "tiD") return read_fixed(type, 8);
  if (text == "tin") return read_fixed(type, 16);
  if (starts(text, "tD")) return text.size() == 3 && is_unit(text[2]) && read_fixed(type, 8);
  const bool is_timestamp = starts(text, "ts") && text.size() >= 4 && is_unit(text[2]) && text[3] == ':';
  return is_timestamp && read_fixed(type, 8);
}

// The text holds the type ids of the children, in the order of the children.
bool read_type_ids(std::string_view text, Type& type) {
  type.child_of_id.fill(-1);
  for (int8_t child = 0; !text.empty(); ++child) {
    int64_t id = -1;
    if (!take_number(text, id) || id < 0 || id > 127) return false;
    int8_t& slot = type.child_of_id[static_cast<std::size_t>(id)];
    if (slot >= 0) return false;
    slot = child;
  }
  return true;
}

bool read_nested(std::string_view text, Type& type) {
  if (text == "+l" || text == "+m") return read_layout(type, Layout::list, 4);
  if (text == "+L") return read_layout(type, Layout::list, 8);
  if (text == "+vl") return read_layout(type, Layout::list_view, 4);
  if (text == "+vL") return read_layout(type, Layout::list_view, 8);
  if (text == "+s") return read_layout(type, Layout::structure, 0);
  if (text == "+r") return read_layout(type, Layout::run_end, 0);
  if (starts(text, "+us:")) return read_layout(type, Layout::sparse_union, 1) && read_type_ids(text.substr(4), type);
  if (starts(text, "+ud:")) return read_layout(type, Layout::dense_union, 1) && read_type_ids(text.substr(4), type);
  if (!starts(text, "+w:")) return false;
  text.remove_prefix(3);
  return read_layout(type, Layout::fixed_list, 0) && take_number(text, type.list_size) && type.list_size >= 0 &&
         text.empty();
}

bool read_text(std::string_view text, Type& type) {
  if (text.size() == 1) return read_one_letter(text[0], type);
  if (text == "vz" || text == "vu") return read_layout(type, Layout::view, 16);
  if (text == "_pli128" || text == "_plu128") return read_fixed(type, 16);  // 128-bit integers, a format of polars
  if (starts(text, "t")) return read_time(text, type);
  if (starts(text, "+")) return read_nested(text, type);
  if (starts(text, "d:")) return read_decimal(text.substr(2), type);
  if (!starts(text, "w:")) return false;
  text.remove_prefix(2);
  return read_layout(type, Layout::fixed, 0) && take_number(text, type.width) && type.width >= 0 && text.empty();
}

}  // namespace

void read_format(const char* format, Type& type, const Path& path) {
  if (format == nullptr) fail(path, "has no format");
  const std::string_view text = format;
  if (!is_utf8(text) || !read_text(text, type)) fail(path, "unknown format " + printable(text));
  type.format = text;
}

}  // namespace gs::arrow
