// test_arrow_release.cpp: ownership and release of Arrow structs: streams, moved children, threads, and failed
// allocations.
#include <cerrno>
#include <cstdlib>
#include <new>
#include <thread>

#include "arrow_fixture.h"
#include "catch.h"
#include "core/error.h"

using namespace gs::arrow;
using namespace fixture;

namespace {

thread_local int64_t allocations_left = -1;  // negative: no limit

}  // namespace

// All allocations of the program use these operators, so that each one can be made to fail. GCC does not recognise new
// and delete below as a pair if one of them is inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
void* operator new(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) allocations_left -= 1;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

// Repeats a call with 0, 1, 2, ... permitted allocations, each time on new structs, until it succeeds.
template <class Make, class Call, class Look>
int starve(Make make, Call call, Look look) {
  for (int granted = 0; granted < 1000; ++granted) {
    auto made = make();
    bool failed = false;
    allocations_left = granted;
    try {
      call(made);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = -1;
    look(made, failed);
    if (!failed) return granted;
  }
  return -1;
}

Sample deep_sample() {
  Sample a = nested_dictionary_sample();
  Sample b = view_sample();
  Sample c = map_sample();
  a.rows->it.offset = b.rows->it.offset = c.rows->it.offset = 0;
  a.rows->it.null_count = b.rows->it.null_count = c.rows->it.null_count = -1;
  return {field("+s", "", list_of(std::move(a.type), std::move(b.type), std::move(c.type))),
          column(3, {none}, list_of(std::move(a.rows), std::move(b.rows), std::move(c.rows)))};
}

}  // namespace

TEST_CASE("structs are released once wherever memory runs out", "[arrow]") {
  const int type_steps =
      starve([] { return field("+s", std::string(50, 'n'), list_of(field("+l", "", list_of(field("i"))))); },
             [](FieldPtr& made) { import_type(&made->it); },
             [](FieldPtr& made, bool) {
               CHECK(made->settled());
               CHECK(made->it.release == nullptr);
             });
  CHECK(type_steps > 2);
  const int array_steps = starve(
      [] {
        Sample made = deep_sample();
        Type type = import_type(&made.type->it);
        return std::make_pair(std::move(made), std::move(type));
      },
      [](auto& made) { import_array(&made.first.rows->it, made.second, Check::full); },
      [](auto& made, bool) { CHECK(made.first.rows->settled()); });
  CHECK(array_steps > 4);
  const int stream_steps = starve(
      [] {
        std::vector<ColumnPtr> chunks;
        for (int i = 0; i < 3; ++i) chunks.push_back(deep_sample().rows);
        return std::make_unique<Stream>(deep_sample().type, std::move(chunks));
      },
      [](auto& made) { import_stream(&made->it, Check::structure); },
      [](auto& made, bool) {
        CHECK(made->releases == 1);
        CHECK(made->type->settled());
        for (std::size_t i = 0; i < made->next && i < 3; ++i) CHECK(made->chunks[i]->settled());
      });
  CHECK(stream_steps > 10);
}

