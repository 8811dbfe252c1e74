// import_type.cpp: converts the ArrowSchema of another library into a Type.
#include <string_view>
#include <utility>

#include "arrow/exchange.h"
#include "arrow/fault.h"
#include "arrow/load.h"
#include "arrow/read_format.h"

namespace gs::arrow {
namespace {

constexpr int kMaxLevels = 64;  // the table counts as one level
constexpr int64_t kMaxFields = 1 << 20;
constexpr int64_t kMaxMetadata = INT32_MAX;

struct SchemaReleaser {
  ArrowSchema* schema;
  ~SchemaReleaser() {
    if (schema->release != nullptr) schema->release(schema);
    schema->release = nullptr;
  }
};

// The message names only the column, because the full path would have kMaxLevels steps.
[[noreturn]] void fail_too_deep(const Path& path) {
  const Path* top = &path;
  while (top->above->above != nullptr) top = top->above;
  const char* name = top->above->name;
  const Path alone{nullptr, name[0] == '\0' ? "the column" : "column", name};
  fail(top->part == std::string_view("column") ? *top : alone,
       "its type is nested deeper than " + std::to_string(kMaxLevels) + " levels, which is the limit");
}

// Checks the whole tree before memory is allocated for it, because counts may be wrong and the tree may have cycles.
// `path` comes without the name of this node, which messages contain only if it is valid UTF-8.
void check_tree(const ArrowSchema* schema, Path path, int level, int64_t& fields) {
  if (schema == nullptr) fail(path, "is a null pointer");
  if (schema->release == nullptr) fail(path, "was released already");
  if (schema->name != nullptr && is_utf8(schema->name)) path.name = schema->name;
  if (level > kMaxLevels) fail_too_deep(path);
  if (schema->n_children < 0)
    fail(path, "n_children is " + std::to_string(schema->n_children) + ", expected 0 or more");
  fields += 1;
  if (schema->n_children > kMaxFields - fields) {
    fail(path, "has more than " + std::to_string(kMaxFields) + " fields (n_children is " +
                   std::to_string(schema->n_children) + ")");
  }
  if (schema->n_children > 0 && schema->children == nullptr) fail(path, "has children but no pointer to them");
  const bool is_structure = schema->format != nullptr && schema->format == std::string_view("+s");
  for (int64_t i = 0; i < schema->n_children; ++i) {
    check_tree(schema->children[i], child_path(path, is_structure, "", i), level + 1, fields);
  }
  if (schema->dictionary != nullptr) check_tree(schema->dictionary, {&path, "dictionary"}, level + 1, fields);
}

int64_t next_length(const char* metadata, int64_t& bytes, const Path& path) {
  const int32_t length = load<int32_t>(reinterpret_cast<const std::byte*>(metadata + bytes), 0);
  if (length < 0) fail(path, "metadata has the length " + std::to_string(length) + " at byte " + std::to_string(bytes));
  bytes += static_cast<int64_t>(sizeof(int32_t));
  return length;
}

// Copies the metadata: a count of pairs, then the length and the bytes of each key and each value.
std::string read_metadata(const char* metadata, const Path& path) {
  if (metadata == nullptr) return {};
  int64_t bytes = 0;
  const int64_t pairs = next_length(metadata, bytes, path);
  for (int64_t text = 0; text < 2 * pairs; ++text) {
    const int64_t length = next_length(metadata, bytes, path);
    bytes += length;
    if (bytes > kMaxMetadata) fail(path, "metadata is longer than " + std::to_string(kMaxMetadata) + " bytes");
  }
  return {metadata, static_cast<std::size_t>(bytes)};
}

// The number of children that the layout requires; -1: any number.
int64_t child_count(const Type& type) {
  switch (type.layout) {
    case Layout::list:
    case Layout::list_view:
    case Layout::fixed_list: return 1;
    case Layout::run_end: return 2;
    case Layout::structure: return -1;
    case Layout::sparse_union:
    case Layout::dense_union: {
      int64_t count = 0;
      for (const int8_t child : type.child_of_id) count += child >= 0 ? 1 : 0;
      return count;
    }
    default: return 0;
  }
}

void check_children(const Type& type, const Path& path) {
  if (type.layout == Layout::list && type.format == "+m") {
    const Type& entries = type.children[0];
    if (entries.layout != Layout::structure || entries.children.size() != 2) {
      fail(path, "a map's child must be a struct of two fields, key and value, got " + type_name(entries));
    }
  } else if (type.layout == Layout::run_end) {
    const Type& ends = type.children[0];
    if (!ends.is_integer || ends.width == 1 || !index_is_signed(ends.integer) || ends.dictionary != nullptr) {
      fail(path, "run ends must be int16, int32 or int64, got " + type_name(ends));
    }
  }
  if (type.dictionary != nullptr && !type.is_integer) {
    fail(path, "keys of a dictionary must be integers, got format " + printable(type.format));
  }
}

// `path` comes without the name of this node, which messages contain only if it is valid UTF-8.
void read_type(const ArrowSchema& schema, Path path, Type& type) {
  if (schema.name != nullptr) {
    if (!is_utf8(schema.name)) fail(path, "its name is not UTF-8: " + printable(schema.name));
    type.name = path.name = schema.name;
  }
  read_format(schema.format, type, path);
  const int64_t expected = child_count(type);
  if (expected >= 0 && schema.n_children != expected) {
    fail(path, "n_children is " + std::to_string(schema.n_children) + ", but format " + printable(type.format) +
                   " has " + std::to_string(expected));
  }
  type.metadata = read_metadata(schema.metadata, path);
  type.flags = schema.flags;
  type.children.resize(static_cast<std::size_t>(schema.n_children));
  for (int64_t i = 0; i < schema.n_children; ++i) {
    read_type(*schema.children[i], child_path(path, type.layout == Layout::structure, "", i),
              type.children[static_cast<std::size_t>(i)]);
  }
  if (schema.dictionary != nullptr) {
    auto dictionary = std::make_shared<Type>();
    read_type(*schema.dictionary, {&path, "dictionary"}, *dictionary);
    type.dictionary = std::move(dictionary);
  }
  check_children(type, path);
}

}  // namespace

Type import_type(ArrowSchema* schema) {
  const Path root{nullptr, "Arrow schema"};
  if (schema == nullptr) fail(root, "is a null pointer");
  const SchemaReleaser releaser{schema};
  int64_t fields = 0;
  check_tree(schema, root, 1, fields);
  Type type;
  read_type(*schema, root, type);
  return type;
}

}  // namespace gs::arrow
