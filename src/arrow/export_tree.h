// export_tree.h: owns the memory of an exported Arrow struct and of all structs below it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gs::arrow {

// Holds all structs of an export except the root, and all data that they point to. A consumer may move any struct out
// of its parent and release it last, so the release of the last struct frees the tree. `Kept::drop(begin, end)`
// releases earlier the data that belongs to one struct alone. Consumers have pointers into the vectors, so all capacity
// is reserved before the first element is added.
template <class Struct, class Kept>
struct ExportTree {
  struct Node {
    ExportTree* tree;
    std::size_t begin;
    std::size_t end;
  };
  std::vector<Node> nodes;
  std::vector<Struct> structs;
  std::vector<Struct*> children;  // the pointers to the children of one struct are contiguous
  Kept kept;
  std::atomic<std::size_t> unreleased = 0;  // structs, the root included

  // `count`: number of structs, the root included.
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

  // Completes `out`, whose own data is [begin, end) of `kept`.
  void finish(Struct* out, std::size_t begin, std::size_t end) {
    out->private_data = &nodes.emplace_back(Node{this, begin, end});
    out->release = &release;
  }

  // Releases the struct and all structs below it that the consumer has not moved out.
  static void release(Struct* it) noexcept {
    for (int64_t i = 0; i < it->n_children; ++i) {
      if (it->children[i]->release != nullptr) it->children[i]->release(it->children[i]);
    }
    if (it->dictionary != nullptr && it->dictionary->release != nullptr) it->dictionary->release(it->dictionary);
    const Node node = *static_cast<Node*>(it->private_data);
    it->release = nullptr;
    node.tree->kept.drop(node.begin, node.end);
    if (node.tree->unreleased.fetch_sub(1, std::memory_order_acq_rel) == 1) delete node.tree;
  }
};

}  // namespace gs::arrow
