// take_shared.cpp: takes views and dictionary keys, which refer to shared data buffers and dictionaries.
#include <array>
#include <atomic>
#include <map>
#include <unordered_map>

#include "arrow/bits.h"
#include "arrow/values.h"
#include "core/error.h"
#include "core/rule.h"
#include "table/take.h"

namespace gs::table {
namespace {

bool same_buffers(const Array& a, const Array& b) {
  const auto same = [](const Buffer& x, const Buffer& y) { return x.data == y.data; };
  return std::equal(a.shared.begin(), a.shared.end(), b.shared.begin(), b.shared.end(), same) &&
         a.shared_bytes == b.shared_bytes;
}

bool lies_inside(const Array& array, int64_t size, int64_t buffer, int64_t offset) {
  if (size < 0 || !is_inside(buffer, static_cast<int64_t>(array.shared.size()))) return false;
  return offset >= 0 && offset <= array.shared_bytes[static_cast<std::size_t>(buffer)] - size;
}

// Identifies a dictionary by its memory, without a comparison of values: exporters usually pass the memory of one
// dictionary with every chunk. A dictionary of a nested type is identified by its Array object.
using Identity = std::array<const void*, 5>;
Identity identity_of(const Array& array) {
  const bool is_simple = array.children.empty() && array.dictionary == nullptr && array.shared.empty();
  if (!is_simple) return {&array};
  const auto number = [](int64_t value) { return reinterpret_cast<const void*>(value); };
  return {array.first.data, array.second.data, array.validity.data, number(array.offset), number(array.length)};
}

// Merges the dictionaries of all pieces. The merged dictionary begins with the first one, unchanged; the values that it
// lacks follow in the order of their first occurrence in the other dictionaries.
class Merged {
 public:
  template <class Poll>
  Merged(const Type& type, const Pieces& pieces, const Poll& poll) : type_(type) {
    std::map<Identity, int> index_of;
    for (const Piece& piece : pieces) {
      const Array& dictionary = *piece.array->dictionary;
      const auto [found, is_new] = index_of.try_emplace(identity_of(dictionary), static_cast<int>(distinct_.size()));
      which_.push_back(found->second);
      if (is_new) distinct_.push_back(piece.array->dictionary);
    }
    number_.resize(distinct_.size());
    for (std::size_t d = 0; distinct_.size() > 1 && d < distinct_.size(); ++d) add(d, poll);
  }

  // Whether all pieces have one dictionary, so that the keys do not change.
  bool is_trivial() const { return distinct_.size() == 1; }

  std::shared_ptr<const Array> dictionary(const RowTaker& taker) {
    if (!has_new_) return distinct_[0];
    Pieces pieces;
    for (const auto& dictionary : distinct_)
      pieces.push_back({dictionary.get(), dictionary->offset, dictionary->length});
    try {
      return std::make_shared<const Array>(taker.take(*type_.dictionary, pieces, rows_.picks()));
    } catch (const OffsetOverflow&) {
      throw ShapeError("the merged dictionary of '" + type_.name + "' needs larger offsets than its type has");
    }
  }

  // The key in the merged dictionary for a key of a piece.
  int64_t number(int32_t piece, int64_t key) const {
    const auto d = static_cast<std::size_t>(which_[static_cast<std::size_t>(piece)]);
    if (!is_inside(key, distinct_[d]->length)) {
      throw ExchangeError("'" + type_.name + "' (" + type_name(type_) + "): key " + std::to_string(key) +
                          " lies outside of its dictionary of " + std::to_string(distinct_[d]->length) + " values");
    }
    return d == 0 ? key : number_[d][static_cast<std::size_t>(key)];
  }

 private:
  template <class Poll>
  void add(std::size_t d, const Poll& poll) {
    const Array& dictionary = *distinct_[d];
    std::vector<int64_t>& number = number_[d];
    if (d > 0) number.reserve(static_cast<std::size_t>(dictionary.length));
    for (int64_t row = 0; row < dictionary.length; ++row) {
      if (row % kRowsPerPoll == 0) poll();
      std::string value;
      append_value(*type_.dictionary, dictionary, row, value);
      const auto [found, is_new] = key_of_.try_emplace(std::move(value), rows_.count());
      if (d > 0) number.push_back(found->second);
      if (!is_new && d > 0) continue;
      rows_.add(static_cast<int32_t>(d), row, 1);
      has_new_ |= d > 0;
    }
    if (rows_.count() - 1 > most_integer(type_)) {
      throw ShapeError("the merged dictionary of '" + type_.name + "' has " + std::to_string(rows_.count()) +
                       " values, more than the keys of " + type_name(type_) + " can number");
    }
  }

