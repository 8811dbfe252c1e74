// test_value_numbers.cpp: values are numbered by their bytes, compared with a map of the standard library.
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "catch.h"
#include "core/error.h"
#include "table/value_numbers.h"

using namespace gs;
using namespace gs::table;

namespace {

using Texts = std::vector<std::optional<std::string>>;

template <class T>
arrow::Buffer buffer_of(const std::vector<T>& values) {
  const auto owner = std::make_shared<std::vector<T>>(values);
  return {owner, reinterpret_cast<const std::byte*>(owner->data())};
}

arrow::Buffer validity_of(const Texts& texts, int64_t offset) {
  std::vector<uint8_t> bits((texts.size() + static_cast<std::size_t>(offset)) / 8 + 1);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t bit = i + static_cast<std::size_t>(offset);
    if (texts[i]) bits[bit / 8] = static_cast<uint8_t>(bits[bit / 8] | 1 << bit % 8);
  }
  return buffer_of(bits);
}

// An array of texts with 32-bit offsets behind `offset` other rows.
Array binary(const Texts& texts, int64_t offset) {
  std::string data;
  std::vector<int32_t> ends(static_cast<std::size_t>(offset) + 1, 0);
  for (const auto& text : texts) {
    data += text.value_or("of a null");
    ends.push_back(static_cast<int32_t>(data.size()));
  }
  Array array;
  array.length = static_cast<int64_t>(texts.size());
  array.offset = offset;
  array.reach = static_cast<int64_t>(data.size());
  array.validity = validity_of(texts, offset);
  array.first = buffer_of(ends);
  array.second = buffer_of(std::vector<char>(data.begin(), data.end()));
  return array;
}

// An array of 16-byte views, whose long texts lie in one data buffer.
Array views(const Texts& texts, int64_t offset) {
  std::vector<char> view(static_cast<std::size_t>(16 * offset));
  std::vector<char> data;
  for (const auto& one : texts) {
    const std::string text = one.value_or("of a null");
    char bytes[16] = {};
    const auto size = static_cast<int32_t>(text.size());
    std::memcpy(bytes, &size, 4);
    if (size <= 12) {
      std::memcpy(bytes + 4, text.data(), text.size());
    } else {
      const auto begin = static_cast<int32_t>(data.size());
      std::memcpy(bytes + 4, text.data(), 4);
      std::memcpy(bytes + 12, &begin, 4);
      data.insert(data.end(), text.begin(), text.end());
    }
    view.insert(view.end(), bytes, bytes + 16);
  }
  Array array;
  array.length = static_cast<int64_t>(texts.size());
  array.offset = offset;
  array.validity = validity_of(texts, offset);
  array.first = buffer_of(view);
  array.shared = {buffer_of(data)};
  array.shared_bytes = {static_cast<int64_t>(data.size())};
  return array;
}

Type type_of(arrow::Layout layout, int64_t width) {
  Type type;
  type.layout = layout;
  type.width = width;
  return type;
}

Texts random_texts(std::mt19937_64& random, int count, int most, int letters) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
  Texts texts;
  for (int i = 0; i < count; ++i) {
    if (below(20) == 0) {
      texts.emplace_back();
      continue;
    }
    std::string text(static_cast<std::size_t>(below(most + 1)), ' ');
    for (char& letter : text) letter = static_cast<char>('\0' + below(letters));
    texts.emplace_back(std::move(text));
  }
  return texts;
}

void check(const Type& type, const Array& array, const Texts& texts, int64_t expected) {
  ValueReader reader(type);
  ValueNumbers numbers(expected, reader.stable());
  std::map<std::optional<std::string>, int64_t> known;
  for (int64_t row = 0; row < array.length; ++row) {
    const std::optional<std::string>& text = texts[static_cast<std::size_t>(row)];
    const auto found = known.find(text);
    REQUIRE(numbers.find(reader.read(array, row)) == (found == known.end() ? -1 : found->second));
    REQUIRE(numbers.find_or_add(reader.read(array, row), 3 * row) == known.try_emplace(text, 3 * row).first->second);
  }
  for (int64_t row = 0; row < array.length; ++row) {
    REQUIRE(numbers.find(reader.read(array, row)) == known.at(texts[static_cast<std::size_t>(row)]));
  }
}

}  // namespace

TEST_CASE("values are numbered as by a map, whatever their lengths are and however often the table grows",
          "[value_numbers]") {
  std::mt19937_64 random(4);
  Type lists = type_of(arrow::Layout::list, 4);  // lists of bytes: put together, because children follow their rows
  lists.children.push_back(type_of(arrow::Layout::fixed, 1));
  for (const auto& [most, letters] : {std::pair{3, 2}, {7, 3}, {8, 2}, {16, 2}, {17, 3}, {40, 2}, {40, 200}}) {
    for (const int64_t offset : {0, 5}) {
      const Texts texts = random_texts(random, 4000, most, letters);
      for (const int64_t expected : {int64_t{0}, int64_t{4000}, int64_t{1} << 60}) {
        check(type_of(arrow::Layout::binary, 4), binary(texts, offset), texts, expected);
        check(type_of(arrow::Layout::view, 16), views(texts, offset), texts, expected);
      }
      Array list = binary(texts, offset);
      Array child;
      child.length = list.reach;
      child.first = list.second;
      list.children.push_back(std::move(child));
      check(lists, list, texts, 1);
    }
  }
}

TEST_CASE("an empty value, a null and no bytes at all differ", "[value_numbers]") {
  const Texts texts = {"", std::nullopt, std::string(1, '\0'), ""};
  Array empty = binary({"", ""}, 0);
  empty.second = {};
  check(type_of(arrow::Layout::binary, 4), binary(texts, 0), texts, 4);
  check(type_of(arrow::Layout::binary, 4), empty, {"", ""}, 4);
}

TEST_CASE("a value outside of its buffers is refused", "[value_numbers]") {
  Array texts = binary({"abc", "de"}, 0);
  texts.reach = 4;
  const Type type = type_of(arrow::Layout::binary, 4);
  ValueReader reader(type);
  REQUIRE(reader.read(texts, 0).view() == "abc");
  REQUIRE_THROWS_AS(reader.read(texts, 1), ExchangeError);
  Array view = views({"a text that is long"}, 0);
  view.shared_bytes[0] = 5;
  const Type views_type = type_of(arrow::Layout::view, 16);
  REQUIRE_THROWS_AS(ValueReader(views_type).read(view, 0), ExchangeError);
}
