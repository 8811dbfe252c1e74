// mask.h: reads a boolean mask once into words of bits; a null counts as false.
#pragma once

#include "table/bits.h"
#include "table/map_reader.h"

namespace gs::table {

class MaskWords {
 public:
  // Throws InvalidArgument unless the mask has `rows` rows; the message names `side` as the table with `rows` rows.
  MaskWords(const std::vector<MaskPart>& mask, int64_t rows, const char* side) : words_(words_for(rows)), rows_(rows) {
    int64_t count = 0;
    for (const MaskPart& part : mask) count = checked_add(count, part.count);
    if (count != rows) {
      throw InvalidArgument("the mask has length " + std::to_string(count) + ", " + side + " has length " +
                            std::to_string(rows));
    }
    std::memset(words_.get(), 0, static_cast<std::size_t>(words_for(rows)) * 8);
    int64_t before = 0;
    for (const MaskPart& part : mask) {
      for_each_word(before, part.count, [&](int64_t at, int64_t n) {
        const uint64_t word = values(part, at - before, n) & part.nulls.present(at - before, n);
        words_[at / 64] |= word << (at & 63);
        ones_ += std::popcount(word);
      });
      before += part.count;
    }
  }

  const uint64_t* words() const { return words_.get(); }
  Scratch<uint64_t> take() { return std::move(words_); }
  int64_t ones() const { return ones_; }
  // The number of runs of consecutive true rows.
  int64_t runs() const {
    int64_t runs = 0;
    uint64_t carry = 0;
    for (int64_t w = 0; w < words_for(rows_); ++w) {
      runs += std::popcount(words_[w] & ~(words_[w] << 1 | carry));
      carry = words_[w] >> 63;
    }
    return runs;
  }

 private:
  static uint64_t values(const MaskPart& part, int64_t first, int64_t n) {
    if (part.is_bits) return read_bits(part.data, part.offset + first, n);
    return bits_of_bytes(part.data + first * part.stride, part.stride, n);
  }
  Scratch<uint64_t> words_;
  int64_t rows_;
  int64_t ones_ = 0;
};

}  // namespace gs::table
