// test_arrow.cpp: import and export through Arrow's C interfaces keep every layout unchanged and copy no buffer.

#include "arrow_fixture.h"
#include "catch.h"
#include "core/error.h"

using namespace gs::arrow;
using fixture::field;
using fixture::list_of;
using fixture::Sample;

namespace {

void require_equal(const Buffer& a, const Buffer& b) {
  if (a.data != nullptr) REQUIRE(a.data == b.data);  // a missing buffer may be exported as one without rows
}

void require_equal(const Array& a, const Array& b) {
  REQUIRE(a.length == b.length);
  REQUIRE(a.offset == b.offset);
  REQUIRE(a.nulls == b.nulls);
  REQUIRE(a.validity.data == b.validity.data);
  require_equal(a.first, b.first);
  require_equal(a.second, b.second);
  REQUIRE(a.shared_bytes == b.shared_bytes);
  REQUIRE(a.shared.size() == b.shared.size());
  for (std::size_t i = 0; i < a.shared.size(); ++i) require_equal(a.shared[i], b.shared[i]);
  REQUIRE(a.children.size() == b.children.size());
  for (std::size_t i = 0; i < a.children.size(); ++i) require_equal(a.children[i], b.children[i]);
  REQUIRE((a.dictionary == nullptr) == (b.dictionary == nullptr));
  if (a.dictionary != nullptr) require_equal(*a.dictionary, *b.dictionary);
}

void require_equal(const Type& a, const Type& b) {
  REQUIRE(a.format == b.format);
  REQUIRE(a.name == b.name);
  REQUIRE(a.metadata == b.metadata);
  REQUIRE(a.flags == b.flags);
  REQUIRE(same_type(a, b));
  for (std::size_t i = 0; i < a.children.size(); ++i) require_equal(a.children[i], b.children[i]);
  if (a.dictionary != nullptr) require_equal(*a.dictionary, *b.dictionary);
}

// Checks that every buffer is that of the hand-made column.
void require_shared(const Array& array, const fixture::Column& column, const Type& type) {
  std::vector<const void*> expected = column.buffer_pointers;
  std::vector<const void*> got;
  if (type.has_validity()) got.push_back(array.nulls == 0 ? expected[0] : array.validity.data);
  if (array.first.data != nullptr) got.push_back(array.first.data);
  if (array.second.data != nullptr) got.push_back(array.second.data);
  for (const Buffer& buffer : array.shared) got.push_back(buffer.data);
  if (type.layout == Layout::view) expected.pop_back();
  REQUIRE(got == expected);
  for (std::size_t i = 0; i < array.children.size(); ++i) {
    require_shared(array.children[i], *column.children[i], type.children[i]);
  }
  if (array.dictionary != nullptr) require_shared(*array.dictionary, *column.dictionary, *type.dictionary);
}

Type read(const std::string& format, std::vector<fixture::FieldPtr> children = {}) {
  const auto made = field(format, "", std::move(children));
  Type type = import_type(&made->it);
  REQUIRE(made->settled());
  return type;
}

std::vector<fixture::FieldPtr> one_int() {
  return list_of(field("i"));
}
std::vector<fixture::FieldPtr> two_ints() {
  return list_of(field("i"), field("i"));
}

// Keys and values of metadata, with their lengths.
std::string metadata(const std::vector<std::string>& texts) {
  const auto number = [](std::size_t n) {
    const auto value = static_cast<int32_t>(n);
    return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  std::string all = number(texts.size() / 2);
  for (const std::string& each : texts) all += number(each.size()) + each;
  return all;
}

}  // namespace

TEST_CASE("formats without children", "[arrow]") {
  struct Row {
    const char* format;
    Layout layout;
    int64_t width;
    const char* name;
  };
  const Row rows[] = {
      {"n", Layout::null, 0, "null"},
      {"b", Layout::bits, 0, "bool"},
      {"c", Layout::fixed, 1, "int8"},
      {"C", Layout::fixed, 1, "uint8"},
      {"s", Layout::fixed, 2, "int16"},
      {"S", Layout::fixed, 2, "uint16"},
      {"i", Layout::fixed, 4, "int32"},
      {"I", Layout::fixed, 4, "uint32"},
      {"l", Layout::fixed, 8, "int64"},
      {"L", Layout::fixed, 8, "uint64"},
      {"e", Layout::fixed, 2, "float16"},
      {"f", Layout::fixed, 4, "float32"},
      {"g", Layout::fixed, 8, "float64"},
      {"z", Layout::binary, 4, "binary"},
      {"Z", Layout::binary, 8, "large_binary"},
      {"u", Layout::binary, 4, "string"},
      {"U", Layout::binary, 8, "large_string"},
      {"vz", Layout::view, 16, "binary_view"},
      {"vu", Layout::view, 16, "string_view"},
      {"d:19,-10", Layout::fixed, 16, "decimal128(19, -10)"},
      {"d:9,0,32", Layout::fixed, 4, "decimal32(9, 0)"},
      {"d:18,3,64", Layout::fixed, 8, "decimal64(18, 3)"},
      {"d:19,10,128", Layout::fixed, 16, "decimal128(19, 10)"},
      {"d:70,10,256", Layout::fixed, 32, "decimal256(70, 10)"},
      {"w:0", Layout::fixed, 0, "fixed_size_binary[0]"},
      {"w:42", Layout::fixed, 42, "fixed_size_binary[42]"},
      {"tdD", Layout::fixed, 4, "date32"},
      {"tdm", Layout::fixed, 8, "date64"},
      {"tts", Layout::fixed, 4, "time32[s]"},
      {"ttm", Layout::fixed, 4, "time32[ms]"},
      {"ttu", Layout::fixed, 8, "time64[us]"},
      {"ttn", Layout::fixed, 8, "time64[ns]"},
      {"tss:", Layout::fixed, 8, "timestamp[s]"},
      {"tsm:UTC", Layout::fixed, 8, "timestamp[ms, UTC]"},
      {"tsu:Europe/Berlin", Layout::fixed, 8, "timestamp[us, Europe/Berlin]"},
      {"tsn:+02:00", Layout::fixed, 8, "timestamp[ns, +02:00]"},
      {"tDs", Layout::fixed, 8, "duration[s]"},
      {"tDm", Layout::fixed, 8, "duration[ms]"},
      {"tDu", Layout::fixed, 8, "duration[us]"},
      {"tDn", Layout::fixed, 8, "duration[ns]"},
      {"tiM", Layout::fixed, 4, "month_interval"},
      {"tiD", Layout::fixed, 8, "day_time_interval"},
      {"tin", Layout::fixed, 16, "month_day_nano_interval"},
  };
  for (const Row& row : rows) {
    INFO(row.format);
    const Type type = read(row.format);
    CHECK(type.format == row.format);
    CHECK(type.layout == row.layout);
    CHECK(type.width == row.width);
    CHECK(type_name(type) == row.name);
    CHECK(type.is_integer == (std::string("cCsSiIlL").find(row.format) != std::string::npos));
    if (type.is_integer) CHECK(type_name(type) == gs::index_name(type.integer));
  }
}

TEST_CASE("formats with children", "[arrow]") {
  CHECK(type_name(read("+l", one_int())) == "list<int32>");
  CHECK(type_name(read("+L", one_int())) == "large_list<int32>");
  CHECK(type_name(read("+vl", one_int())) == "list_view<int32>");
  CHECK(type_name(read("+vL", one_int())) == "large_list_view<int32>");
  CHECK(type_name(read("+w:0", one_int())) == "fixed_size_list<int32, 0>");
  CHECK(read("+w:12", one_int()).list_size == 12);
  CHECK(type_name(read("+s", list_of(field("i", "a"), field("u", "b")))) == "struct<a: int32, b: string>");
  CHECK(type_name(read("+s")) == "struct<>");
  CHECK(type_name(read("+m", list_of(field("+s", "", two_ints())))) == "map<int32, int32>");
  CHECK(type_name(read("+us:")) == "sparse_union<>");
  CHECK(type_name(read("+r", two_ints())) == "run_end_encoded<int32, int32>");
  const Type sum = read("+ud:7,0", list_of(field("i", "a"), field("u", "b")));
  CHECK(type_name(sum) == "dense_union<a: int32=7, b: string=0>");
  CHECK(sum.child_of_id[7] == 0);
  CHECK(sum.child_of_id[0] == 1);
  CHECK(sum.child_of_id[1] == -1);
  std::string ids = "+us:0";
  std::vector<fixture::FieldPtr> children = list_of(field("i"));
  for (int id = 1; id < 128; ++id) {
    ids += "," + std::to_string(id);
    children.push_back(field("i"));
  }
  CHECK(read(ids, std::move(children)).child_of_id[127] == 127);
  const Type coded = import_type(&fixture::nested_dictionary_sample().type->it);
  CHECK(type_name(coded) == "dictionary<uint32, dictionary<int8, string>>");
}

TEST_CASE("each layout goes in and out unchanged", "[arrow]") {
  const Check check = GENERATE(Check::structure, Check::full);
  for (const auto& [name, make] : fixture::samples()) {
    INFO(name);
    const Sample made = make();
    {
      const Type type = import_type(&made.type->it);
      REQUIRE(made.type->settled());
      const Array array = import_array(&made.rows->it, type, check);
      REQUIRE(made.rows->it.release == nullptr);
      require_shared(array, *made.rows, type);
      ArrowSchema schema{};
      ArrowArray exported{};
      export_type(type, &schema);
      export_array(array, type, &exported);
      const Type type_again = import_type(&schema);
      const Array again = import_array(&exported, type_again, Check::full);
      require_equal(type, type_again);
      if (check == Check::full) require_equal(array, again);  // without full validation the nulls may not be counted
      REQUIRE(schema.release == nullptr);
      REQUIRE(made.rows->releases == (name == "null" ? 1 : 0));  // a null array has no buffers that are kept
    }
    REQUIRE(made.rows->settled());
  }
}

TEST_CASE("a null count of zero does without the bitmap, an unknown one without a bitmap is zero", "[arrow]") {
  const auto none_null = fixture::column(2, {fixture::bits(0), fixture::i32({1, 2})}, {}, 0, 0);
  const auto not_counted = fixture::column(2, {fixture::none, fixture::i32({1, 2})}, {}, 0, -1);
  for (const auto* made : {&none_null, &not_counted}) {
    const Array array = import_array(&(*made)->it, read("i"), Check::structure);
    CHECK(array.nulls == 0);
    CHECK(array.validity.data == nullptr);
  }
}

TEST_CASE("arrays without rows may lack their buffers", "[arrow]") {
  const std::string formats[] = {"b", "i", "u", "U", "vu", "+l", "+vL", "+w:3", "+ud:0", "+us:0", "+s", "w:0"};
  for (const std::string& format : formats) {
    INFO(format);
    const bool nested = format[0] == '+';
    const Type type = read(format, nested ? one_int() : std::vector<fixture::FieldPtr>{});
    auto child = fixture::column(0, {fixture::none, fixture::none});
    std::size_t buffers = type.layout == Layout::binary || type.layout == Layout::view ? 3 : 2;
    if (type.layout == Layout::list_view) buffers = 3;
    if (format == "+w:3" || format == "+us:0" || format == "+s") buffers = 1;
    const auto made = fixture::column(0, std::vector<fixture::Bytes>(buffers),
                                      nested ? list_of(std::move(child)) : std::vector<fixture::ColumnPtr>{});
    const Array array = import_array(&made->it, type, Check::full);
    ArrowArray exported{};
    export_array(array, type, &exported);
    for (int64_t i = type.has_validity() ? 1 : 0; i < exported.n_buffers; ++i) CHECK(exported.buffers[i] != nullptr);
    exported.release(&exported);
  }
}

TEST_CASE("a null array may come with an empty validity buffer and goes without", "[arrow]") {
  const auto made = fixture::column(3, {fixture::none}, {}, 0, 3);
  const Array array = import_array(&made->it, read("n"), Check::full);
  ArrowArray exported{};
  export_array(array, read("n"), &exported);
  CHECK(exported.n_buffers == 0);
  CHECK(exported.null_count == 3);
  exported.release(&exported);
}

TEST_CASE("names, flags and metadata are kept", "[arrow]") {
  const std::string extension = metadata({"ARROW:extension:name", "our.uuid", std::string("with\0zero", 9), ""});
  const int64_t flags = kNullable | kDictionaryOrdered;
  const auto made = field("+s", "", list_of(field("w:16", "größe", {}, flags, extension), field("i", "", {}, 0)));
  const Type type = import_type(&made->it);
  ArrowSchema schema{};
  export_type(type, &schema);
  const ArrowSchema& first = *schema.children[0];
  CHECK(std::string(first.name) == "größe");
  CHECK(first.flags == flags);
  CHECK(std::string(first.metadata, extension.size()) == extension);
  CHECK(reinterpret_cast<uintptr_t>(first.metadata) % alignof(int32_t) == 0);
  CHECK(schema.metadata == nullptr);
  CHECK(std::string(schema.children[1]->name).empty());
  CHECK(schema.children[1]->flags == 0);
  schema.release(&schema);
  CHECK(schema.release == nullptr);

  const auto nameless = field("i");
  nameless->it.name = nullptr;
  CHECK(import_type(&nameless->it).name.empty());
}

TEST_CASE("types are compared without names, flags and metadata", "[arrow]") {
  const auto record = [](const char* format, const char* name) {
    return read("+s", list_of(field("u", name), field("+l", "list", list_of(field(format, "item")))));
  };
  std::string where;
  CHECK(same_type(record("i", "a"), record("i", "b"), &where));
  CHECK(where.empty());
  CHECK_FALSE(same_type(record("i", "a"), record("l", "a"), &where));
  CHECK(where == "list.item: int32 and int64");
  CHECK_FALSE(same_type(read("tsu:"), read("tsu:UTC"), &where));
  CHECK(where == "timestamp[us] and timestamp[us, UTC]");
  CHECK(same_type(read("d:5,2"), read("d:5,2,128")));
  CHECK_FALSE(same_type(read("d:5,2"), read("d:5,2,256")));
  CHECK_FALSE(same_type(read("+us:0,1", two_ints()), read("+us:1,0", two_ints())));
  CHECK_FALSE(same_type(read("+w:2", one_int()), read("+w:3", one_int())));
  CHECK_FALSE(same_type(read("+s", one_int()), read("+s", two_ints()), &where));
  CHECK(where == "struct<0: int32> and struct<0: int32, 1: int32>");
  const Type coded = import_type(&fixture::dictionary_sample().type->it);
  CHECK_FALSE(same_type(coded, read("c"), &where));
  CHECK(where == "dictionary<int8, string> and int8");
  const auto other = field("c");
  other->adopt_dictionary(field("U"));
  CHECK_FALSE(same_type(coded, import_type(&other->it), &where));
  CHECK(where == "dictionary: string and large_string");
}
