// host_selection.h: resolves a map or mask on the host into the rows of a result, once for all columns. Each value is
// read and checked once and then kept in private memory.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "table/memory.h"
#include "table/picks.h"
#include "table/piece_finder.h"
#include "table/row_request.h"
#include "table/sharing.h"

namespace gs::table {

class MaskWords;

class HostSelection {
 public:
  // The map or mask lies in host memory. Throws what RowRequest says, and CallInterrupted.
  HostSelection(const Sharing& sharing, const RowRequest& request, const RowMap& map);

  // Selects rows by their numbers among all rows; -1: missing. The caller has checked that the numbers are in bounds.
  static HostSelection of_numbers(const Sharing& sharing, const std::vector<int64_t>& numbers,
                                  const ChunkLengths& lengths);

  int64_t count() const { return count_; }
  int64_t missing() const { return missing_; }
  const ChunkLengths& lengths() const { return lengths_; }
  // The pieces of the arrays `chunks`, in the order in which the picks number them.
  Pieces pieces(const std::vector<const Array*>& chunks) const;
  // The address of row 0 of each piece, for plain arrays of items with the addresses `chunks`.
  SmallVector<const std::byte*, 2> bases(const std::vector<const std::byte*>& chunks, int64_t width) const;
  Picks picks(const Sharing& sharing) const;
  // Whether the rows are so many, of several pieces, that rows of a fixed size are taken faster from joined pieces.
  bool prefers_joined() const { return by_piece_ != nullptr; }
  // The picks from one piece that consists of all pieces, one after the other.
  Picks joined_picks() const;
  // Writes the number of each selected row among the rows of all chunks to `target`, -1 for a missing row.
  void positions(const Sharing& sharing, int64_t* target) const;
  // Lists, in order, the selected rows whose number among the rows of all chunks is `size` or more, and these numbers
  // less `size`: of a scatter into `size` rows, which rows are replaced, and by which rows of the source.
  void replaced(const Sharing& sharing, int64_t size, std::vector<int64_t>& to, std::vector<int64_t>& from) const;

 private:
  RowArrays row_arrays() const { return {row_.get(), chunk_.get(), among_all_.get()}; }

  explicit HostSelection(ChunkLengths lengths);
  void gather(const Sharing& sharing, const RowRequest& request, const RowMap& map);
  void scatter(const Sharing& sharing, const RowRequest& request, const RowMap& map);
  void mask_scatter(const Sharing& sharing, const RowRequest& request, const RowMap& map);
  void filter(const Sharing& sharing, const RowRequest& request, const RowMap& map);
  void choose(const Sharing& sharing, const RowRequest& request, const RowMap& map);
  void all_missing(int64_t count);
  void make_rows(int64_t count, bool joined = false);
  template <class SourceRow>
  void replace_runs(const MaskWords& mask, int64_t count, int64_t base, const SourceRow& source);
  template <class SourceRow>
  void replace(const Sharing& sharing, Scratch<uint64_t> replaced, int64_t count, int64_t base, const SourceRow& source,
               bool same_row);

  // The rows by piece of a selection that prefers joined pieces. The first column that needs them adds them.
  struct RowsByPiece {
    std::mutex lock;
    Scratch<uint32_t> row;
    Scratch<uint32_t> chunk;
  };

  ChunkLengths lengths_;
  ChunkParts parts_;  // at most kMostPieceRows rows each; no part is empty, unless there are no rows at all
  int64_t total_ = 0;
  int64_t count_ = 0;
  int64_t missing_ = 0;
  Scratch<uint32_t> row_;
  Scratch<uint32_t> chunk_;
  Scratch<uint32_t> among_all_;
  std::unique_ptr<RowsByPiece> by_piece_;
  Scratch<uint64_t> valid_;
  std::optional<RangeList> ranges_;
  std::vector<int64_t> base_begin_;
  Scratch<int64_t> before_;
  Scratch<uint64_t> replaced_;
  Scratch<uint16_t> place_;
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
