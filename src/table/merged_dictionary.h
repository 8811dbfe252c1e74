// merged_dictionary.h: merges the dictionaries of the pieces of a column into one, and numbers its values.
#pragma once

#include <memory>
#include <vector>

#include "table/picks.h"
#include "table/sharing.h"

namespace gs::table {

class RowTaker;
class ValueNumbers;
class ValueReader;

// Whether two dictionaries are identical by their buffers, offset and length; their values are not compared.
bool same_dictionary(const Array& a, const Array& b);

// The merged dictionary begins with that of the first piece, unchanged; the values that it lacks follow in the order of
// their first occurrence in the other dictionaries. There is at least one piece.
class MergedDictionary {
 public:
  MergedDictionary(const Type& type, const Pieces& pieces, const Sharing& sharing);

  // Whether all pieces have one dictionary, so that the keys do not change.
  bool is_trivial() const { return distinct_.size() == 1; }

  std::shared_ptr<const Array> dictionary(const RowTaker& taker);

  // The keys in the merged dictionary of the keys of a piece; null: the keys do not change.
  const int64_t* numbers(int32_t piece) const { return number_[dictionary_of(piece)].data(); }
  // The number of values in the dictionary of a piece.
  int64_t size(int32_t piece) const { return distinct_[dictionary_of(piece)]->length; }

 private:
  std::size_t dictionary_of(int32_t piece) const {
    return static_cast<std::size_t>(which_[static_cast<std::size_t>(piece)]);
  }
  void find(std::size_t first, std::size_t end, const ValueNumbers& values, const Sharing& sharing);
  void add(std::size_t d, ValueReader& reader, ValueNumbers& values, const Sharing& sharing);

  const Type& type_;
  std::vector<std::shared_ptr<const Array>> distinct_;
  std::vector<int> which_;                    // index in distinct_ of the dictionary of each piece
  std::vector<std::vector<int64_t>> number_;  // new key of each key of each dictionary except the first
  RangeList rows_;
  bool has_new_ = false;
};

}  // namespace gs::table
