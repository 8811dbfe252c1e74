// segmented.cpp: gathers within each list of a column of lists, with one list of indices for each row.
#include "table/segmented.h"

#include <optional>
#include <stdexcept>

#include "arrow/arrow_abi.h"
#include "arrow/bits.h"
#include "arrow/values.h"
#include "core/error.h"
#include "core/rule.h"
#include "table/host_selection.h"
#include "table/take.h"

namespace gs::table {
namespace {

bool is_list(const Type& type) {
  if (type.format == "+m") return false;  // the entries of an Arrow map have an order of their own and are never null
  return type.layout == Layout::list || type.layout == Layout::list_view || type.layout == Layout::fixed_list;
}

// One list of a column: the rows [begin, begin + size) of the child of its chunk.
struct Row {
  std::size_t chunk = 0;
  int64_t begin = 0;
  int64_t size = 0;
  bool is_null = false;
};

// Iterates over the lists of a column.
class Lists {
 public:
  Lists(const Chunked& column, int64_t first) : type_(*column.type), chunks_(column.chunks), row_(first) {
    for (const Array& chunk : chunks_) count_ += chunk.length;
  }

  int64_t count() const { return count_; }

  Row next() {
    while (row_ >= chunks_[chunk_].length) row_ -= chunks_[chunk_++].length;
    const Array& array = chunks_[chunk_];
    const int64_t at = array.offset + row_++;
    Row row;
    row.chunk = chunk_;
    row.is_null = array.validity.data != nullptr && !bit_at(array.validity.data, at);
    if (type_.layout == Layout::fixed_list) {
      row.begin = at * type_.list_size;
      row.size = type_.list_size;
      return row;
    }
    if (row.is_null) return row;
    row.begin = load_offset(array.first.data, type_.width, at);
    row.size = type_.layout == Layout::list_view ? load_offset(array.second.data, type_.width, at)
                                                 : load_offset(array.first.data, type_.width, at + 1);
    if (type_.layout == Layout::list) {
      if (row.begin < 0 || row.size < row.begin) refuse();
      row.size -= row.begin;
    }
    if (row.begin < 0 || row.size < 0 || row.begin > array.children[0].length - row.size) refuse();
    return row;
  }

 private:
  [[noreturn]] void refuse() const {
    throw ExchangeError("offsets of '" + type_.name + "' (" + type_name(type_) + ") lead outside of its values");
  }

  const Type& type_;
  const std::vector<Array>& chunks_;
  int64_t row_;  // counted from chunk_; may exceed its length before next()
  int64_t count_ = 0;
  std::size_t chunk_ = 0;
};

// The type of the result. Lists of a fixed size become lists of any size, because the lists of the map have any size.
std::shared_ptr<const Type> result_type(const std::shared_ptr<const Type>& type, bool nullable) {
  Type result = *type;
  if (result.layout == Layout::fixed_list) {
    result.layout = Layout::list;
    result.format = "+l";
    result.width = 4;
    result.list_size = 0;
  }
  if (nullable) result.children[0].flags |= kNullable;
  return std::make_shared<const Type>(std::move(result));
}

void set_offset(std::byte* data, int64_t width, int64_t i, int64_t value) {
  if (width == 4) {
    store(data, i, static_cast<int32_t>(value));
  } else {
    store(data, i, value);
  }
}

void check_arguments(const Frame& lists, const Frame& maps) {
  if (lists.is_table || !is_list(*lists.data.type)) {
    throw DataTypeError("expected a column of lists, got " + type_name(*lists.data.type));
  }
  if (maps.is_table || !is_list(*maps.data.type)) {
    throw IndexTypeError("expected a column of lists of integers as map, got " + type_name(*maps.data.type));
  }
  require_row_numbers(maps.data.type->children[0], *maps.data.type);
}

class Segments {
 public:
  Segments(const Sharing& sharing, const Frame& lists, const Frame& maps, Bounds bounds)
      : sharing_(sharing), lists_(lists.data), maps_(maps.data), bounds_(bounds) {
    result_.data.type = result_type(lists.data.type, bounds == Bounds::fill);
    for (const Array& chunk : lists_.chunks) {
      base_.push_back(total_);
      lengths_.push_back(chunk.children[0].length);
      values_.push_back(&chunk.children[0]);
      total_ += chunk.children[0].length;
    }
  }

  // Adds rows [begin, end) as one chunk, or as several chunks if they need larger offsets than the type has.
  void add(int64_t begin, int64_t end) {
    try {
      result_.data.chunks.push_back(take(begin, end));
    } catch (const OffsetOverflow&) {
      if (end - begin < 2) throw std::overflow_error("a single row needs larger offsets than its type has");
      add(begin, begin + (end - begin) / 2);
      add(begin + (end - begin) / 2, end);
    }
  }
  Frame result() { return std::move(result_); }

