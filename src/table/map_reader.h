// map_reader.h: maps and masks as callers have them, and their values read once, checked, in private memory.
#pragma once

#include <algorithm>
#include <vector>

#include "core/index_type.h"
#include "core/rule.h"
#include "table/bits.h"
#include "table/row_errors.h"

namespace gs::table {

// Which values of a map or mask are null: those whose bit, or whose byte, is 0. Neither: none is.
struct Nulls {
  const std::byte* bits = nullptr;
  int64_t offset = 0;
  const std::byte* bytes = nullptr;
  int64_t stride = 1;

  // A bit for each of the n (at most 64) values from `first` on, set where it is not null.
  uint64_t present(int64_t first, int64_t n) const {
    if (bits != nullptr) return read_bits(bits, offset + first, n);
    return bytes == nullptr ? low_bits(n) : bits_of_bytes(bytes + first * stride, stride, n);
  }
};

// One chunk of a map: `count` integers, `stride` bytes apart.
struct MapPart {
  const std::byte* data = nullptr;
  int64_t stride = 0;
  IndexType type = IndexType::i64;
  int64_t count = 0;
  Nulls nulls;
};

// One chunk of a mask: bits, or bytes that are `stride` apart.
struct MaskPart {
  const std::byte* data = nullptr;
  bool is_bits = false;
  int64_t offset = 0;  // bits: the first one
  int64_t stride = 1;
  int64_t count = 0;
  Nulls nulls;
};

// What is found wrong in a map, read in ascending order.
struct Fault {
  int64_t nulls = 0;
  int64_t first_null = INT64_MAX;
  int64_t bad = 0;
  int64_t first_bad = INT64_MAX;
  uint64_t value = 0;
  bool is_signed = true;
  bool from_end = true;

  // What was found in another part of the map.
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

// Rows of the table, and what is added to a negative number: as many, or nothing.
struct Extent {
  int64_t size;
  int64_t from_end;
};

// A group of map values: positions in [0, size), 0 where there is none.
struct MapPositions {
  int64_t at[64];
  uint64_t raw[64];
  uint64_t present = 0;  // not null
  uint64_t inside = 0;   // of those: within the table
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
  asm volatile("" : : "r"(&group) : "memory");  // from here on the values are private
  group.inside = 0;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t position = std::is_signed_v<Index> ? from_end(group.at[k], table.from_end) : group.at[k];
    const bool inside = is_inside(position, table.size);
    group.at[k] = inside ? position : 0;
    group.inside |= uint64_t{inside} << k;
  }
}

// Calls use(group, at, n) for groups of up to 64 values of one part whose places in the whole map begin at `before`;
// groups begin where words of the result do.
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

// The same for the places [begin, end) of a map in several parts.
template <class Use>
void for_each_place(const std::vector<MapPart>& map, int64_t begin, int64_t end, Extent table, Fault& fault,
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
