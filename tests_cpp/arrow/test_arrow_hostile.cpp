// test_arrow_hostile.cpp: contradictory Arrow structs give errors that name the place, and are released once.
#include <limits>

#include "arrow_fixture.h"
#include "catch.h"
#include "core/error.h"

using namespace gs::arrow;
using namespace fixture;

namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

template <class Call>
void require_refusal(const std::string& says, Call call) {
  std::string message = "no error";
  try {
    call();
  } catch (const gs::ExchangeError& error) {
    message = error.what();
  }
  INFO(message);
  CHECK(message.find(says) != std::string::npos);
}

struct BadType {
  const char* says;
  FieldPtr (*make)();
};

FieldPtr changed(FieldPtr made, void (*change)(Field&)) {
  change(*made);
  return made;
}

FieldPtr with_metadata(std::vector<int32_t> numbers) {
  const char* data = reinterpret_cast<const char*>(numbers.data());
  return field("i", "a", {}, 0, std::string(data, 4 * numbers.size()));
}

FieldPtr nested(int levels) {
  FieldPtr made = field("i");
  for (int i = 0; i < levels; ++i) made = field("+l", "", list_of(std::move(made)));
  return made;
}

FieldPtr with_dictionary_of(const char* keys) {
  auto made = field("+s", "", list_of(field(keys, "a")));
  made->children[0]->adopt_dictionary(field("u"));
  return made;
}

std::vector<BadType> bad_types() {
  return {
      {"Arrow schema: has no format", [] { return changed(field("i"), [](Field& f) { f.it.format = nullptr; }); }},
      {"unknown format \"x\\xff\\x0a\"", [] { return field("x\xff\n"); }},
      {"unknown format \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\"",
       [] { return field(std::string(5000, 'x')); }},
      {"column 'b': unknown format \"q\"", [] { return field("+s", "", list_of(field("i", "a"), field("q", "b"))); }},
      {"column 1: unknown format \"\"", [] { return field("+s", "", list_of(field("i", "a"), field(""))); }},
      {"column 'a', child 0: unknown format",
       [] { return field("+s", "", list_of(field("+l", "a", list_of(field(""))))); }},
      {"column 'a': n_children is 1, but format \"i\" has 0",
       [] { return field("+s", "", list_of(field("i", "a", list_of(field("i"))))); }},
      {"n_children is 0, but format \"+l\" has 1", [] { return field("+l"); }},
      {"n_children is 2, but format \"+w:3\" has 1", [] { return field("+w:3", "", list_of(field("i"), field("i"))); }},
      {"n_children is 1, but format \"+ud:0,1\" has 2", [] { return field("+ud:0,1", "", list_of(field("i"))); }},
      {"n_children is 1, but format \"+r\" has 2", [] { return field("+r", "", list_of(field("i"))); }},
      {"n_children is -1", [] { return changed(field("+s"), [](Field& f) { f.it.n_children = -1; }); }},
      {"has more than 1048576 fields (n_children is 9223372036854775807)",
       [] { return changed(field("+s", "", list_of(field("i"))), [](Field& f) { f.it.n_children = kMost; }); }},
      {"has children but no pointer to them",
       [] { return changed(field("+l", "", list_of(field("i"))), [](Field& f) { f.it.children = nullptr; }); }},
      {"child 0: is a null pointer",
       [] { return changed(field("+l", "", list_of(field("i"))), [](Field& f) { f.pointers[0] = nullptr; }); }},
      {"the column: its type is nested deeper than 64 levels", [] { return nested(65); }},
      {"column 'a': its type is nested deeper than 64 levels",
       [] { return field("+s", "", list_of(field("i"), field("+l", "a", list_of(nested(63))))); }},
      {"column 0: its type is nested deeper than 64 levels",
       [] { return field("+s", "", list_of(field("+l", "\xff", list_of(nested(63))))); }},
      {"column 'a': n_children is -1",
       [] {
         auto made = field("+s", "", list_of(field("i", "a")));
         made->children[0]->it.n_children = -1;
         return made;
       }},
      {"is nested deeper than 64 levels",
       [] { return changed(field("+l", "", list_of(field("i"))), [](Field& f) { f.pointers[0] = &f.it; }); }},
      {"a map's child must be a struct of two fields", [] { return field("+m", "", list_of(field("i"))); }},
      {"a map's child must be a struct of two fields, key and value, got struct<0: int32>",
       [] { return field("+m", "", list_of(field("+s", "", list_of(field("i"))))); }},
      {"run ends must be int16, int32 or int64, got int8",
       [] { return field("+r", "", list_of(field("c"), field("i"))); }},
      {"run ends must be int16, int32 or int64, got uint32",
       [] { return field("+r", "", list_of(field("I"), field("i"))); }},
      {"run ends must be int16, int32 or int64, got string",
       [] { return field("+r", "", list_of(field("u"), field("i"))); }},
      {"column 'a': keys of a dictionary must be integers, got format \"g\"", [] { return with_dictionary_of("g"); }},
      {"column 'a': keys of a dictionary must be integers, got format \"tdD\"",
       [] { return with_dictionary_of("tdD"); }},
      {"column 'a': keys of a dictionary must be integers", [] { return with_dictionary_of("u"); }},
      {"its name is not UTF-8: \"a\\xc3\"", [] { return field("+s", "", list_of(field("i", "a\xc3"))); }},
      {"its name is not UTF-8: \"\\xed\\xa0\\x80\"", [] { return field("i", "\xed\xa0\x80"); }},
      {"its name is not UTF-8: \"\\xc0\\x80\"", [] { return field("i", "\xc0\x80"); }},
      {"its name is not UTF-8: \"\\xf4\\x90\\x80\\x80\"", [] { return field("i", "\xf4\x90\x80\x80"); }},
      {"metadata has the length -1 at byte 0", [] { return with_metadata({-1}); }},
      {"'a': metadata has the length -5 at byte 4", [] { return with_metadata({1, -5}); }},
      {"metadata has the length -2147483648 at byte 8", [] { return with_metadata({1, 0, INT32_MIN}); }},
      {"metadata is longer than 2147483647 bytes", [] { return with_metadata({1, INT32_MAX}); }},
  };
}

