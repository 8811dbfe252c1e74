// array.h: one Arrow array and its type, as a tree of buffers that are shared and never changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/index_type.h"

namespace gs::table {

// How the rows of an array lie in its buffers. Everything else that a type says (timestamp, decimal, extension name) is
// carried along and never looked at.
enum class Layout : uint8_t {
  null,    // no buffers
  bits,    // first: one bit a row
  fixed,   // first: `width` bytes a row (numbers, times, decimals, intervals, fixed-size binary; keys of a dictionary)
  binary,  // first: length + 1 offsets of `width` bytes (4 or 8); second: bytes (strings too)
  view,    // first: 16-byte views; `shared`: the buffers that long values lie in
  list,    // first: length + 1 offsets of `width` bytes into the child (maps too)
  list_view,     // first: offsets, second: sizes, both of `width` bytes, into the child
  fixed_list,    // `list_size` rows of the child a row
  structure,     // a child for each field, of the same rows
  sparse_union,  // first: type ids of one byte; children of the same rows
  dense_union,   // first: type ids; second: int32 offsets into the child
  run_end,       // no buffers; child 0: run ends (int16, int32, int64), child 1: the value of each run
};

struct Type {
  std::string format;  // Arrow's, and the keys' where there is a dictionary
  std::string name;
  std::string metadata;  // the bytes as the interface has them, with their lengths; empty: none
  int64_t flags = 0;
  Layout layout = Layout::null;
  int64_t width = 0;
  int64_t list_size = 0;
  IndexType integer = IndexType::i32;  // fixed: which, where the items are integers (keys, run ends)
  bool is_integer = false;
  std::array<int8_t, 128> child_of_id{};  // unions: -1 where there is no such type id
  std::vector<Type> children;
  std::shared_ptr<const Type> dictionary;  // null: none
  int child_of(std::byte id) const {       // -1: there is none
    const auto number = static_cast<int8_t>(id);
    return number < 0 ? -1 : child_of_id[static_cast<std::size_t>(number)];
  }
  bool has_validity() const;  // whether arrays of this layout have a validity bitmap at all
};

// Whether two types hold the same values: formats, parameters, children and dictionaries. Names of fields, metadata and
// flags do not count. On a difference, `where` (if not null) gets a path such as "list.item" and both formats.
bool same_type(const Type& a, const Type& b, std::string* where = nullptr);

// Whether it is an extension type, or has one in it.
bool has_extension(const Type& type);
// Throws IndexTypeError unless `value` is plain integers: keys of a dictionary and extension types (bools, periods)
// mean something else. `map` is what the message names.
void require_row_numbers(const Type& value, const Type& map);

// What the format means for a reader: "int64", "timestamp[us, UTC]", "list<int32>".
std::string type_name(const Type& type);

struct Buffer {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;  // may be null where there are no rows
};

struct Array {
  int64_t length = 0;
  int64_t offset = 0;
  int64_t nulls = 0;  // -1: not counted
  int64_t reach = 0;  // binary: how many bytes, and list: how many rows of the child the offsets may name; -1: what
                      // the last offset says, which lies on a GPU
  Buffer validity;    // data null: every row is valid
  Buffer first;
  Buffer second;
  std::vector<Buffer> shared;         // view: data buffers
  std::vector<int64_t> shared_bytes;  // and their sizes
  std::vector<Array> children;
  std::shared_ptr<const Array> dictionary;
};

// A column or a table (whose root is a structure without nulls) in chunks. At least one type, any number of chunks.
struct Chunked {
  std::shared_ptr<const Type> type;
  std::vector<Array> chunks;
};

}  // namespace gs::table
