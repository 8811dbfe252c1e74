// selection.h: resolves a map or mask into the rows of a result, once for all columns. Each value is read and checked
// once and then kept in private memory.
#pragma once

#include <memory>
#include <optional>

#include "table/map_reader.h"
#include "table/memory.h"
#include "table/picks.h"
#include "table/piece_finder.h"
#include "table/row_errors.h"
#include "table/sharing.h"

namespace gs::table {

// What a row number out of bounds gives: an exception, a missing row, or any row.
enum class RowBounds : uint8_t { raise, nullify, unchecked };

using ChunkLengths = std::vector<int64_t>;  // rows of each chunk of a table

class Selection {
 public:
  // Selects the rows that the map names. For bad indices and nulls, `raise` throws BadRow or NullRow and `nullify`
  // makes the rows missing. `unchecked` takes any row for a bad index and throws NullRow for nulls; if there are no
  // rows, it also throws BadRow.
  static Selection gather(const Sharing& sharing, const std::vector<MapPart>& map, const ChunkLengths& lengths,
                          RowBounds bounds, Negative negative = Negative::from_end);
  // Selects the rows of `target`, with those that the map names replaced by rows of `source`: row i of the source for
  // the last entry i of the map that names the row, or row 0 for all if `one_row`. The selection numbers the chunks of
  // the target, then those of the source.
  static Selection scatter(const Sharing& sharing, const std::vector<MapPart>& map, const ChunkLengths& target,
                           const ChunkLengths& source, bool one_row);
  // Selects the rows of `target`, with those where the mask is true replaced by the rows of the source in order, or by
  // row 0 if `one_row`. The selection numbers the chunks as `scatter` does.
  static Selection mask_scatter(const Sharing& sharing, const std::vector<MaskPart>& mask, const ChunkLengths& target,
                                const ChunkLengths& source, bool one_row);
  // Selects the rows where the mask is true.
  static Selection filter(const Sharing& sharing, const std::vector<MaskPart>& mask, const ChunkLengths& lengths);
  // Selects row i of the first table where the mask is true, else row i of the second. The selection numbers the chunks
  // of the first table, then those of the second.
  static Selection choose(const Sharing& sharing, const std::vector<MaskPart>& mask, const ChunkLengths& when_true,
                          const ChunkLengths& when_false);

  // Selects rows by their numbers among all rows; -1: missing. The caller has checked that the numbers are in bounds.
  static Selection of_numbers(const Sharing& sharing, const std::vector<int64_t>& numbers, const ChunkLengths& lengths);

  int64_t count() const { return count_; }
  int64_t missing() const { return missing_; }
  const ChunkLengths& lengths() const { return lengths_; }
  // The pieces of the arrays `chunks`, in the order in which the picks number them.
  Pieces pieces(const std::vector<const Array*>& chunks) const;
  // The address of row 0 of each piece, for plain arrays of items with the addresses `chunks`.
  SmallVector<const std::byte*, 2> bases(const std::vector<const std::byte*>& chunks, int64_t width) const;
  Picks picks() const;
  // Writes the number of each selected row among the rows of all chunks to `target`, -1 for a missing row.
  void positions(const Sharing& sharing, int64_t* target) const;

 private:
  RowArrays row_arrays() const { return {row_.get(), chunk_.get(), among_all_.get()}; }

  explicit Selection(ChunkLengths lengths);
  void all_missing(int64_t count);
  void make_rows(int64_t count);
  template <class SourceRow>
  void replace_most(const Sharing& sharing, const uint64_t* replaced, int64_t count, int64_t base,
                    const SourceRow& source);
  template <class SourceRow>
  void replace(const Sharing& sharing, Scratch<uint64_t> replaced, int64_t count, int64_t base,
               const SourceRow& source);

  ChunkLengths lengths_;
  ChunkParts parts_;  // at most kMostPieceRows rows each; no part is empty, unless there are no rows at all
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
  Scratch<uint64_t> replaced_;
  std::unique_ptr<Overlay> overlay_;
  Picks picks_;
};

// The picks of rows [begin, begin + length) of a selection, for results that are split into several chunks.
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
