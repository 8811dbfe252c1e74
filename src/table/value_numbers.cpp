// value_numbers.cpp: implements value_numbers.h.
#include "table/value_numbers.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "arrow/bits.h"
#include "arrow/hash.h"
#include "arrow/values.h"

namespace gs::table {
namespace {

constexpr int64_t kLeastExpected = 32;
constexpr int64_t kMostExpected = 1 << 16;  // a dictionary without bytes may have more values than there is memory

// Equal without a call for up to 16 bytes.
bool same_bytes(std::string_view a, std::string_view b) {
  const std::size_t size = a.size();
  if (size != b.size()) return false;
  if (size < 8 || size > 16) return std::memcmp(a.data(), b.data(), size) == 0;
  const auto differ = [&](std::size_t at) {
    uint64_t x;
    uint64_t y;
    std::memcpy(&x, a.data() + at, 8);
    std::memcpy(&y, b.data() + at, 8);
    return x ^ y;
  };
  return (differ(0) | differ(size - 8)) == 0;
}

// Not known before a process runs: a time in nanoseconds and an address.
uint64_t random_seed(const void* address) {
  const auto time = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return arrow::fold_product(time, reinterpret_cast<uintptr_t>(address) | 1);
}

}  // namespace

ValueReader::ValueReader(const Type& type) : type_(type), stable_(arrow::has_plain_bytes(type)) {}

ValueReader::ValueBytes ValueReader::read(const Array& array, int64_t row) {
  if (stable_) {
    const bool is_null = array.validity.data != nullptr && !arrow::bit_at(array.validity.data, array.offset + row);
    if (is_null) return {nullptr, 0};
    const std::string_view bytes = arrow::plain_bytes(type_, array, row);
    return {bytes.data(), bytes.size()};
  }
  text_.clear();
  arrow::append_value(type_, array, row, text_);
  return {text_.data(), text_.size()};
}

ValueNumbers::ValueNumbers(int64_t expected, bool stable)
    : slots_(2 * std::bit_ceil(static_cast<std::size_t>(std::clamp(expected, kLeastExpected, kMostExpected)))),
      stable_(stable),
      seed_(random_seed(this)) {}

int64_t ValueNumbers::find(ValueReader::ValueBytes value) const {
  if (value.is_null()) return null_;
  const std::string_view bytes = value.view();
  const int64_t at = slots_[place_of(arrow::hash_bytes(bytes, seed_), bytes)].at;
  return at < 0 ? -1 : values_[static_cast<std::size_t>(at)].number;
}

int64_t ValueNumbers::find_or_add(ValueReader::ValueBytes value, int64_t next) {
  if (value.is_null()) {
    if (null_ < 0) null_ = next;
    return null_;
  }
  const std::string_view bytes = value.view();
  const uint64_t hash = arrow::hash_bytes(bytes, seed_);
  if (2 * (values_.size() + 1) > slots_.size()) grow();
  Slot& slot = slots_[place_of(hash, bytes)];
  if (slot.at < 0) {
    slot = {hash, static_cast<int64_t>(values_.size())};
    values_.push_back({stable_ ? bytes : std::string_view(copies_.emplace_back(bytes)), next});
  }
  return values_[static_cast<std::size_t>(slot.at)].number;
}

std::size_t ValueNumbers::place_of(uint64_t hash, std::string_view bytes) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t place = hash & mask;
  while (slots_[place].at >= 0 && (slots_[place].hash != hash ||
                                   !same_bytes(values_[static_cast<std::size_t>(slots_[place].at)].bytes, bytes))) {
    place = (place + 1) & mask;
  }
  return place;
}

// The values differ, so that each goes to the first empty slot.
void ValueNumbers::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.at < 0) continue;
    std::size_t place = slot.hash & (slots_.size() - 1);
    while (slots_[place].at >= 0) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = slot;
  }
}

}  // namespace gs::table
