// fault.h: where something is wrong in what another library handed over, put into words only once it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gs::table {

// One step down the tree of a type or an array. Lives on the stack, so that a good tree costs no text.
struct Path {
  const Path* above = nullptr;  // null: the root
  const char* part = "";        // what this is to the one above: "column", "child", "dictionary"; of a root: what it is
  const char* name = "";
  int64_t number = -1;  // for parts without a name; negative: there is but one
};

// The step to a child. Children of a root that is a structure are the columns of a table.
inline Path child_path(const Path& above, bool above_is_structure, const char* name, int64_t number) {
  return {&above, above.above == nullptr && above_is_structure ? "column" : "child", name, number};
}

// Throws ExchangeError: "column 'a', child 'item': <what>".
[[noreturn]] void fail(const Path& path, const std::string& what);

bool is_utf8(std::string_view text);

// The text in quotes and of sane length, with every byte that is not printable ASCII as \xNN.
std::string printable(std::string_view text);

}  // namespace gs::table