struct BadArray {
  const char* says;
  Sample (*make)();
  void (*change)(Column&);
  bool only_full = false;
};

void put(Column& column, std::size_t buffer, std::size_t row, int32_t value) {
  std::memcpy(column.buffers[buffer]->data() + 4 * row, &value, 4);
}
void put_byte(Column& column, std::size_t buffer, std::size_t row, int8_t value) {
  std::memcpy(column.buffers[buffer]->data() + row, &value, 1);
}
void put_short(Column& column, std::size_t buffer, std::size_t row, int16_t value) {
  std::memcpy(column.buffers[buffer]->data() + 2 * row, &value, 2);
}
template <std::size_t kBuffer>
void without(Column& column) {
  column.buffer_pointers[kBuffer] = nullptr;
}

std::vector<BadArray> bad_structures() {
  return {
      {"length is -1", int_sample, [](Column& c) { c.it.length = -1; }},
      {"offset is -1", int_sample, [](Column& c) { c.it.offset = -1; }},
      {"more than any memory holds", int_sample, [](Column& c) { c.it.length = c.it.offset = kMost; }},
      {"at offset 1, more than any memory holds", null_sample, [](Column& c) { c.it.length = kMost; }},
      {"more than any memory holds", int_sample, [](Column& c) { c.it.length = kMost - 10; }},
      {"more than any memory holds", dense_union_sample, [](Column& c) { c.it.length = kMost / 2; }},
      {"more than any memory holds", bool_sample, [](Column& c) { c.it.length = kMost - 10; }},
      {"null_count is -2, but the array has 3 rows", int_sample, [](Column& c) { c.it.null_count = -2; }},
      {"null_count is 4, but the array has 3 rows", int_sample, [](Column& c) { c.it.null_count = 4; }},
      {"null_count is 1, but there is no validity bitmap", int_sample, without<0>},
      {"n_buffers is 1, but int32 has 2", int_sample, [](Column& c) { c.it.n_buffers = 1; }},
      {"n_buffers is 3, but int32 has 2", int_sample, [](Column& c) { c.it.n_buffers = 3; }},
      {"n_buffers is -1", int_sample, [](Column& c) { c.it.n_buffers = -1; }},
      {"n_buffers is 2, but null has 0", null_sample, [](Column& c) { c.it.n_buffers = 2; }},
      {"n_buffers is 2, but sparse_union<a: int32=5, b: string=2> has 1", sparse_union_sample,
       [](Column& c) { c.it.n_buffers = 2; }},
      {"n_buffers is 3, but dense_union", dense_union_sample, [](Column& c) { c.it.n_buffers = 3; }},
      {"n_buffers is 1, but run_end_encoded<int16, string> has 0", run_end_sample,
       [](Column& c) { c.it.n_buffers = 1; }},
      {"n_buffers is 2, but string_view has 3 or more", view_sample, [](Column& c) { c.it.n_buffers = 2; }},
      {"n_buffers is 9223372036854775807", view_sample, [](Column& c) { c.it.n_buffers = kMost; }},
      {"has buffers but no pointer to them", int_sample, [](Column& c) { c.it.buffers = nullptr; }},
      {"its bits are a null pointer", bool_sample, without<1>},
      {"its values are a null pointer", int_sample, without<1>},
      {"its offsets are a null pointer", string_sample, without<1>},
      {"its offsets are a null pointer", large_list_sample, without<1>},
      {"its bytes are a null pointer", large_string_sample, without<2>},
      {"its views are a null pointer", view_sample, without<1>},
      {"data buffer 1 is a null pointer", view_sample, without<3>},
      {"the sizes of its data buffers are a null pointer", view_sample, without<4>},
      {"data buffer 0 has the size -1", view_sample, [](Column& c) { put(c, 4, 0, -1), put(c, 4, 1, -1); }},
      {"its offsets are a null pointer", list_view_sample, without<1>},
      {"its sizes are a null pointer", list_view_sample, without<2>},
      {"its type ids are a null pointer", sparse_union_sample, without<0>},
      {"its type ids are a null pointer", dense_union_sample, without<0>},
      {"its offsets are a null pointer", dense_union_sample, without<1>},
      {"n_children is 0, but its type has 1", list_sample, [](Column& c) { c.it.n_children = 0; }},
      {"n_children is 3, but its type has 2", struct_sample, [](Column& c) { c.it.n_children = 3; }},
      {"n_children is -1", int_sample, [](Column& c) { c.it.n_children = -1; }},
      {"has children but no pointer to them", struct_sample, [](Column& c) { c.it.children = nullptr; }},
      {"column 'text': is a null pointer", struct_sample, [](Column& c) { c.pointers[1] = nullptr; }},
      {"column 'number': length is -1", struct_sample, [](Column& c) { c.children[0]->it.length = -1; }},
      {"column 'text': length is 2, but offset 1 and length 2 of its parent need 3", struct_sample,
       [](Column& c) { c.children[1]->it.length = 2; }},
      {"child 'b': length is 3, but offset 1 and length 3 of its parent need 4", sparse_union_sample,
       [](Column& c) { c.children[1]->it.length = 3; }},
      {"child 'item': length is 7, but offset 1 and length 3 of its parent need 8", fixed_list_sample,
       [](Column& c) { c.children[0]->it.length = 7; }},
      {"more than any memory holds", fixed_list_sample, [](Column& c) { without<0>(c), c.it.length = kMost / 2 + 5; }},
      {"child 'item': n_buffers is 0", list_sample, [](Column& c) { c.children[0]->it.n_buffers = 0; }},
      {"has no dictionary, but its type has one", dictionary_sample, [](Column& c) { c.it.dictionary = nullptr; }},
      {"has a dictionary, but its type has none", int_sample, [](Column& c) { c.it.dictionary = &c.it; }},
      {"dictionary: offset is -3", dictionary_sample, [](Column& c) { c.dictionary->it.offset = -3; }},
      {"dictionary, dictionary: its offsets are a null pointer", nested_dictionary_sample,
       [](Column& c) { without<1>(*c.dictionary->dictionary); }},
      {"offsets run from -1 to 6", string_sample, [](Column& c) { put(c, 1, 1, -1); }},
      {"offsets run from 1 to 0", string_sample, [](Column& c) { put(c, 1, 4, 0); }},
      {"offsets run from 1 to -6", list_sample, [](Column& c) { put(c, 1, 4, -6); }},
      {"offsets[4] = 5, but the child has 4 rows", list_sample, [](Column& c) { put(c, 1, 4, 5); }},
      {"child 'entries', child 'key': offsets run from 0 to -1", map_sample,
       [](Column& c) { put(*c.children[0]->children[0], 1, 2, -1); }},
      {"its last run ends at 3, before the end of offset 1 and length 3", run_end_sample,
       [](Column& c) { put_short(*c.children[0], 1, 1, 3); }},
      {"its last run ends at 0, before", run_end_sample, [](Column& c) { c.children[0]->it.length = 0; }},
      {"its first run ends at 0", run_end_sample, [](Column& c) { put_short(*c.children[0], 1, 0, 0); }},
      {"has 2 run ends, but 1 values", run_end_sample, [](Column& c) { c.children[1]->it.length = 1; }},
      {"run ends must not be null", run_end_sample,
       [](Column& c) {
         static constexpr std::byte kSecondIsNull{1};
         c.children[0]->buffer_pointers[0] = &kSecondIsNull;
       }},
  };
}

