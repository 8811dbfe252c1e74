// fault.h: locates a fault in a structure of another library, and formats its path only when an error is thrown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gs::arrow {

// One node on the path from the root of a type or an array. Paths are on the stack, so that the check of a valid tree
// builds no strings.
struct Path {
  const Path* above = nullptr;  // null: the root
  const char* part = "";        // role in the node above: "column", "child", "dictionary"; of the root: its kind
  const char* name = "";
  int64_t number = -1;  // of a part without a name; negative: the node above has only one such part
};

// The path of a child. The children of a root that is a structure are the columns of a table.
inline Path child_path(const Path& above, bool above_is_structure, const char* name, int64_t number) {
  return {&above, above.above == nullptr && above_is_structure ? "column" : "child", name, number};
}

// Throws ExchangeError with the text "column 'a', child 'item': <what>".
[[noreturn]] void fail(const Path& path, const std::string& what);

bool is_utf8(std::string_view text);

// The first 60 bytes of the text in quotes, with \xNN for every byte that is not printable ASCII.
std::string printable(std::string_view text);

}  // namespace gs::arrow