TEST_CASE("an export that runs out of memory leaves nothing behind", "[arrow]") {
  const Sample made = deep_sample();
  {
    const Type type = import_type(&made.type->it);
    const Array array = import_array(&made.rows->it, type, Check::structure);
    const int type_steps = starve([] { return ArrowSchema{}; }, [&](ArrowSchema& out) { export_type(type, &out); },
                                  [](ArrowSchema& out, bool failed) {
                                    CHECK((out.release == nullptr) == failed);
                                    if (!failed) out.release(&out);
                                  });
    CHECK(type_steps > 3);
    const int array_steps =
        starve([] { return ArrowArray{}; }, [&](ArrowArray& out) { export_array(array, type, &out); },
               [](ArrowArray& out, bool failed) {
                 CHECK((out.release == nullptr) == failed);
                 if (!failed) out.release(&out);
               });
    CHECK(array_steps > 4);

    auto chunked = std::make_shared<Chunked>();
    chunked->type = std::make_shared<Type>(type);
    chunked->chunks = {array};
    ArrowArrayStream stream{};
    export_stream(chunked, &stream);
    CHECK(stream.get_last_error(&stream) == nullptr);
    ArrowSchema schema{};
    ArrowArray chunk{};
    allocations_left = 0;
    CHECK(stream.get_schema(&stream, &schema) == ENOMEM);
    CHECK(stream.get_next(&stream, &chunk) == ENOMEM);
    allocations_left = -1;
    CHECK(std::string(stream.get_last_error(&stream)) == "not enough memory");
    CHECK(stream.get_next(&stream, &chunk) == 0);  // the chunk is still available
    CHECK(stream.get_last_error(&stream) == nullptr);
    CHECK(chunk.length == 3);
    chunk.release(&chunk);
    stream.release(&stream);
    CHECK(stream.release == nullptr);
  }
  CHECK(made.rows->settled());
}

TEST_CASE("children may be moved out of an export and outlive it", "[arrow]") {
  const Sample made = deep_sample();
  ArrowSchema schema{};
  ArrowArray array{};
  {
    const Type type = import_type(&made.type->it);
    const Array imported = import_array(&made.rows->it, type, Check::structure);
    export_type(type, &schema);
    export_array(imported, type, &array);
  }
  ArrowSchema map_type = *schema.children[2];
  schema.children[2]->release = nullptr;
  ArrowArray views = *array.children[1];
  array.children[1]->release = nullptr;
  ArrowArray words = *array.children[0]->dictionary;
  array.children[0]->dictionary->release = nullptr;
  schema.release(&schema);
  array.release(&array);
  CHECK(made.rows->releases == 0);
  CHECK(std::string(map_type.children[0]->children[0]->name) == "key");
  CHECK(std::string(static_cast<const char*>(views.buffers[2]), 8) == "fourteen");
  CHECK(static_cast<const int64_t*>(views.buffers[4])[1] == 15);
  map_type.release(&map_type);
  views.release(&views);
  CHECK(made.rows->releases == 0);
  CHECK(static_cast<const int8_t*>(words.buffers[1])[1] == 1);
  words.release(&words);
  CHECK(made.rows->settled());
}

TEST_CASE("the memory of a column is released with that column", "[arrow]") {
  const auto table = field("+s", "", list_of(field("i", "a"), field("i", "b")));
  const Type type = import_type(&table->it);
  std::weak_ptr<const void> alive[2];
  Array root;
  root.length = 1;
  for (auto& each : alive) {
    auto memory = std::make_shared<int32_t>(7);
    each = memory;
    Array column;
    column.length = 1;
    column.first = {memory, reinterpret_cast<const std::byte*>(memory.get())};
    root.children.push_back(std::move(column));
  }
  ArrowArray out{};
  export_array(root, type, &out);
  root = {};
  CHECK_FALSE(alive[0].expired());
  out.children[0]->release(out.children[0]);
  CHECK(alive[0].expired());
  CHECK_FALSE(alive[1].expired());
  out.release(&out);
  CHECK(alive[1].expired());
}

