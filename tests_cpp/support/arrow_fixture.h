// arrow_fixture.h: builds Arrow structs field by field, which count how often each of them was released.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrow/exchange.h"

namespace fixture {

using Bytes = std::optional<std::vector<std::byte>>;  // none: a null pointer

template <class T>
Bytes bytes(const std::vector<T>& values) {
  std::vector<std::byte> out;
  out.reserve(std::max<std::size_t>(1, values.size() * sizeof(T)));  // not null, also without values
  out.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(out.data(), values.data(), values.size() * sizeof(T));
  return out;
}
inline Bytes text(const std::string& characters) {
  return bytes(std::vector<char>(characters.begin(), characters.end()));
}
inline Bytes bits(uint8_t packed) {
  return bytes(std::vector<uint8_t>{packed});
}
inline Bytes i8(std::vector<int8_t> values) {
  return bytes(values);
}
inline Bytes i16(std::vector<int16_t> values) {
  return bytes(values);
}
inline Bytes i32(std::vector<int32_t> values) {
  return bytes(values);
}
inline Bytes i64(std::vector<int64_t> values) {
  return bytes(values);
}
inline const Bytes none = std::nullopt;

// A struct of the interface with everything that it points to. Released structs keep their memory, so that a second
// release is counted and does not crash. A release includes those children that were not moved out.
template <class Struct>
struct Node {
  Struct it{};
  int releases = 0;
  std::vector<std::unique_ptr<Node>> children;
  std::unique_ptr<Node> dictionary;
  std::vector<Struct*> pointers;
  std::vector<std::string> texts;
  std::vector<Bytes> buffers;
  std::vector<const void*> buffer_pointers;

  static void release(Struct* that) {
    auto* node = static_cast<Node*>(that->private_data);
    node->releases += 1;
    for (auto& child : node->children) {
      if (child->it.release != nullptr) child->it.release(&child->it);
    }
    if (node->dictionary != nullptr && node->dictionary->it.release != nullptr) {
      node->dictionary->it.release(&node->dictionary->it);
    }
    that->release = nullptr;
  }

  void adopt(std::vector<std::unique_ptr<Node>> below) {
    children = std::move(below);
    for (auto& child : children) pointers.push_back(&child->it);
    it.n_children = static_cast<int64_t>(children.size());
    it.children = pointers.empty() ? nullptr : pointers.data();
    it.release = &release;
    it.private_data = this;
  }
  void adopt_dictionary(std::unique_ptr<Node> below) {
    dictionary = std::move(below);
    it.dictionary = &dictionary->it;
  }

