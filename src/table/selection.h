// selection.h: which rows a result has, found out once for all columns: maps and masks are read a single time, checked,
// and kept in private memory.
#pragma once

#include <memory>
#include <optional>

#include "table/map_reader.h"
#include "table/memory.h"
#include "table/picks.h"
#include "table/row_errors.h"
#include "table/sharing.h"

namespace gs::table {

enum class RowBounds : uint8_t { raise, nullify, unchecked };

using ChunkLengths = std::vector<int64_t>;  // rows of each chunk of a table

class Selection {
 public:
  // Rows by number. Throws BadRow or NullRow; under `nullify` such rows are missing, under `unchecked` any row.
  static Selection gather(const Sharing& sharing, const std::vector<MapPart>& map, const ChunkLengths& lengths,
                          RowBounds bounds, Negative negative = Negative::from_end);
  // Rows of `target`, of which those that the map names come from `source`: the row of the map's last place that names
  // it, or row 0 for all. Chunks are those of the target, then those of the source.
  static Selection scatter(const Sharing& sharing, const std::vector<MapPart>& map, const ChunkLengths& target,
                           const ChunkLengths& source, bool one_row);
  // The same for the rows where the mask is true: they get the rows of the source in order.
  static Selection mask_scatter(const Sharing& sharing, const std::vector<MaskPart>& mask, const ChunkLengths& target,
                                const ChunkLengths& source, bool one_row);
  // The rows where the mask is true.
  static Selection filter(const Sharing& sharing, const std::vector<MaskPart>& mask, const ChunkLengths& lengths);
  // Row i of the first table where the mask is true, else of the second. Chunks are those of the first, then those of
  // the second.
  static Selection choose(const Sharing& sharing, const std::vector<MaskPart>& mask, const ChunkLengths& when_true,
                          const ChunkLengths& when_false);

  // Rows by numbers among all rows that are known to be inside; -1: missing.
  static Selection of_numbers(const Sharing& sharing, const std::vector<int64_t>& numbers, const ChunkLengths& lengths);

  int64_t count() const { return count_; }
  int64_t missing() const { return missing_; }
  const ChunkLengths& lengths() const { return lengths_; }
  // The pieces that the picks are numbered by, of the arrays of these chunks.
  Pieces pieces(const std::vector<const Array*>& chunks) const;
  // The same for plain arrays of items: the address of row 0 of each piece.
  SmallVector<const std::byte*, 2> bases(const std::vector<const std::byte*>& chunks, int64_t width) const;
  Picks picks() const;
  // Row numbers in all chunks one after the other, -1 where missing.
  void positions(const Sharing& sharing, int64_t* target) const;

 private:
  struct ChunkPart {
    int64_t chunk;
    int64_t first;
    int64_t begin;  // number of its first row among all rows
  };
  friend class Places;

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
  SmallVector<ChunkPart, 2> parts_;  // not empty, not longer than a row number can count
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
