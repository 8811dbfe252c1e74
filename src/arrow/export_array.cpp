// export_array.cpp: converts an Array into an ArrowArray for another library, and a Chunked into an ArrowArrayStream.
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "arrow/exchange.h"
#include "arrow/export_tree.h"

namespace gs::arrow {
namespace {

// Replaces null buffers of arrays without rows, because some consumers read the first offset of an empty array.
alignas(64) constexpr std::byte kNoRows[64] = {};

struct BufferPointers {
  std::vector<const void*> pointers;
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<int64_t> sizes;  // bytes of the data buffers of views

  void drop(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) owners[i].reset();
  }

  // Adds the owner of the buffer, unless the previous buffer of this struct (from `begin` on) has the same owner.
  void keep(const Buffer& buffer, std::size_t begin) {
    const auto& owner = buffer.owner;
    if (owner == nullptr) return;
    const bool kept = owners.size() > begin && !owner.owner_before(owners.back()) && !owners.back().owner_before(owner);
    if (!kept) owners.push_back(owner);
  }
};

using ArrayTree = ExportTree<ArrowArray, BufferPointers>;

struct Sizes {
  std::size_t structs = 0;
  std::size_t buffers = 0;
  std::size_t data_buffers = 0;
};

void count(const Array& array, Sizes& sizes) {
  sizes.structs += 1;
  sizes.buffers += 4 + array.shared.size();
  sizes.data_buffers += array.shared.size();
  for (const Array& child : array.children) count(child, sizes);
  if (array.dictionary != nullptr) count(*array.dictionary, sizes);
}

// The number of buffers without the validity bitmap and, of a view, without the data buffers and their sizes.
int buffers_of_rows(Layout layout) {
  switch (layout) {
    case Layout::null:
    case Layout::run_end:
    case Layout::fixed_list:
    case Layout::structure: return 0;
    case Layout::binary:
    case Layout::list_view:
    case Layout::dense_union: return 2;
    default: return 1;
  }
}

void add_buffers(BufferPointers& kept, const Array& array, const Type& type, ArrowArray* out) {
  const std::size_t first = kept.pointers.size();
  const std::size_t begin = kept.owners.size();
  const auto add = [&](const Buffer& buffer) {
    kept.keep(buffer, begin);
    kept.pointers.push_back(buffer.data != nullptr ? buffer.data : kNoRows);
  };
  if (type.has_validity()) {
    kept.keep(array.validity, begin);
    kept.pointers.push_back(array.validity.data);
  }
  const int rows = buffers_of_rows(type.layout);
  if (rows > 0) add(array.first);
  if (rows > 1) add(array.second);
  if (type.layout == Layout::view) {
    for (const Buffer& buffer : array.shared) add(buffer);
    const std::size_t sizes = kept.sizes.size();
    kept.sizes.insert(kept.sizes.end(), array.shared_bytes.begin(), array.shared_bytes.end());
    kept.pointers.push_back(array.shared.empty() ? static_cast<const void*>(kNoRows) : kept.sizes.data() + sizes);
  }
  out->n_buffers = static_cast<int64_t>(kept.pointers.size() - first);
  out->buffers = kept.pointers.data() + first;
}

int64_t null_count(const Array& array, const Type& type) {
  if (type.layout == Layout::null) return array.length;
  return array.validity.data == nullptr ? 0 : array.nulls;
}

void fill(ArrayTree& tree, const Array& array, const Type& type, ArrowArray* out) {
  out->length = array.length;
  out->null_count = null_count(array, type);
  out->offset = array.offset;
  const std::size_t begin = tree.kept.owners.size();
  add_buffers(tree.kept, array, type, out);
  const std::size_t end = tree.kept.owners.size();
  out->n_children = static_cast<int64_t>(array.children.size());
  out->children = tree.add_children(array.children.size());
  for (std::size_t i = 0; i < array.children.size(); ++i) {
    fill(tree, array.children[i], type.children[i], out->children[i]);
  }
  if (array.dictionary != nullptr) {
    out->dictionary = tree.add_struct();
    fill(tree, *array.dictionary, *type.dictionary, out->dictionary);
  }
  tree.finish(out, begin, end);
}

struct Stream {
  std::shared_ptr<const Chunked> chunked;
  std::size_t next = 0;
  const char* error = nullptr;
};

Stream& state(ArrowArrayStream* stream) {
  return *static_cast<Stream*>(stream->private_data);
}

// Calls produce(stream state) and returns the error code of the stream. Only an allocation can fail.
template <class Produce>
int run(ArrowArrayStream* stream, Produce&& produce) noexcept {
  try {
    produce(state(stream));
    state(stream).error = nullptr;
    return 0;
  } catch (...) {
    state(stream).error = "not enough memory";
    return ENOMEM;
  }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) noexcept {
  return run(stream, [&](Stream& from) { export_type(*from.chunked->type, out); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) noexcept {
  return run(stream, [&](Stream& from) {
    if (from.next == from.chunked->chunks.size()) {
      out->release = nullptr;
      return;
    }
    export_array(from.chunked->chunks[from.next], *from.chunked->type, out);
    from.next += 1;
  });
}

const char* get_last_error(ArrowArrayStream* stream) noexcept {
  return state(stream).error;
}

void release_stream(ArrowArrayStream* stream) noexcept {
  delete &state(stream);
  stream->release = nullptr;
}

}  // namespace

void export_array(const Array& array, const Type& type, ArrowArray* out) {
  auto tree = std::make_unique<ArrayTree>();
  Sizes sizes;
  count(array, sizes);
  tree->kept.pointers.reserve(sizes.buffers);
  tree->kept.owners.reserve(sizes.buffers);
  tree->kept.sizes.reserve(sizes.data_buffers);
  tree->reserve(sizes.structs);
  tree->unreleased = sizes.structs;
  ArrowArray root{};
  fill(*tree, array, type, &root);
  *out = root;
  static_cast<void>(tree.release());  // the exported structs own the tree from here on
}

void export_stream(std::shared_ptr<const Chunked> chunked, ArrowArrayStream* out) {
  auto* from = new Stream{std::move(chunked)};
  *out = {&get_schema, &get_next, &get_last_error, &release_stream, from};
}

}  // namespace gs::arrow
