// join.cpp: implements join.h.
#include "table/join.h"

#include <atomic>
#include <vector>

#include "core/rule.h"
#include "table/bit_source.h"
#include "table/merged_dictionary.h"
#include "table/take.h"

namespace gs::table {
namespace {

// Divides the rows of all pieces among threads.
class JoinedRows {
 public:
  JoinedRows(const Sharing& sharing, const Pieces& pieces) : sharing_(sharing) {
    for (const Piece& piece : pieces) begin_.push_back(begin_.back() + piece.length);
  }

  int64_t count() const { return begin_.back(); }

  // Calls copy(piece, start, at, length): the rows from `start` on of a piece are the rows from `at` on of the result.
  // All words of a bitmap are written by one thread each.
  template <class Begin, class Copy>
  void for_each_part(const Begin& begin_part, const Copy& copy) const {
    parallel_for(sharing_, count(), 64, kLeastJoinedRows, [&](int64_t begin, int64_t end) {
      begin_part(begin, end);
      std::size_t p =
          static_cast<std::size_t>(std::upper_bound(begin_.begin(), begin_.end(), begin) - begin_.begin()) - 1;
      for (int64_t at = begin; at < end; ++p) {
        const int64_t length = std::min(begin_[p + 1], end) - at;
        copy(static_cast<int>(p), at - begin_[p], at, length);
        at += length;
      }
    });
  }

 private:
  const Sharing& sharing_;
  std::vector<int64_t> begin_ = {0};
};

Buffer join_items(const JoinedRows& rows, const Pieces& pieces, int64_t width) {
  const NewBuffer fresh = allocate(bytes_of_values(rows.count(), width));
  rows.for_each_part([](int64_t, int64_t) {},
                     [&](int p, int64_t start, int64_t at, int64_t length) {
                       if (length * width == 0) return;  // a piece without bytes may have no memory
                       const std::byte* const source = pieces[p].array->first.data + (pieces[p].offset + start) * width;
                       std::memcpy(fresh.data + at * width, source, static_cast<std::size_t>(length * width));
                     });
  return fresh.buffer;
}

Buffer join_bits(const JoinedRows& rows, const Pieces& pieces, Buffer Array::* bits) {
  SmallVector<BitSource, 2> sources;
  for (const Piece& piece : pieces) sources.push_back(bit_source(piece.array->*bits, piece));
  const NewBuffer fresh = allocate(words_for(rows.count()) * 8);
  auto* const words = reinterpret_cast<uint64_t*>(fresh.data);
  rows.for_each_part(
      [&](int64_t begin, int64_t end) {
        std::memset(words + begin / 64, 0, static_cast<std::size_t>(words_for(end - begin)) * 8);
      },
      [&](int p, int64_t start, int64_t at, int64_t length) {
        for_each_word(at, length, [&](int64_t bit, int64_t n) {
          words[bit / 64] |= source_bits(sources[p], start + (bit - at), n) << (bit & 63);
        });
      });
  return fresh.buffer;
}

// The keys of all pieces in the merged dictionary. Sets `good` to false if a key lies outside of its dictionary.
Buffer join_keys(const JoinedRows& rows, const Pieces& pieces, const Type& type, const MergedDictionary& merged,
                 const Buffer& validity, bool& good) {
  const NewBuffer fresh = allocate(bytes_of_values(rows.count(), type.width));
  const auto* const valid = reinterpret_cast<const uint64_t*>(validity.data);
  std::atomic<bool> wrong = false;
  visit_index(type.integer, [&]<class Key>() {
    rows.for_each_part(
        [](int64_t, int64_t) {},
        [&](int p, int64_t start, int64_t at, int64_t length) {
          const std::byte* const source = pieces[p].array->first.data;
          const int64_t first = pieces[p].offset + start;
          const int64_t* const numbers = merged.numbers(p);
          const int64_t size = merged.size(p);
          bool outside = false;
          for (int64_t k = 0; k < length; ++k) {
            const bool is_null = valid != nullptr && !bit_at(valid, at + k);
            const int64_t key = is_null ? 0 : widen(load<Key>(source, first + k));
            const bool is_good = is_inside(key, size);
            outside |= !is_good && !is_null;
            store(fresh.data, at + k,
                  numbers != nullptr && is_good && !is_null ? static_cast<Key>(numbers[key]) : static_cast<Key>(key));
          }
          if (outside) wrong = true;
        });
  });
  good = !wrong;
  return fresh.buffer;
}

}  // namespace

std::optional<Array> join(const Sharing& sharing, const RowTaker& taker, const Type& type, const Pieces& pieces) {
  const bool has_keys = type.dictionary != nullptr;
  if (!has_keys && type.layout != Layout::fixed && type.layout != Layout::bits) return {};
  const JoinedRows rows(sharing, pieces);
  const auto has_nulls = [](const Piece& piece) { return piece.array->validity.data != nullptr; };
  Array out;
  out.length = rows.count();
  if (std::any_of(pieces.begin(), pieces.end(), has_nulls)) {
    out.validity = join_bits(rows, pieces, &Array::validity);
    out.nulls = -1;
  }
  const bool are_bits = type.layout == Layout::bits && !has_keys;
  if (!has_keys) {
    out.first = are_bits ? join_bits(rows, pieces, &Array::first) : join_items(rows, pieces, type.width);
    return out;
  }
  MergedDictionary merged(type, pieces, sharing);
  bool good = true;
  out.first = merged.is_trivial() ? join_items(rows, pieces, type.width)
                                  : join_keys(rows, pieces, type, merged, out.validity, good);
  if (!good) return {};
  out.dictionary = merged.dictionary(taker);
  return out;
}

}  // namespace gs::table
