// export_tree.h: the memory behind an exported struct and all that hang below it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gs::table {

// All structs of an export but the root, and whatever they point to. A consumer may move any struct out of its parent
// and release it last, so the one that is released last frees the tree. `Kept::drop(begin, end)` gives up earlier what
// was kept for one struct alone. Nothing is moved after it was placed: everything is reserved before.
template <class Struct, class Kept>
struct ExportTree {
  struct Node {
    ExportTree* tree;
    std::size_t begin;
    std::size_t end;
  };
  std::vector<Node> nodes;
  std::vector<Struct> structs;
  std::vector<Struct*> children;  // the children of one struct lie side by side
  Kept kept;
  std::atomic<std::size_t> alive = 0;

  // How many structs there will be, the root included.
  void reserve(std::size_t count) {
    nodes.reserve(count);
    structs.reserve(count);
    children.reserve(count);
  }

  Struct* add_struct() { return &structs.emplace_back(); }

  Struct** add_children(std::size_t count) {
    if (count == 0) return nullptr;
    const std::size_t first = children.size();
    for (std::size_t i = 0; i < count; ++i) children.push_back(add_struct());
    return &children[first];
  }

  // `out` is complete: what was kept for it lies in [begin, end).
  void finish(Struct* out, std::size_t begin, std::size_t end) {
    out->private_data = &nodes.emplace_back(Node{this, begin, end});
    out->release = &release;
  }

  // The structs below it are released with it, but for those that were moved out.
  static void release(Struct* it) noexcept {
    for (int64_t i = 0; i < it->n_children; ++i) {
      if (it->children[i]->release != nullptr) it->children[i]->release(it->children[i]);
    }
    if (it->dictionary != nullptr && it->dictionary->release != nullptr) it->dictionary->release(it->dictionary);
    const Node node = *static_cast<Node*>(it->private_data);
    it->release = nullptr;
    node.tree->kept.drop(node.begin, node.end);
    if (node.tree->alive.fetch_sub(1, std::memory_order_acq_rel) == 1) delete node.tree;
  }
};

}  // namespace gs::table
