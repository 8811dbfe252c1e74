// host_selection.h: resolves a map or mask on the host into the rows of a result, once for all columns. Each value is
// read and checked once and then kept in private memory.
#pragma once

#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "table/memory.h"
#include "table/picks.h"
#include "table/piece_finder.h"
#include "table/row_request.h"
#include "table/sharing.h"

namespace gs::table {

class MaskWords;

// The rows by piece of a selection that prefers joined pieces. The first column that needs them adds them.
struct RowsByPiece {
  std::mutex lock;
  Scratch<uint32_t> row;
  Scratch<uint32_t> chunk;
};
// A row number for each row.
struct NumberedRows {
  Scratch<uint32_t> row;
  Scratch<uint32_t> chunk;
  Scratch<uint32_t> among_all;
  Scratch<uint64_t> valid;  // null if none is missing
  int64_t missing = 0;
  std::unique_ptr<RowsByPiece> by_piece;

  RowArrays arrays() const { return {row.get(), chunk.get(), among_all.get()}; }
};
// The rows of a base, some of them replaced.
struct ReplacedRows {
  Scratch<uint64_t> bits;
  Scratch<int64_t> before;
  Scratch<uint16_t> place;
  Scratch<uint32_t> row;
  Scratch<uint32_t> piece;
  std::vector<int64_t> begin;
  Overlay overlay;
};

class HostSelection {
 public:
  // The map or mask lies in host memory. Throws what RowRequest says, and CallInterrupted.
  HostSelection(const Sharing& sharing, const RowRequest& request, const RowMap& map);

  // Selects rows by their numbers among all rows; -1: missing. The caller has checked that the numbers are in bounds.
  static HostSelection of_numbers(const Sharing& sharing, const std::vector<int64_t>& numbers,
                                  const ChunkLengths& lengths);

  int64_t count() const { return count_; }
  int64_t missing() const { return view().missing; }
  const ChunkLengths& lengths() const { return lengths_; }
  // The pieces of the arrays `chunks`, in the order in which the picks number them.
  Pieces pieces(const std::vector<const Array*>& chunks) const;
  // The address of row 0 of each piece, for plain arrays of items with the addresses `chunks`.
  SmallVector<const std::byte*, 2> bases(const std::vector<const std::byte*>& chunks, int64_t width) const;
  Picks picks(const Sharing& sharing) const;
  // Whether the rows are so many, of several pieces, that rows of a fixed size are taken faster from joined pieces.
  bool prefers_joined() const;
  // The picks from one piece that consists of all pieces, one after the other.
  Picks joined_picks() const;
  // Writes the number of each selected row among the rows of all chunks to `target`, -1 for a missing row.
  void positions(const Sharing& sharing, int64_t* target) const;
  // Lists, in order, the selected rows whose number among the rows of all chunks is `size` or more, and these numbers
  // less `size`: of a scatter into `size` rows, which rows are replaced, and by which rows of the source.
  void replaced(const Sharing& sharing, int64_t size, std::vector<int64_t>& to, std::vector<int64_t>& from) const;

 private:
  explicit HostSelection(ChunkLengths lengths);
  void gather(const Sharing& sharing, const RowRequest& request, const RowMap& map);
  void scatter(const Sharing& sharing, const RowRequest& request, const RowMap& map);
  void mask_scatter(const Sharing& sharing, const RowRequest& request, const RowMap& map);
  void filter(const Sharing& sharing, const RowRequest& request, const RowMap& map);
  void choose(const Sharing& sharing, const RowRequest& request, const RowMap& map);
  Picks view() const;
  void all_missing(int64_t count);
  NumberedRows& make_rows(int64_t count, bool joined = false);
  template <class SourceRow>
  void replace_runs(const MaskWords& mask, int64_t count, int64_t base, const SourceRow& source);
  template <class SourceRow>
  void replace(const Sharing& sharing, Scratch<uint64_t> replaced, int64_t count, int64_t base, const SourceRow& source,
               bool same_row);

  ChunkLengths lengths_;
  ChunkParts parts_;  // at most kMostPieceRows rows each; no part is empty, unless there are no rows at all
  int64_t total_ = 0;
  int64_t count_ = 0;
  std::variant<NumberedRows, RangeList, ReplacedRows> selected_;
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
