// selection.h: which rows a result has, found out once for all columns: maps and masks are read a single time, checked,
// and kept in private memory.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>

#include "backends/backend.h"
#include "core/index_type.h"
#include "table/memory.h"
#include "table/picks.h"

namespace gs::table {

// Counts and lengths that do not fit together: errors.InvalidArgument.
struct InvalidArgument : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// Types that differ: errors.DataTypeError.
struct DataTypeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// A row number outside of its table, the first of `count`.
struct BadRow {
  int64_t position;
  uint64_t bits;  // the value; signed where its type is
  bool is_signed;
  int64_t size;
  int64_t count;
  int64_t total;
  int64_t row = -1;  // of lists of row numbers: which list
};
// A map that does not consist of integers: errors.IndexTypeError.
struct IndexTypeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// A null where a row number belongs, the first one.
struct NullRow {
  int64_t position;
  int64_t count;
};

// Which values of a map or mask are null: those whose bit, or whose byte, is 0. Neither: none is.
struct Nulls {
  const std::byte* bits = nullptr;
  int64_t offset = 0;
  const std::byte* bytes = nullptr;
  int64_t stride = 1;
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

enum class RowBounds : uint8_t { raise, nullify, unchecked };

class Selection {
 public:
  struct Sharing {  // by whom the work is done
    const Backend& backend;
    RunOptions options;
  };
  using Lengths = std::vector<int64_t>;  // rows of each chunk that the rows are picked from

  // Rows by number. Throws BadRow or NullRow; under `nullify` such rows are missing, under `unchecked` any row.
  static Selection gather(const Sharing& sharing, const std::vector<MapPart>& map, const Lengths& lengths,
                          RowBounds bounds);
  // Rows of `target`, of which those that the map names come from `source`: the row of the map's last place that names
  // it, or row 0 for all. Chunks are those of the target, then those of the source.
  static Selection scatter(const Sharing& sharing, const std::vector<MapPart>& map, const Lengths& target,
                           const Lengths& source, bool one_row);
  // The same for the rows where the mask is true: they get the rows of the source in order.
  static Selection mask_scatter(const Sharing& sharing, const std::vector<MaskPart>& mask, const Lengths& target,
                                const Lengths& source, bool one_row);
  // The rows where the mask is true.
  static Selection filter(const Sharing& sharing, const std::vector<MaskPart>& mask, const Lengths& lengths);
  // Row i of the first table where the mask is true, else of the second. Chunks are those of the first, then those of
  // the second.
  static Selection choose(const Sharing& sharing, const std::vector<MaskPart>& mask, const Lengths& when_true,
                          const Lengths& when_false);

  // Rows by numbers among all rows that are known to be inside; -1: missing.
  static Selection of_numbers(const Sharing& sharing, const std::vector<int64_t>& numbers, const Lengths& lengths);

  int64_t count() const { return count_; }
  int64_t missing() const { return missing_; }
  const Lengths& lengths() const { return lengths_; }
  // The pieces that the picks are numbered by, of the arrays of these chunks.
  Pieces pieces(const std::vector<const Array*>& chunks) const;
  // The same for plain arrays of items: the address of row 0 of each piece.
  SmallVector<const std::byte*, 2> bases(const std::vector<const std::byte*>& chunks, int64_t width) const;
  Picks picks() const;
  // Row numbers in all chunks one after the other, -1 where missing.
  void positions(const Sharing& sharing, int64_t* target) const;

 private:
  struct Part {
    int64_t chunk;
    int64_t first;
    int64_t begin;  // number of its first row among all rows
  };
  friend class Places;

  explicit Selection(Lengths lengths);
  void all_missing(int64_t count);
  void make_rows(int64_t count);
  template <class SourceRow>
  void replace(const Sharing& sharing, Scratch<uint64_t> replaced, int64_t count, int64_t base,
               const SourceRow& source);

  Lengths lengths_;
  SmallVector<Part, 2> parts_;  // not empty, not longer than a row number can count
  int64_t total_ = 0;
  int64_t count_ = 0;
  int64_t missing_ = 0;
  Scratch<uint32_t> row_;
  Scratch<uint32_t> chunk_;
  Scratch<uint32_t> among_all_;
  Scratch<uint64_t> valid_;
  std::optional<RangeList> ranges_;
  std::vector<int64_t> base_begin_;
  Scratch<int64_t> before_;
  std::unique_ptr<Overlay> overlay_;
  Picks picks_;
};

// Rows [begin, begin + length) of a selection, for results that are made in several chunks.
class PickSlice {
 public:
  PickSlice(const Picks& picks, int64_t begin, int64_t length);
  const Picks& picks() const { return picks_; }

 private:
  RangeList ranges_;
  Scratch<uint64_t> valid_;
  Picks picks_;
};

}  // namespace gs::table
