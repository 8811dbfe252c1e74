// array.h: defines an Arrow array and its type as a tree of shared, immutable buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/index_type.h"

namespace gs::arrow {

// How the rows of an array lie in its buffers. The operators carry the other properties of a type (timestamp, decimal,
// extension name) along and do not interpret them.
enum class Layout : uint8_t {
  null,        // no buffers
  bits,        // first: one bit per row
  fixed,       // first: `width` bytes per row (numbers, times, decimals, intervals, fixed-size binary, dictionary keys)
  binary,      // first: length + 1 offsets of `width` bytes (4 or 8); second: bytes (also of strings)
  view,        // first: 16-byte views; `shared`: the data buffers of long values
  list,        // first: length + 1 offsets of `width` bytes into the child (also of Arrow maps)
  list_view,   // first: offsets, second: sizes, both of `width` bytes, into the child
  fixed_list,  // `list_size` rows of the child per row
  structure,   // a child for each field; row i of each child belongs to row i
  sparse_union,  // first: type ids of one byte; row i of the child that the type id names is the value
  dense_union,   // first: type ids; second: int32 offsets into the child
  run_end,       // no buffers; child 0: run ends (int16, int32, int64), child 1: the value of each run
};

struct Type {
  std::string format;  // Arrow's format string; for a dictionary, that of the keys
  std::string name;
  std::string metadata;  // the bytes of the C data interface, lengths included; empty: no metadata
  int64_t flags = 0;
  Layout layout = Layout::null;
  int64_t width = 0;
  int64_t list_size = 0;
  IndexType integer = IndexType::i32;  // fixed: the integer type of the items if is_integer
  bool is_integer = false;
  std::array<int8_t, 128> child_of_id{};  // unions: child of each type id, -1 for an unused type id
  std::vector<Type> children;
  std::shared_ptr<const Type> dictionary;  // type of the values; null: not dictionary-encoded
  int child_of(std::byte id) const {       // -1: the union has no such type id
    const auto number = static_cast<int8_t>(id);
    return number < 0 ? -1 : child_of_id[static_cast<std::size_t>(number)];
  }
  bool has_validity() const;  // whether arrays of this layout can have a validity bitmap
};

// Whether two types hold the same values: compares formats, parameters, children, dictionaries and extension types, but
// not field names, flags and other metadata. On a difference, `where` (if not null) gets a path such as "list.item" and
// both type names.
bool same_type(const Type& a, const Type& b, std::string* where = nullptr);

// Whether the type is an extension type or contains one.
bool has_extension(const Type& type);

// The readable name of the type: "int64", "timestamp[us, UTC]", "list<int32>".
std::string type_name(const Type& type);

struct Buffer {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;  // may be null if there are no rows
};

struct Array {
  int64_t length = 0;
  int64_t offset = 0;
  int64_t nulls = 0;  // -1: not counted
  int64_t reach = 0;  // largest allowed offset: bytes of a binary, rows of the child of a list; -1: the last offset,
                      // which is in GPU memory
  Buffer validity;    // data is null: every row is valid
  Buffer first;
  Buffer second;
  std::vector<Buffer> shared;         // view: data buffers
  std::vector<int64_t> shared_bytes;  // view: their sizes
  std::vector<Array> children;
  std::shared_ptr<const Array> dictionary;
};

// A column, or a table (its type is a structure without nulls), in any number of chunks. The type is never null.
struct Chunked {
  std::shared_ptr<const Type> type;
  std::vector<Array> chunks;
};

}  // namespace gs::arrow