  // Whether this struct and all structs below it were released exactly once.
  bool settled() const {
    return releases == 1 && (dictionary == nullptr || dictionary->settled()) &&
           std::all_of(children.begin(), children.end(), [](const auto& child) { return child->settled(); });
  }
};

using Field = Node<ArrowSchema>;
using Column = Node<ArrowArray>;
using FieldPtr = std::unique_ptr<Field>;
using ColumnPtr = std::unique_ptr<Column>;

template <class Pointer, class... More>
std::vector<Pointer> list_of(Pointer first, More... more) {
  std::vector<Pointer> all;
  all.push_back(std::move(first));
  (all.push_back(std::move(more)), ...);
  return all;
}

inline FieldPtr field(std::string format, std::string name = "", std::vector<FieldPtr> children = {},
                      int64_t flags = gs::arrow::kNullable, std::string metadata = "") {
  auto node = std::make_unique<Field>();
  node->texts = {std::move(format), std::move(name), std::move(metadata)};
  node->it.format = node->texts[0].c_str();
  node->it.name = node->texts[1].c_str();
  node->it.metadata = node->texts[2].empty() ? nullptr : node->texts[2].data();
  node->it.flags = flags;
  node->adopt(std::move(children));
  return node;
}

inline ColumnPtr column(int64_t length, std::vector<Bytes> buffers, std::vector<ColumnPtr> children = {},
                        int64_t offset = 0, int64_t null_count = -1) {
  auto node = std::make_unique<Column>();
  node->buffers = std::move(buffers);
  for (const Bytes& buffer : node->buffers) node->buffer_pointers.push_back(buffer ? buffer->data() : nullptr);
  node->it.length = length;
  node->it.offset = offset;
  node->it.null_count = null_count;
  node->it.n_buffers = static_cast<int64_t>(node->buffers.size());
  node->it.buffers = node->buffer_pointers.empty() ? nullptr : node->buffer_pointers.data();
  node->adopt(std::move(children));
  return node;
}

// A type and an array of this type.
struct Sample {
  FieldPtr type;
  ColumnPtr rows;
};

inline Sample with_dictionary(Sample keys, Sample values) {
  keys.type->adopt_dictionary(std::move(values.type));
  keys.rows->adopt_dictionary(std::move(values.rows));
  return keys;
}

// One well-formed sample of each layout: three rows after one that is sliced off, except where a comment differs.
inline Sample null_sample() {
  return {field("n", "nothing"), column(3, {}, {}, 1, 3)};
}
inline Sample bool_sample() {
  return {field("b", "flag"), column(3, {bits(0b1010), bits(0b0110)}, {}, 1)};
}
inline Sample int_sample() {
  return {field("i", "number"), column(3, {bits(0b0110), i32({1, 2, 3, 4})}, {}, 1, 1)};
}
inline Sample string_sample() {
  return {field("u", "text"), column(3, {bits(0b1101), i32({0, 1, 3, 3, 6}), text("abbddd")}, {}, 1, 1)};
}
inline Sample large_string_sample() {
  return {field("U", "large"), column(3, {none, i64({0, 1, 3, 3, 6}), text("abbddd")}, {}, 1, 0)};
}
// Row 0 is short, row 1 is null, row 2 is in data buffer 1, row 3 in data buffer 0.
inline Sample view_sample() {
  std::vector<int32_t> views = {1, 'x', 0, 0, -7, -7, -7, -7, 13, 0x72696874, 1, 2, 14, 0x72756f66, 0, 0};
  return {
      field("vu", "views"),
      column(3, {bits(0b1101), bytes(views), text("fourteen bytes"), text("..thirteen byte"), i64({14, 15})}, {}, 1)};
}
inline Sample list_sample() {
  return {field("+l", "list", list_of(field("i", "item"))),
          column(3, {bits(0b1111), i32({0, 1, 1, 3, 4})}, list_of(column(4, {none, i32({1, 2, 3, 4})})), 1)};
}
inline Sample large_list_sample() {
  return {field("+L", "lists", list_of(field("b", "item"))),
          column(3, {none, i64({0, 1, 1, 3, 4})}, list_of(column(4, {none, bits(0xf)})), 1)};
}
inline Sample list_view_sample() {
  return {field("+vl", "list views", list_of(field("s", "item"))),
          column(3, {none, i32({9, 2, 0, 4}), i32({9, 2, 4, 0})}, list_of(column(4, {none, i16({1, 2, 3, 4})})), 1)};
}
inline Sample fixed_list_sample() {
  return {field("+w:2", "pairs", list_of(field("c", "item"))),
          column(3, {bits(0b0110)}, list_of(column(8, {none, text("abcdefgh")})), 1)};
}
inline Sample struct_sample() {
  Sample a = int_sample();
  Sample b = string_sample();
  return {field("+s", "record", list_of(std::move(a.type), std::move(b.type))),
          column(2, {bits(0b110)}, list_of(std::move(a.rows), std::move(b.rows)), 1)};
}
inline Sample map_sample() {
  return {
      field("+m", "map", list_of(field("+s", "entries", list_of(field("u", "key"), field("i", "value"))))),
      column(3, {none, i32({0, 1, 1, 2, 2})},
             list_of(column(2, {none},
                            list_of(column(2, {none, i32({0, 1, 2}), text("ab")}), column(2, {none, i32({1, 2})})))),
             1)};
}
inline Sample sparse_union_sample() {
  return {field("+us:5,2", "either", list_of(field("i", "a"), field("u", "b"))),
          column(3, {i8({99, 2, 5, 2})},
                 list_of(column(4, {none, i32({1, 2, 3, 4})}), column(4, {none, i32({0, 1, 2, 3, 4}), text("abcd")})),
                 1, 0)};
}
inline Sample dense_union_sample() {
  return {field("+ud:5,2", "one of", list_of(field("i", "a"), field("u", "b"))),
          column(3, {i8({99, 2, 5, 2}), i32({99, 0, 0, 1})},
                 list_of(column(1, {none, i32({1})}), column(2, {none, i32({0, 1, 2}), text("ab")})), 1, 0)};
}
inline Sample run_end_sample() {
  return {field("+r", "runs", list_of(field("s", "run_ends"), field("u", "values"))),
          column(3, {}, list_of(column(2, {none, i16({2, 4})}), column(2, {none, i32({0, 1, 2}), text("ab")})), 1, 0)};
}
inline Sample dictionary_sample() {
  Sample keys{field("c", "coded"), column(3, {bits(0b1011), i8({99, 1, 7, 0})}, {}, 1)};
  return with_dictionary(std::move(keys), {field("u"), column(2, {none, i32({0, 1, 2}), text("ab")})});
}
// A dictionary whose values are dictionary-encoded themselves.
inline Sample nested_dictionary_sample() {
  Sample keys{field("I", "coded twice"), column(3, {none, i32({0, 2, 1, 0})}, {}, 1)};
  return with_dictionary(std::move(keys), dictionary_sample());
}

inline std::vector<std::pair<std::string, Sample (*)()>> samples() {
  return {{"null", null_sample},
          {"bool", bool_sample},
          {"int", int_sample},
          {"string", string_sample},
          {"large string", large_string_sample},
          {"view", view_sample},
          {"list", list_sample},
          {"large list", large_list_sample},
          {"list view", list_view_sample},
          {"fixed list", fixed_list_sample},
          {"struct", struct_sample},
          {"map", map_sample},
          {"sparse union", sparse_union_sample},
          {"dense union", dense_union_sample},
          {"run end", run_end_sample},
          {"dictionary", dictionary_sample},
          {"nested dictionary", nested_dictionary_sample}};
}

// A stream of one type and of chunks in order; its calls fail as the members below say.
struct Stream {
  ArrowArrayStream it{};
  FieldPtr type;
  std::vector<ColumnPtr> chunks;
  std::size_t next = 0;
  int releases = 0;
  int fail_schema = 0;             // error code that get_schema returns
  std::size_t fail_at = SIZE_MAX;  // number of the chunk for which get_next fails
  const char* error = "the disk is gone";

  explicit Stream(FieldPtr schema, std::vector<ColumnPtr> arrays = {})
      : type(std::move(schema)), chunks(std::move(arrays)) {
    it = {&get_schema, &get_next, &get_last_error, &release, this};
  }
  static Stream& self(ArrowArrayStream* stream) { return *static_cast<Stream*>(stream->private_data); }
  static int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
    if (self(stream).fail_schema != 0) return self(stream).fail_schema;
    *out = std::exchange(self(stream).type->it, {});
    return 0;
  }
  static int get_next(ArrowArrayStream* stream, ArrowArray* out) {
    Stream& from = self(stream);
    if (from.next == from.fail_at) return 5;
    *out = from.next < from.chunks.size() ? std::exchange(from.chunks[from.next]->it, {}) : ArrowArray{};
    from.next += 1;
    return 0;
  }
  static const char* get_last_error(ArrowArrayStream* stream) { return self(stream).error; }
  static void release(ArrowArrayStream* stream) {
    self(stream).releases += 1;
    stream->release = nullptr;
  }
};

}  // namespace fixture
