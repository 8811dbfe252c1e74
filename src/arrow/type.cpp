// type.cpp: compares types and gives their readable names.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "arrow/array.h"

namespace gs::arrow {
namespace {

// The spelling by which formats are compared. Only 128-bit decimals have two spellings, with and without ",128" behind
// the scale; "d:5,128" ends with a scale of 128.
std::string_view canonical(const std::string& format) {
  constexpr std::string_view kBits = ",128";
  const std::string_view text = format;
  if (text.substr(0, 2) != "d:") return text;
  const std::size_t scale = text.find(',') + 1;
  const std::size_t bits = text.find(',', scale);
  return bits != std::string_view::npos && text.substr(bits) == kBits ? text.substr(0, bits) : text;
}

const char* child_word(const Type& type, std::size_t child) {
  switch (type.layout) {
    case Layout::list: return type.format == "+m" ? "entries" : "item";
    case Layout::list_view:
    case Layout::fixed_list: return "item";
    case Layout::run_end: return child == 0 ? "run_ends" : "values";
    default: return "";
  }
}

std::string step(const Type& type, std::size_t child) {
  const std::string& name = type.children[child].name;
  if (!name.empty()) return name;
  const char* word = child_word(type, child);
  return word[0] != '\0' ? word : std::to_string(child);
}

// The value of a key in Arrow's metadata, empty if the key is missing. The import has checked the structure.
std::string_view metadata_value(const std::string& metadata, std::string_view key) {
  const char* at = metadata.data();
  const auto number = [&at] {
    int32_t value = 0;
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
  };
  const auto text = [&] {
    const auto size = static_cast<std::size_t>(number());
    const std::string_view value(at, size);
    at += size;
    return value;
  };
  for (int32_t left = metadata.empty() ? 0 : number(); left > 0; --left) {
    const bool found = text() == key;
    const std::string_view value = text();
    if (found) return value;
  }
  return {};
}

constexpr std::string_view kExtensionName = "ARROW:extension:name";

// Extension types are different if their names or their extension metadata differ. A type without an extension name
// matches every extension type on the same storage.
bool same_extension(const Type& a, const Type& b) {
  const std::string_view name = metadata_value(a.metadata, kExtensionName);
  const std::string_view other = metadata_value(b.metadata, kExtensionName);
  if (name.empty() || other.empty()) return true;
  constexpr std::string_view kDescription = "ARROW:extension:metadata";
  return name == other && metadata_value(a.metadata, kDescription) == metadata_value(b.metadata, kDescription);
}

// Whether the types match. On a difference, each level of the recursion puts its step in front of `where`.
bool same(const Type& a, const Type& b, std::string* where) {
  const bool alike = canonical(a.format) == canonical(b.format) && a.children.size() == b.children.size() &&
                     (a.dictionary == nullptr) == (b.dictionary == nullptr);
  if (!alike) {
    if (where != nullptr) *where = ": " + type_name(a) + " and " + type_name(b);
    return false;
  }
  if (!same_extension(a, b)) {
    if (where != nullptr) *where = ": different extension types on " + type_name(a);
    return false;
  }
  for (std::size_t i = 0; i < a.children.size(); ++i) {
    if (same(a.children[i], b.children[i], where)) continue;
    if (where != nullptr) where->insert(0, step(a, i)).insert(0, ".");
    return false;
  }
  if (a.dictionary == nullptr || same(*a.dictionary, *b.dictionary, where)) return true;
  if (where != nullptr) *where = ".dictionary" + *where;
  return false;
}

const char* unit_word(char unit) {
  switch (unit) {
    case 's': return "[s";
    case 'm': return "[ms";
    case 'u': return "[us";
    default: return "[ns";
  }
}

const char* letter_word(char letter) {
  switch (letter) {
    case 'n': return "null";
    case 'b': return "bool";
    case 'c': return "int8";
    case 'C': return "uint8";
    case 's': return "int16";
    case 'S': return "uint16";
    case 'i': return "int32";
    case 'I': return "uint32";
    case 'l': return "int64";
    case 'L': return "uint64";
    case 'e': return "float16";
    case 'f': return "float32";
    case 'g': return "float64";
    case 'z': return "binary";
    case 'Z': return "large_binary";
    case 'u': return "string";
    case 'U': return "large_string";
    default: return "";
  }
}

std::string time_name(std::string_view text) {
  if (text == "tdD") return "date32";
  if (text == "tdm") return "date64";
  if (text == "tiM") return "month_interval";
  if (text == "tiD") return "day_time_interval";
  if (text == "tin") return "month_day_nano_interval";
  const std::string unit = unit_word(text[2]);
  if (text[1] == 'D') return "duration" + unit + "]";
  if (text[1] == 't') return (text[2] == 's' || text[2] == 'm' ? "time32" : "time64") + unit + "]";
  const std::string_view zone = text.substr(4);
  return "timestamp" + unit + (zone.empty() ? "" : ", " + std::string(zone)) + "]";
}

std::string decimal_name(std::string_view text) {
  const std::string_view precision = text.substr(0, text.find(','));
  const std::string_view rest = text.substr(precision.size() + 1);
  const std::string_view scale = rest.substr(0, rest.find(','));
  const std::string bits = scale.size() == rest.size() ? "128" : std::string(rest.substr(scale.size() + 1));
  return "decimal" + bits + "(" + std::string(precision) + ", " + std::string(scale) + ")";
}

std::string leaf_name(const Type& type) {
  const std::string_view text = type.format;
  if (text.size() == 1) return letter_word(text[0]);
  if (text[0] == 't') return time_name(text);
  if (text[0] == 'd') return decimal_name(text.substr(2));
  if (text[0] == '_') return text == "_pli128" ? "int128" : "uint128";
  if (text[0] == 'w') return "fixed_size_binary[" + std::to_string(type.width) + "]";
  return text == "vu" ? "string_view" : "binary_view";
}

std::string fields_name(const Type& type) {
  std::string text = "<";
  for (std::size_t i = 0; i < type.children.size(); ++i) {
    if (i > 0) text += ", ";
    text += step(type, i);
    text += ": ";
    text += type_name(type.children[i]);
    for (std::size_t id = 0; type.layout != Layout::structure && id < type.child_of_id.size(); ++id) {
      if (type.child_of_id[id] == static_cast<int>(i)) text.append("=").append(std::to_string(id));
    }
  }
  return text + ">";
}

std::string map_name(const Type& map) {
  const Type& entries = map.children[0];
  return "map<" + type_name(entries.children[0]) + ", " + type_name(entries.children[1]) + ">";
}

}  // namespace

bool Type::has_validity() const {
  switch (layout) {
    case Layout::null:
    case Layout::sparse_union:
    case Layout::dense_union:
    case Layout::run_end: return false;
    default: return true;
  }
}

bool same_type(const Type& a, const Type& b, std::string* where) {
  if (same(a, b, where)) return true;
  if (where != nullptr) where->erase(0, (*where)[0] == ':' ? 2 : 1);  // the path begins without a separator
  return false;
}

bool has_extension(const Type& type) {
  if (!metadata_value(type.metadata, kExtensionName).empty()) return true;
  if (type.dictionary != nullptr && has_extension(*type.dictionary)) return true;
  return std::any_of(type.children.begin(), type.children.end(), has_extension);
}

std::string type_name(const Type& type) {
  const auto item = [&] { return type_name(type.children[0]); };
  if (type.dictionary != nullptr) return "dictionary<" + leaf_name(type) + ", " + type_name(*type.dictionary) + ">";
  const std::string large = type.width == 8 ? "large_" : "";
  switch (type.layout) {
    case Layout::list: return type.format == "+m" ? map_name(type) : large + "list<" + item() + ">";
    case Layout::list_view: return large + "list_view<" + item() + ">";
    case Layout::fixed_list: return "fixed_size_list<" + item() + ", " + std::to_string(type.list_size) + ">";
    case Layout::structure: return "struct" + fields_name(type);
    case Layout::sparse_union: return "sparse_union" + fields_name(type);
    case Layout::dense_union: return "dense_union" + fields_name(type);
    case Layout::run_end: return "run_end_encoded<" + item() + ", " + type_name(type.children[1]) + ">";
    default: return leaf_name(type);
  }
}

}  // namespace gs::arrow
