// merged_dictionary.cpp: implements merged_dictionary.h.
#include "table/merged_dictionary.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "arrow/values.h"
#include "core/error.h"
#include "table/take.h"
#include "table/value_numbers.h"

namespace gs::table {
namespace {

// Identifies a dictionary by its memory, without a comparison of values: exporters usually pass the memory of one
// dictionary with every chunk. A dictionary of a nested type is identified by its Array object.
using Identity = std::array<const void*, 5>;
Identity identity_of(const Array& array) {
  const bool is_simple = array.children.empty() && array.dictionary == nullptr && array.shared.empty();
  if (!is_simple) return {&array};
  const auto number = [](int64_t value) { return reinterpret_cast<const void*>(value); };
  return {array.first.data, array.second.data, array.validity.data, number(array.offset), number(array.length)};
}

}  // namespace

bool same_dictionary(const Array& a, const Array& b) {
  return identity_of(a) == identity_of(b);
}

MergedDictionary::MergedDictionary(const Type& type, const Pieces& pieces, const Sharing& sharing) : type_(type) {
  std::map<Identity, int> index_of;
  for (const Piece& piece : pieces) {
    const Array& dictionary = *piece.array->dictionary;
    const auto [found, is_new] = index_of.try_emplace(identity_of(dictionary), static_cast<int>(distinct_.size()));
    which_.push_back(found->second);
    if (is_new) distinct_.push_back(piece.array->dictionary);
  }
  number_.resize(distinct_.size());
  if (distinct_.size() == 1) return;
  ValueReader reader(*type.dictionary);
  ValueNumbers values(distinct_[0]->length, reader.stable());
  add(0, reader, values, sharing);
  for (std::size_t d = 1; d < distinct_.size(); d += kDictionariesAtOnce) {
    const std::size_t end = std::min(d + kDictionariesAtOnce, distinct_.size());
    find(d, end, values, sharing);
    for (std::size_t next = d; next < end; ++next) add(next, reader, values, sharing);
  }
}

// Threads look up the values of the dictionaries [first, end), most of which the dictionaries before them contain.
void MergedDictionary::find(std::size_t first, std::size_t end, const ValueNumbers& values, const Sharing& sharing) {
  std::vector<int64_t> begin = {0};  // of each dictionary, among the values of all
  for (std::size_t d = first; d < end; ++d) {
    number_[d].resize(static_cast<std::size_t>(distinct_[d]->length), -1);
    begin.push_back(begin.back() + distinct_[d]->length);
  }
  parallel_for(sharing, begin.back(), 1, kLeastValues, [&](int64_t from, int64_t upto) {
    ValueReader reader(*type_.dictionary);
    auto d = static_cast<std::size_t>(std::upper_bound(begin.begin(), begin.end(), from) - begin.begin()) - 1;
    for (; d + 1 < begin.size() && begin[d] < upto; ++d) {
      const Array& dictionary = *distinct_[first + d];
      int64_t* const number = number_[first + d].data();
      const int64_t last = std::min(upto, begin[d + 1]) - begin[d];
      try {
        for (int64_t row = std::max<int64_t>(from - begin[d], 0); row < last; ++row) {
          number[row] = values.find(reader.read(dictionary, row));
        }
      } catch (const ExchangeError&) {
        // `add` reads the value again and throws this error on the calling thread.
      }
    }
  });
}

std::shared_ptr<const Array> MergedDictionary::dictionary(const RowTaker& taker) {
  if (!has_new_) return distinct_[0];
  Pieces pieces;
  for (const auto& dictionary : distinct_) pieces.push_back({dictionary.get(), dictionary->offset, dictionary->length});
  try {
    return std::make_shared<const Array>(taker.take(*type_.dictionary, pieces, rows_.picks()));
  } catch (const OffsetOverflow&) {
    throw KeyOverflow("its merged dictionary needs larger offsets than " + type_name(type_) +
                      " has: cast it to a dictionary of values with 64-bit offsets");
  }
}

void MergedDictionary::add(std::size_t d, ValueReader& reader, ValueNumbers& values, const Sharing& sharing) {
  const Array& dictionary = *distinct_[d];
  std::vector<int64_t>& number = number_[d];
  for (int64_t row = 0; row < dictionary.length; ++row) {
    if (row % kRowsPerPoll == 0) poll(sharing);
    if (d > 0 && number[static_cast<std::size_t>(row)] >= 0) continue;
    const int64_t next = rows_.count();
    const int64_t found = values.find_or_add(reader.read(dictionary, row), next);
    if (d > 0) number[static_cast<std::size_t>(row)] = found;
    if (found != next && d > 0) continue;
    rows_.add(static_cast<int32_t>(d), row, 1);
    has_new_ |= d > 0;
  }
  if (rows_.count() - 1 > most_integer(type_)) {
    throw KeyOverflow("the dictionaries of its chunks have " + std::to_string(rows_.count()) +
                      " values together, more than the keys of " + type_name(type_) +
                      " can number: cast it to a dictionary of wider keys, such as int32");
  }
}

}  // namespace gs::table