 private:
  // Appends the numbers, among all values, of the values that list `map` selects from list `row`; -1: missing.
  void add_numbers(const Row& row, const Row& map, int64_t r, std::vector<int64_t>& numbers) {
    const Type& type = maps_.type->children[0];
    const bool is_signed = index_is_signed(type.integer);
    const Rule rule{Bounds::fill, is_signed ? Negative::from_end : Negative::out_of_bounds};
    const Array& values = maps_.chunks[map.chunk].children[0];
    for (int64_t k = 0; k < map.size; ++k) {
      const int64_t at = values.offset + map.begin + k;
      const bool is_null = values.validity.data != nullptr && !bit_at(values.validity.data, at);
      if (is_null && bounds_ != Bounds::fill) throw NullRow{k, 1, r};
      const int64_t value = integer_at(type, values.first.data, at);
      const int64_t position = resolve(value, row.size, rule);
      const bool inside = !is_null && !row.is_null && position != kNowhere;
      numbers.push_back(inside ? base_[row.chunk] + row.begin + position : -1);
      if (inside || is_null || row.is_null || bounds_ != Bounds::raise) continue;
      if (!bad_) {
        const auto bits =
            type.integer == IndexType::u64 ? load<uint64_t>(values.first.data, at) : static_cast<uint64_t>(value);
        bad_ = BadRow{k, bits, is_signed, row.size, 0, 0, r, true};
      }
      ++bad_->count;
    }
  }

  Array take(int64_t begin, int64_t end) {
    const Type& type = *result_.data.type;
    const int64_t count = end - begin;
    const NewBuffer offsets = allocate(bytes_of_values(checked_add(count, 1), type.width));
    const NewBuffer sizes = allocate(type.layout == Layout::list_view ? bytes_of_values(count, type.width) : 0);
    const NewBuffer validity = allocate_zeros(words_for(count) * 8);
    auto* const valid = reinterpret_cast<uint64_t*>(validity.data);
    Lists rows(lists_, begin);
    Lists map_rows(maps_, begin);
    std::vector<int64_t> numbers;
    Array out;
    out.length = count;
    set_offset(offsets.data, type.width, 0, 0);
    for (int64_t r = 0; r < count; ++r) {
      if (r % kRowsPerPoll == 0) poll(sharing_);
      const Row row = rows.next();
      const Row map = map_rows.next();
      if (map.is_null) throw NullRow{begin + r, 1};
      out.nulls += row.is_null;
      valid[r / 64] |= uint64_t{!row.is_null} << (r & 63);
      add_numbers(row, map, begin + r, numbers);
      if (sizes.data != nullptr) set_offset(sizes.data, type.width, r, map.size);
      set_offset(offsets.data, type.width, r + 1, static_cast<int64_t>(numbers.size()));
    }
    if (bad_) {
      bad_->total = static_cast<int64_t>(numbers.size());
      throw *bad_;
    }
    if (type.width == 4 && static_cast<int64_t>(numbers.size()) > offset_limit()) throw OffsetOverflow{};
    if (out.nulls > 0) out.validity = validity.buffer;
    out.first = offsets.buffer;
    out.second = sizes.buffer;
    out.reach = static_cast<int64_t>(numbers.size());
    const HostSelection selection = HostSelection::of_numbers(sharing_, numbers, lengths_);
    const RowTaker taker(sharing_, expected_bytes(type.children[0], values_, out.reach));
    out.children.push_back(taker.take(type.children[0], selection.pieces(values_), selection.picks(sharing_)));
    return out;
  }

  const Sharing& sharing_;
  const Chunked& lists_;
  const Chunked& maps_;
  const Bounds bounds_;
  Frame result_;
  ChunkLengths lengths_;  // number of values of each chunk
  std::vector<const Array*> values_;
  std::vector<int64_t> base_;  // number of values before each chunk
  int64_t total_ = 0;
  std::optional<BadRow> bad_;
};

}  // namespace

Frame segmented_gather(const Sharing& sharing, const Frame& lists, const Frame& maps, Bounds bounds) {
  check_arguments(lists, maps);
  const int64_t count = Lists(lists.data, 0).count();
  const int64_t map_count = Lists(maps.data, 0).count();
  if (count != map_count) {
    throw InvalidArgument("the column of lists has length " + std::to_string(count) + ", its map has length " +
                          std::to_string(map_count));
  }
  Segments segments(sharing, lists, maps, bounds);
  segments.add(0, count);
  return segments.result();
}

}  // namespace gs::table