std::vector<BadArray> bad_rows() {
  return {
      {"null_count is 1, but the validity bitmap has 2", string_sample, [](Column& c) { put_byte(c, 0, 0, 0b1001); },
       true},
      {"null_count is 0, but the validity bitmap has 1", int_sample, [](Column& c) { c.it.null_count = 0; }, true},
      {"offsets[3] = 0 is less than offsets[2] = 3", string_sample, [](Column& c) { put(c, 1, 3, 0); }, true},
      {"offsets[4] = 6 is less than offsets[3] = 9", string_sample, [](Column& c) { put(c, 1, 3, 9); }, true},
      {"offsets[3] = -2147483648 is less than", list_sample, [](Column& c) { put(c, 1, 3, INT32_MIN); }, true},
      {"offsets[3] = -1 is less than offsets[2] = 1", large_list_sample,
       [](Column& c) { put(c, 1, 6, -1), put(c, 1, 7, -1); }, true},
      {"offsets[2] = 0 and sizes[2] = 5 do not lie inside of the 4 rows", list_view_sample,
       [](Column& c) { put(c, 2, 2, 5); }, true},
      {"offsets[1] = 2147483647 and sizes[1] = 2 do not", list_view_sample, [](Column& c) { put(c, 1, 1, INT32_MAX); },
       true},
      {"sizes[3] = -1 do not", list_view_sample, [](Column& c) { put(c, 2, 3, -1); }, true},
      {"offsets[3] = -1 and", list_view_sample, [](Column& c) { put(c, 1, 3, -1); }, true},
      {"view 2 has the length -13", view_sample, [](Column& c) { put(c, 1, 8, -13); }, true},
      {"view 2 points to buffer 2 of 2", view_sample, [](Column& c) { put(c, 1, 10, 2); }, true},
      {"view 2 points to buffer -1 of 2", view_sample, [](Column& c) { put(c, 1, 10, -1); }, true},
      {"view 2 has 13 bytes at 3, but buffer 1 has 15", view_sample, [](Column& c) { put(c, 1, 11, 3); }, true},
      {"view 2 has 13 bytes at -1", view_sample, [](Column& c) { put(c, 1, 11, -1); }, true},
      {"view 3 has 2147483647 bytes at 0", view_sample, [](Column& c) { put(c, 1, 12, INT32_MAX); }, true},
      {"keys[1] = 2 does not lie inside of the 2 values", dictionary_sample, [](Column& c) { put_byte(c, 1, 1, 2); },
       true},
      {"keys[3] = -1 does not", dictionary_sample, [](Column& c) { put_byte(c, 1, 3, -1); }, true},
      {"keys[1] = 4294967295 does not lie inside of the 3 values", nested_dictionary_sample,
       [](Column& c) { put(c, 1, 1, -1); }, true},
      {"dictionary: keys[3] = 9 does not", nested_dictionary_sample,
       [](Column& c) { put_byte(*c.dictionary, 1, 3, 9); }, true},
      {"type_ids[2] = 3 is not among", sparse_union_sample, [](Column& c) { put_byte(c, 0, 2, 3); }, true},
      {"type_ids[3] = -1 is not among", dense_union_sample, [](Column& c) { put_byte(c, 0, 3, -1); }, true},
      {"offsets[2] = 1 does not lie inside of the 1 rows of child 0", dense_union_sample,
       [](Column& c) { put(c, 1, 2, 1); }, true},
      {"offsets[3] = -1 does not lie inside of the 2 rows of child 1", dense_union_sample,
       [](Column& c) { put(c, 1, 3, -1); }, true},
      {"run_ends[1] = 4 is not more than run_ends[0] = 4", run_end_sample,
       [](Column& c) { put_short(*c.children[0], 1, 0, 4); }, true},
      {"run_ends[1] = 4 is not more than run_ends[0] = 5", run_end_sample,
       [](Column& c) { put_short(*c.children[0], 1, 0, 5); }, true},
  };
}

