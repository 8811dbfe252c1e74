// export_type.cpp: converts a Type into an ArrowSchema for another library.
#include <memory>
#include <string>

#include "arrow/exchange.h"
#include "arrow/export_tree.h"

namespace gs::arrow {
namespace {

// Stores all formats, names and metadata one after the other. The text is reserved at its full size beforehand, so that
// the pointers into it stay valid.
struct StringArena {
  std::string text;
  void drop(std::size_t, std::size_t) {}

  const char* add(const std::string& more) {
    const std::size_t at = text.size();
    text.append(more.c_str(), more.size() + 1);
    return text.data() + at;
  }
  // Metadata begins with an int32, which must be aligned.
  const char* add_aligned(const std::string& more) {
    text.resize((text.size() + 7) / 8 * 8);
    return add(more);
  }
};

using SchemaTree = ExportTree<ArrowSchema, StringArena>;

std::size_t count(const Type& type, std::size_t& bytes) {
  bytes += type.format.size() + type.name.size() + type.metadata.size() + 3 + 7;
  std::size_t structs = 1;
  for (const Type& child : type.children) structs += count(child, bytes);
  return type.dictionary == nullptr ? structs : structs + count(*type.dictionary, bytes);
}

void fill(SchemaTree& tree, const Type& type, ArrowSchema* out) {
  out->format = tree.kept.add(type.format);
  out->name = tree.kept.add(type.name);
  out->metadata = type.metadata.empty() ? nullptr : tree.kept.add_aligned(type.metadata);
  out->flags = type.flags;
  out->n_children = static_cast<int64_t>(type.children.size());
  out->children = tree.add_children(type.children.size());
  for (std::size_t i = 0; i < type.children.size(); ++i) fill(tree, type.children[i], out->children[i]);
  if (type.dictionary != nullptr) {
    out->dictionary = tree.add_struct();
    fill(tree, *type.dictionary, out->dictionary);
  }
  tree.finish(out, 0, 0);
}

}  // namespace

void export_type(const Type& type, ArrowSchema* out) {
  auto tree = std::make_unique<SchemaTree>();
  std::size_t bytes = 0;
  const std::size_t structs = count(type, bytes);
  tree->kept.text.reserve(bytes);
  tree->reserve(structs);
  tree->unreleased = structs;
  ArrowSchema root{};
  fill(*tree, type, &root);
  *out = root;
  static_cast<void>(tree.release());  // the exported structs own the tree from here on
}

}  // namespace gs::arrow