  const Type& type_;
  std::vector<std::shared_ptr<const Array>> distinct_;
  std::vector<int> which_;                    // index in distinct_ of the dictionary of each piece
  std::vector<std::vector<int64_t>> number_;  // new key of each key of each dictionary except the first
  std::unordered_map<std::string, int64_t> key_of_;
  RangeList rows_;
  bool has_new_ = false;
};

}  // namespace

bool same_dictionary(const Array& a, const Array& b) {
  return identity_of(a) == identity_of(b);
}

void RowTaker::views(const Pieces& pieces, const Picks& picks, Array& out) const {
  constexpr int64_t kInline = 12;
  SmallVector<int32_t, 2> base;
  const Array* last = nullptr;
  bool moves = false;
  for (const Piece& piece : pieces) {
    const Array& array = *piece.array;
    if (last != nullptr && same_buffers(*last, array)) {
      base.push_back(base[base.size() - 1]);
      continue;
    }
    if (out.shared.size() + array.shared.size() > INT32_MAX) {
      throw ShapeError("the result would be a column of views with more than 2**31 data buffers");
    }
    base.push_back(static_cast<int32_t>(out.shared.size()));
    moves = moves || last != nullptr;
    out.shared.insert(out.shared.end(), array.shared.begin(), array.shared.end());
    out.shared_bytes.insert(out.shared_bytes.end(), array.shared_bytes.begin(), array.shared_bytes.end());
    last = &array;
  }
  out.first = fixed(pieces, 16, picks);
  if (!moves) return;
  // An invalid buffer number must not become a valid one of another piece, so every long view is checked.
  auto* const data = const_cast<std::byte*>(out.first.data);  // allocated above and not shared yet
  const auto* const valid = reinterpret_cast<const uint64_t*>(out.validity.data);
  std::atomic<bool> good = true;
  parallel_for(sharing_, picks.count, 64, kLeastViews, [&](int64_t begin, int64_t end) {
    for_each_run(picks, begin, end, [&](int32_t piece, int64_t, int64_t at, int64_t length) {
      for (int64_t i = at; i < at + length; ++i) {
        std::byte* const view = data + i * 16;
        const int64_t size = load<int32_t>(view, 0);
        if (size >= 0 && size <= kInline) continue;
        if (piece == kMissing || (valid != nullptr && !bit_at(valid, i))) {
          std::memset(view, 0, 16);
        } else if (lies_inside(*pieces[piece].array, size, load<int32_t>(view, 2), load<int32_t>(view, 3))) {
          store(view, 2, load<int32_t>(view, 2) + base[piece]);
        } else {
          good = false;
        }
      }
    });
  });
  if (!good) throw ExchangeError("a view lies outside of its data buffers");
}

void RowTaker::keys(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const {
  out.first = fixed(pieces, type.width, picks);
  if (pieces.size() == 0) {
    out.dictionary = std::make_shared<const Array>(take(*type.dictionary, {}, {}));
    return;
  }
  Merged merged(type, pieces, [this] { poll(sharing_); });
  out.dictionary = merged.dictionary(*this);
  if (merged.is_trivial()) return;
  // An invalid key must not become a valid key of the merged dictionary, so every key is checked.
  const auto* const valid = reinterpret_cast<const uint64_t*>(out.validity.data);
  auto* const data = const_cast<std::byte*>(out.first.data);
  walk(picks, [&](int32_t piece, int64_t, int64_t at, int64_t length) {
    if (piece == kMissing) return;
    for (int64_t i = at; i < at + length; ++i) {
      const bool is_null = valid != nullptr && !bit_at(valid, i);
      set_integer(type, data, i, is_null ? 0 : merged.number(piece, integer_at(type, data, i)));
    }
  });
}

}  // namespace gs::table