void require_refused(const BadArray& bad, Check check) {
  const Sample made = bad.make();
  const Type type = import_type(&made.type->it);
  bad.change(*made.rows);
  require_refusal(bad.says, [&] { import_array(&made.rows->it, type, check); });
  CHECK(made.rows->it.release == nullptr);
  CHECK(made.rows->settled());
}

}  // namespace

TEST_CASE("schemas that contradict themselves", "[arrow]") {
  for (const BadType& bad : bad_types()) {
    INFO(bad.says);
    const FieldPtr made = bad.make();
    require_refusal(bad.says, [&] { import_type(&made->it); });
    CHECK(made->it.release == nullptr);
    CHECK(made->settled());
  }
  for (const char* format : {"d",       "d:",       "d:5",         "d:5,",         "d:0,1",
                             "d:5,2,",  "d:5,2,16", "d:5,2,128,1", "d:x,2",        "d:99999999999999999999,2",
                             "w",       "w:",       "w:-1",        "w:2147483648", "w:3 ",
                             "t",       "td",       "tdX",         "ttx",          "tt",
                             "ts",      "tsu",      "tsx:",        "tD",           "tDx",
                             "tDsx",    "tix",      "v",           "vx",           "+",
                             "+x",      "+w",       "+w:",         "+w:-2",        "+w:1,2",
                             "+lx",     "+ld",      "+v",          "+us",          "+ud",
                             "+ux:0",   "+us:0,",   "+us:,0",      "+us:0,0",      "+us:128",
                             "+us:-1",  "+ud:0;1",  "ii",          " i",           "\xc3\xbc",
                             "tsu:\xff"}) {
    INFO(format);
    const FieldPtr made = field(format);
    require_refusal("unknown format", [&] { import_type(&made->it); });
    CHECK(made->settled());
  }
}