TEST_CASE("columns may be released by many threads at a time", "[arrow]") {
  constexpr int kColumns = 64;
  std::vector<FieldPtr> fields;
  std::vector<ColumnPtr> columns;
  for (int i = 0; i < kColumns; ++i) {
    fields.push_back(field("i"));
    columns.push_back(column(2, {none, i32({1, i})}));
  }
  const Sample made{field("+s", "", std::move(fields)), column(2, {none}, std::move(columns))};
  ArrowArray out{};
  {
    const Type type = import_type(&made.type->it);
    export_array(import_array(&made.rows->it, type, Check::structure), type, &out);
  }
  std::vector<ArrowArray> moved;
  for (int i = 0; i < kColumns; ++i) {
    moved.push_back(*out.children[i]);
    out.children[i]->release = nullptr;
  }
  std::vector<std::thread> threads;
  threads.emplace_back([&] { out.release(&out); });
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < moved.size(); i += 4) moved[i].release(&moved[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(made.rows->settled());
}

TEST_CASE("a stream gives its chunks and is released", "[arrow]") {
  Stream from(int_sample().type);
  for (int i = 0; i < 3; ++i) from.chunks.push_back(int_sample().rows);
  ArrowArrayStream stream{};
  {
    Chunked chunked = import_stream(&from.it, Check::full);
    CHECK(from.it.release == nullptr);
    CHECK(from.releases == 1);
    CHECK(chunked.chunks.size() == 3);
    CHECK(type_name(*chunked.type) == "int32");
    export_stream(std::make_shared<const Chunked>(std::move(chunked)), &stream);
  }
  ArrowArray first{};
  ArrowSchema schema{};
  REQUIRE(stream.get_next(&stream, &first) == 0);
  REQUIRE(stream.get_schema(&stream, &schema) == 0);
  CHECK(std::string(schema.format) == "i");
  schema.release(&schema);
  const Chunked rest = import_stream(&stream, Check::full);  // the chunks that are left
  CHECK(rest.chunks.size() == 2);
  CHECK(from.chunks[0]->releases == 0);
  first.release(&first);
  CHECK(from.chunks[0]->settled());
  CHECK(from.chunks[1]->releases == 0);
}

TEST_CASE("streams that fail are released once, with the chunks that they returned", "[arrow]") {
  const auto refusal = [](Stream& from) -> std::string {
    try {
      import_stream(&from.it, Check::structure);
    } catch (const gs::ExchangeError& error) {
      CHECK(from.it.release == nullptr);
      CHECK(from.releases == 1);
      return error.what();
    }
    return "no error";
  };
  const auto make = [] {
    auto from = std::make_unique<Stream>(int_sample().type);
    for (int i = 0; i < 3; ++i) from->chunks.push_back(int_sample().rows);
    return from;
  };
  auto from = make();
  from->fail_at = 1;
  CHECK(refusal(*from) == "Arrow stream: the producer failed to give chunk 1: the disk is gone");
  CHECK(from->type->settled());
  CHECK(from->chunks[0]->settled());
  CHECK(from->chunks[1]->releases == 0);

  from = make();
  from->fail_schema = 5;
  from->error = nullptr;
  CHECK(refusal(*from) == "Arrow stream: the producer failed to give its schema: Input/output error");
  CHECK(from->type->releases == 0);

  from = make();
  from->fail_schema = 5;
  from->error = "\xff\xfe";
  CHECK(refusal(*from) == "Arrow stream: the producer failed to give its schema: \"\\xff\\xfe\"");

  from = make();
  from->chunks[2]->it.length = -4;
  CHECK(refusal(*from) == "chunk 2, Arrow array 'number': length is -4, expected 0 or more");
  for (const auto& chunk : from->chunks) CHECK(chunk->settled());

  from = make();
  from->type->it.format = "?";
  CHECK(refusal(*from) == "Arrow schema 'number': unknown format \"?\"");
  CHECK(from->chunks[0]->releases == 0);

  from = make();
  from->type->it.release = nullptr;  // get_schema succeeds, but gives a released type
  CHECK(refusal(*from) == "Arrow schema: was released already");

  from = make();
  from->it.get_next = nullptr;
  CHECK(refusal(*from) == "Arrow stream: has no get_schema or no get_next");

  from = make();
  from->it.get_last_error = nullptr;
  from->fail_at = 0;
  CHECK(refusal(*from) == "Arrow stream: the producer failed to give chunk 0: Input/output error");

  from = make();
  import_stream(&from->it, Check::structure);
  CHECK_THROWS_AS(import_stream(&from->it, Check::structure), gs::ExchangeError);
  CHECK_THROWS_AS(import_stream(nullptr, Check::structure), gs::ExchangeError);
  CHECK(from->releases == 1);
}
