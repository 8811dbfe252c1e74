// row_map.h: describes the memory of a map or mask: its chunks, their nulls and their device.
#pragma once

#include <optional>
#include <vector>

#include "core/index_type.h"
#include "table/frame.h"

namespace gs::table {

// The nulls of a map or mask: a value is null if its bit or its byte is 0. Without bits and bytes, no value is null.
struct Nulls {
  const std::byte* bits = nullptr;
  int64_t offset = 0;
  const std::byte* bytes = nullptr;
  int64_t stride = 1;
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

// The rows that a mask names: those where it is true, all others, or those where it is false. A null is one of the
// others.
enum class Named : uint8_t { true_rows, other_rows, false_rows };

// A view of a map or mask. Exactly one of `map` and `mask` is used; both are empty if there are no chunks.
struct RowMap {
  std::vector<MapPart> map = {};
  std::vector<MaskPart> mask = {};
  int device = kHost;                    // the memory of the values: a GPU number, or kHost
  std::optional<uintptr_t> stream = {};  // on a GPU: the stream that orders the uses of the values
  int64_t count() const;                 // the values of all chunks; throws on overflow
};

// The values of a column as a map or as a mask; the column must outlive the result. Throw IndexTypeError unless the
// values are integers, DataTypeError unless they are booleans.
RowMap map_of(const Frame& column);
RowMap mask_of(const Frame& column);

// Throws IndexTypeError unless `value` is a plain integer type. The integers of a dictionary and of an extension type
// (bools, periods) are not row numbers. The message names the type `map`.
void require_row_numbers(const Type& value, const Type& map);

}  // namespace gs::table