TEST_CASE("schemas that fork without end", "[arrow]") {
  FieldPtr levels = field("i");
  std::vector<FieldPtr> all;
  for (int i = 0; i < 40; ++i) {  // both children of each level are the level below
    auto above = field("+s", "", list_of(field("i"), field("i")));
    above->pointers[0] = above->pointers[1] = &levels->it;
    all.push_back(std::move(levels));
    levels = std::move(above);
  }
  require_refusal("has more than 1048576 fields", [&] { import_type(&levels->it); });
  CHECK(levels->releases == 1);
}

TEST_CASE("arrays that contradict themselves or their type", "[arrow]") {
  for (const BadArray& bad : bad_structures()) {
    INFO(bad.says);
    require_refused(bad, Check::structure);
    require_refused(bad, Check::full);
  }
}

TEST_CASE("rows that point outside", "[arrow]") {
  for (const BadArray& bad : bad_rows()) {
    INFO(bad.says);
    require_refused(bad, Check::full);
    const Sample made = bad.make();
    const Type type = import_type(&made.type->it);
    bad.change(*made.rows);
    import_array(&made.rows->it, type, Check::structure);  // does not read the rows
    CHECK(made.rows->settled());
  }
}

TEST_CASE("offsets of null rows, and of rows outside of the array, are not checked", "[arrow]") {
  const Sample listed = list_view_sample();
  const Type type = import_type(&listed.type->it);
  put(*listed.rows, 1, 0, -77);
  CHECK_NOTHROW(import_array(&listed.rows->it, type, Check::full));
  const Sample coded = dictionary_sample();  // index 7 of its 2 keys is in a null row
  const Type coded_type = import_type(&coded.type->it);
  CHECK_NOTHROW(import_array(&coded.rows->it, coded_type, Check::full));
}

TEST_CASE("structs that were released before", "[arrow]") {
  const Sample made = struct_sample();
  CHECK_THROWS_AS(import_type(nullptr), gs::ExchangeError);
  const Type type = import_type(&made.type->it);
  require_refusal("Arrow schema: was released already", [&] { import_type(&made.type->it); });
  made.rows->children[0]->it.release(&made.rows->children[0]->it);
  require_refusal("column 'number': was released already",
                  [&] { import_array(&made.rows->it, type, Check::structure); });
  CHECK(made.rows->settled());
  require_refusal("'record': was released already", [&] { import_array(&made.rows->it, type, Check::structure); });
  CHECK_THROWS_AS(import_array(nullptr, type, Check::structure), gs::ExchangeError);
  const auto parent = field("+l", "", list_of(field("i")));
  parent->children[0]->it.release(&parent->children[0]->it);
  require_refusal("child 0: was released already", [&] { import_type(&parent->it); });
  CHECK(parent->settled());
}
