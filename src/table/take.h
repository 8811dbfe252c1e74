// take.h: takes rows of arrays of every type from any number of pieces, the operation under all table operators.
// A scatter is such an operation too: it takes each row of its result from the target or from the source.
#pragma once

#include "table/memory.h"
#include "table/picks.h"
#include "table/row_errors.h"
#include "table/sharing.h"

namespace gs::table {

// The largest 32-bit offset of a result: INT32_MAX, except in tests that set a smaller limit.
int64_t offset_limit();
int64_t set_offset_limit(int64_t limit);  // returns the previous limit

// The bytes of `count` rows with the mean length of the rows of the longest of these arrays. Nulls, and the characters
// that views refer to, do not count.
int64_t expected_bytes(const Type& type, const std::vector<const Array*>& arrays, int64_t count);

class RowTaker {
 public:
  // `result_bytes`: of the whole result, of which each array that is taken is a part. kOneColumn: a column of a table
  // whose other columns are not known here.
  static constexpr int64_t kOneColumn = INT64_MAX;
  RowTaker(const Sharing& sharing, int64_t result_bytes);

  // Returns the rows of `pieces`, all of this type, that `picks` selects. Missing rows become null if the type is
  // nullable; their values are unspecified but initialised. Throws ExchangeError for offsets, keys and type ids that
  // are out of bounds.
  Array take(const Type& type, const Pieces& pieces, const Picks& picks) const;

  // Returns items of `width` bytes; `base` is the address of row 0 of each piece. Items of missing rows are
  // unspecified.
  Buffer items(const SmallVector<const std::byte*, 2>& base, const Pieces& pieces, int64_t width,
               const Picks& picks) const;
  // Returns items like `items` does, but the items of missing rows are zero bytes.
  Buffer items_or_zeros(const SmallVector<const std::byte*, 2>& base, const Pieces& pieces, int64_t width,
                        const Picks& picks) const;

 private:
  void validity(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const;
  Buffer bits(const SmallVector<BitSource, 2>& sources, const Pieces& pieces, const Picks& picks, const uint64_t* mask,
              int64_t& ones) const;
  Buffer fixed(const Pieces& pieces, int64_t width, const Picks& picks) const;
  void bools(const Pieces& pieces, const Picks& picks, Array& out) const;
  void binary(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const;
  // Returns the bytes between the offsets of the rows and sets the offsets of `out`; an offset counts `item` bytes.
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

  // Visits the runs of all rows on the calling thread.
  template <class Visit>
  void walk(const Picks& picks, const Visit& visit) const {
    for (int64_t begin = 0; begin < picks.count; begin += kRowsPerPoll) {
      for_each_run(picks, begin, std::min(begin + kRowsPerPoll, picks.count), visit);
      poll(sharing_);
    }
  }

  const Sharing sharing_;
  const int64_t near_bytes_;    // larger sources are far and are prefetched
  const int64_t stream_bytes_;  // arrays of at least so many bytes are written past the caches
};

// Write the rows [begin, end) of an overlay; `begin` is a multiple of Overlay::kBlock, and `end` is one or the number
// of rows. overlay_items copies items from the address of row 0 of each piece; `stream`: past the caches. overlay_bits
// copies bits and returns the number of set bits.
void overlay_items(const ColumnKernels& kernels, const Overlay& overlay, const SmallVector<const std::byte*, 2>& base,
                   int64_t width, int64_t begin, int64_t end, bool stream, std::byte* target);
int64_t overlay_bits(const ColumnKernels& kernels, const Overlay& overlay, const SmallVector<BitSource, 2>& sources,
                     int64_t begin, int64_t end, uint64_t* words);

// The address of the first item of a piece, whose items have `width` bytes; null where an array without rows has an
// offset and no memory.
inline const std::byte* first_item(const Piece& piece, int64_t width) {
  const std::byte* const items = piece.array->first.data;
  return items == nullptr ? nullptr : items + piece.offset * width;
}

// A view holds a size, and the bytes themselves up to kInlineBytes; else their first four, a data buffer and an offset.
inline constexpr int64_t kViewBytes = 16;
inline constexpr int64_t kInlineBytes = 12;

// Whether a long view of `size` bytes lies inside of a data buffer of an array.
bool lies_inside(const Array& array, int64_t size, int64_t buffer, int64_t offset);

// The rows of a piece in child `i` of a structure or a sparse union.
Piece field_of(const Piece& piece, std::size_t i);

}  // namespace gs::table
