// map_reader.h: describes the memory of maps and masks, and reads each value once, with its check, into private memory.
#pragma once

#include <algorithm>
#include <vector>

#include "core/index_type.h"
#include "core/rule.h"
#include "table/bits.h"
#include "table/row_errors.h"

namespace gs::table {

// The nulls of a map or mask: a value is null if its bit or its byte is 0. Without bits and bytes, no value is null.
struct Nulls {
  const std::byte* bits = nullptr;
  int64_t offset = 0;
  const std::byte* bytes = nullptr;
  int64_t stride = 1;

  // Returns a bit for each of the n (at most 64) values from `first` on, set if the value is not null.
  uint64_t present(int64_t first, int64_t n) const {
    if (bits != nullptr) return read_bits(bits, offset + first, n);
    return bytes == nullptr ? low_bits(n) : bits_of_bytes(bytes + first * stride, stride, n);
  }
};

// One chunk of a map: `count` integers with a distance of `stride` bytes.
struct MapPart {
  const std::byte* data = nullptr;
  int64_t stride = 0;
  IndexType type = IndexType::i64;
  int64_t count = 0;
  Nulls nulls;
};

// One chunk of a mask: bits, or bytes with a distance of `stride`.
struct MaskPart {
  const std::byte* data = nullptr;
  bool is_bits = false;
  int64_t offset = 0;  // of a bit mask: its first bit
  int64_t stride = 1;
  int64_t count = 0;
  Nulls nulls;
};

// The nulls and bad indices found in a part of a map: their counts and the first of each. Entries are read in ascending
// order.
struct Fault {
  int64_t nulls = 0;
  int64_t first_null = INT64_MAX;
  int64_t bad = 0;
  int64_t first_bad = INT64_MAX;
  uint64_t value = 0;
  bool is_signed = true;
  bool from_end = true;

  // Adds the nulls and bad indices of another part of the map.
  void add(const Fault& other) {
    nulls += other.nulls;
    first_null = std::min(first_null, other.first_null);
    bad += other.bad;
    if (other.first_bad >= first_bad) return;
    first_bad = other.first_bad;
    value = other.value;
    is_signed = other.is_signed;
  }
  void report(int64_t size, int64_t total) const {
    if (nulls > 0) throw NullRow{first_null, nulls};
    if (bad > 0) throw BadRow{first_bad, value, is_signed, size, bad, total, -1, from_end};
  }
};

// The number of rows, and the number that is added to a negative index: `size`, or 0 if the rule has no negative
// indices.
struct Extent {
  int64_t size;
  int64_t from_end;
};

// The positions of up to 64 map values. An index without a position, or a null, has 0 in `at`.
struct MapPositions {
  int64_t at[64];
  uint64_t raw[64];      // the indices, sign-extended if their type is signed
  uint64_t present = 0;  // bits of the values that are not null
  uint64_t inside = 0;   // bits of the present values that have a position
};

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
  asm volatile("" : : "r"(&group) : "memory");  // the caller's memory may change, so it is not read again
  group.inside = 0;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t position = std::is_signed_v<Index> ? from_end(group.at[k], table.from_end) : group.at[k];
    const bool inside = is_inside(position, table.size);
    group.at[k] = inside ? position : 0;
    group.inside |= uint64_t{inside} << k;
  }
}

// Calls use(group, at, n) for groups of up to 64 values among the entries [begin, end) of the map. The entries lie in
// `part`, which begins at entry `before`. Groups do not cross the word boundaries of a bitmap of the result.
template <class Use>
void for_each_group(const MapPart& part, int64_t before, int64_t begin, int64_t end, Extent table, Fault& fault,
                    const Use& use) {
  visit_index(part.type, [&]<class Index>() {
    MapPositions group;
    for_each_word(begin, end - begin, [&](int64_t at, int64_t n) {
      read_group<Index>(part, at - before, n, table, group);
      group.present = part.nulls.present(at - before, n);
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
void for_each_entry(const std::vector<MapPart>& map, int64_t begin, int64_t end, Extent table, Fault& fault,
                    const Use& use) {
  int64_t before = 0;
  for (const MapPart& part : map) {
    const int64_t first = std::max(begin, before);
    const int64_t last = std::min(end, before + part.count);
    if (first < last) for_each_group(part, before, first, last, table, fault, use);
    before += part.count;
  }
}

}  // namespace gs::table
