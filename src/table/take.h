// take.h: rows of arrays of every type, picked out of any number of pieces: the one operation that all table operators
// consist of. A scatter picks every row of its result out of the target or of the source.
#pragma once

#include "table/memory.h"
#include "table/picks.h"
#include "table/row_errors.h"
#include "table/sharing.h"

namespace gs::table {

// Largest offset of 32 bits that a result may have. Smaller in tests only.
int64_t offset_limit();
int64_t set_offset_limit(int64_t limit);  // returns what it was

class RowTaker {
 public:
  explicit RowTaker(const Sharing& sharing);

  // The rows of `pieces`, all of this type, that `picks` names. Rows that are missing become null if the type may be
  // null; their values are unspecified but never uninitialised. ExchangeError for offsets, keys or ids that lead
  // outside of their arrays.
  Array take(const Type& type, const Pieces& pieces, const Picks& picks) const;

  // Items of `width` bytes, by the address of row 0 of each piece. Those of missing rows are unspecified.
  Buffer items(const SmallVector<const std::byte*, 2>& base, const Pieces& pieces, int64_t width,
               const Picks& picks) const;
  // The same, and zero bytes where a row is missing.
  Buffer items_or_zeros(const SmallVector<const std::byte*, 2>& base, const Pieces& pieces, int64_t width,
                        const Picks& picks) const;

 private:
  void validity(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const;
  Buffer bits(const SmallVector<BitSource, 2>& sources, const Pieces& pieces, const Picks& picks, const uint64_t* mask,
              int64_t& ones) const;
  Buffer fixed(const Pieces& pieces, int64_t width, const Picks& picks) const;
  void bools(const Pieces& pieces, const Picks& picks, Array& out) const;
  void binary(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const;
  // What lies between the offsets of the rows, `item` bytes for each step of an offset; sets the offsets of `out`.
  Buffer spans(const Type& type, const Pieces& pieces, const SmallVector<const std::byte*, 2>& sources, int64_t item,
               const Picks& picks, Array& out) const;
  void list(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const;
  void list_view(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const;
  void fixed_list(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const;
  void structure(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const;
  void sparse_union(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const;
  void dense_union(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const;
  void run_end(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const;
  void views(const Pieces& pieces, const Picks& picks, Array& out) const;
  void keys(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const;

  // All rows on one thread.
  template <class Visit>
  void walk(const Picks& picks, const Visit& visit) const {
    for (int64_t begin = 0; begin < picks.count; begin += kRowsPerPoll) {
      for_each_run(picks, begin, std::min(begin + kRowsPerPoll, picks.count), visit);
      poll(sharing_);
    }
  }

  const Sharing sharing_;
  const int64_t near_bytes_;  // what fits into the caches
};

// Rows [begin, end) of an overlay: items by the address of row 0 of each piece, and bits, of which it gives the number
// that are set. For items, `begin` is a multiple of Overlay::kBlock; for bits, of 64.
void overlay_items(const ColumnKernels& kernels, const Overlay& overlay, const SmallVector<const std::byte*, 2>& base,
                   int64_t width, int64_t begin, int64_t end, std::byte* target);
int64_t overlay_bits(const ColumnKernels& kernels, const Overlay& overlay, const SmallVector<BitSource, 2>& sources,
                     int64_t begin, int64_t end, uint64_t* words);

// Whether two dictionaries are one, as far as is to be seen without a look at their values.
bool same_dictionary(const Array& a, const Array& b);

// Rows [offset, offset + length) of child `i` of a structure or a sparse union.
Piece field_of(const Piece& piece, std::size_t i);

}  // namespace gs::table
