// map_reader.h: reads the values of maps and masks on the host, each once and with its check, into private memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <vector>

#include "arrow/bits.h"
#include "arrow/load.h"
#include "core/rule.h"
#include "table/memory.h"
#include "table/row_errors.h"
#include "table/row_map.h"
#include "table/sharing.h"

namespace gs::table {

// The number of rows, and what a negative index means.
struct Extent {
  int64_t size;
  Negative negative;
};

// The positions of up to 64 map values. An index without a position, or a null, has 0 in `at`.
struct MapPositions {
  int64_t at[64];
  uint64_t raw[64];      // the indices, sign-extended if their type is signed
  uint64_t present = 0;  // bits of the values that are not null
  uint64_t inside = 0;   // bits of the present values that have a position
};

// Returns a bit for each of the n (at most 64) values from `first` on, set if the value is not null.
inline uint64_t present_bits(const Nulls& nulls, int64_t first, int64_t n) {
  if (nulls.bits != nullptr) return read_bits(nulls.bits, nulls.offset + first, n);
  return nulls.bytes == nullptr ? low_bits(n) : bits_of_bytes(nulls.bytes + first * nulls.stride, nulls.stride, n);
}

template <class Index>
void read_group(const MapPart& part, int64_t first, int64_t n, Extent table, MapPositions& group) {
  const std::byte* source = part.data + first * part.stride;
  for (int64_t k = 0; k < n; ++k, source += part.stride) {
    const Index value = load<Index>(source, 0);
    group.at[k] = widen(value);
    if constexpr (std::is_signed_v<Index>) {
      group.raw[k] = static_cast<uint64_t>(static_cast<int64_t>(value));
    } else {
      group.raw[k] = value;
    }
  }
  asm volatile(""
               :
               : "r"(&group)
               : "memory");  // another thread may change the caller's memory, so the compiler must not load it again
  group.inside = 0;
  const int64_t added = added_to_negative(table.size, table.negative, std::is_signed_v<Index>);
  for (int64_t k = 0; k < n; ++k) {
    const Lane lane = resolve_lane<Bounds::fill>(group.at[k], table.size, added);
    const bool inside = lane.outside >= 0;
    group.at[k] = inside ? lane.position : 0;
    group.inside |= uint64_t{inside} << k;
  }
}

// Calls use(group, at, n) for groups of up to 64 values among the entries [begin, end) of the map. The entries lie in
// `part`, which begins at entry `before`. Groups do not cross the word boundaries of a bitmap of the result.
template <class Use>
void for_each_group(const MapPart& part, int64_t before, int64_t begin, int64_t end, Extent table, MapFault& fault,
                    const Use& use) {
  visit_index(part.type, [&]<class Index>() {
    MapPositions group;
    for_each_word(begin, end - begin, [&](int64_t at, int64_t n) {
      read_group<Index>(part, at - before, n, table, group);
      group.present = present_bits(part.nulls, at - before, n);
      group.inside &= group.present;
      const uint64_t outside = group.present & ~group.inside;
      const uint64_t null = low_bits(n) & ~group.present;
      if ((outside | null) != 0) {
        for (uint64_t rest = null; rest != 0; rest &= rest - 1) group.at[std::countr_zero(rest)] = 0;
        fault.nulls += std::popcount(null);
        if (null != 0) fault.first_null = std::min<int64_t>(fault.first_null, at + std::countr_zero(null));
        fault.bad += std::popcount(outside);
        if (outside != 0 && fault.first_bad == INT64_MAX) {
          fault.first_bad = at + std::countr_zero(outside);
          fault.value = group.raw[std::countr_zero(outside)];
          fault.is_signed = std::is_signed_v<Index>;
        }
      }
      use(group, at, n);
    });
  });
}

// Calls use(group, at, n) as for_each_group does, for the entries [begin, end) of a map in several parts.
template <class Use>
void for_each_entry(const std::vector<MapPart>& map, int64_t begin, int64_t end, Extent table, MapFault& fault,
                    const Use& use) {
  int64_t before = 0;
  for (const MapPart& part : map) {
    const int64_t first = std::max(begin, before);
    const int64_t last = std::min(end, before + part.count);
    if (first < last) for_each_group(part, before, first, last, table, fault, use);
    before += part.count;
  }
}

// The rows that a mask names, as words of bits.
class MaskWords {
 public:
  MaskWords(const Sharing& sharing, const RowMap& map, Named named)
      : rows_(map.count()), words_(words_for(rows_)), named_(named) {
    std::atomic<int64_t> ones = 0;
    parallel_for(sharing, rows_, 64, kLeastMaskRows,
                 [&](int64_t begin, int64_t end) { ones += read(map.mask, begin, end); });
    ones_ = ones;
  }

  const uint64_t* words() const { return words_.get(); }
  Scratch<uint64_t> take() { return std::move(words_); }
  int64_t ones() const { return ones_; }
  // The number of runs of consecutive rows that are named.
  int64_t runs() const {
    int64_t runs = 0;
    uint64_t carry = 0;
    for (int64_t w = 0; w < words_for(rows_); ++w) {
      runs += std::popcount(words_[w] & ~(words_[w] << 1 | carry));
      carry = words_[w] >> 63;
    }
    return runs;
  }
  // Whether ranges describe the rows in less memory than row numbers; no row is one of these cases.
  bool has_long_runs() const { return runs() * kLongRun <= ones_; }

 private:
  // Reads the values of the rows [begin, end) and returns how many are named; `begin` is a multiple of 64.
  int64_t read(const std::vector<MaskPart>& mask, int64_t begin, int64_t end) {
    std::memset(&words_[begin / 64], 0, static_cast<std::size_t>(words_for(end - begin)) * 8);
    int64_t ones = 0;
    int64_t before = 0;
    for (const MaskPart& part : mask) {
      const int64_t first = std::max(begin, before);
      for_each_word(first, std::min(end, before + part.count) - first, [&](int64_t at, int64_t n) {
        const uint64_t word = named(values(part, at - before, n), present_bits(part.nulls, at - before, n), n);
        words_[at / 64] |= word << (at & 63);
        ones += std::popcount(word);
      });
      before += part.count;
    }
    return ones;
  }
  uint64_t named(uint64_t values, uint64_t present, int64_t n) const {
    if (named_ == Named::true_rows) return values & present;
    return named_ == Named::false_rows ? ~values & present : low_bits(n) & ~(values & present);
  }
  static uint64_t values(const MaskPart& part, int64_t first, int64_t n) {
    if (part.is_bits) return read_bits(part.data, part.offset + first, n);
    return bits_of_bytes(part.data + first * part.stride, part.stride, n);
  }
  int64_t rows_;
  Scratch<uint64_t> words_;
  Named named_;
  int64_t ones_ = 0;
};

}  // namespace gs::table
