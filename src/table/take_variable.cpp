// take_variable.cpp: takes strings and lists in two passes: the new offsets, then the bytes or rows between them.
#include <atomic>

#include "arrow/bits.h"
#include "core/error.h"
#include "table/column_pages.h"
#include "table/offset_sums.h"
#include "table/spans.h"
#include "table/take.h"

namespace gs::table {
namespace {

[[noreturn]] void refuse_offsets(const Type& type) {
  throw ExchangeError("offsets of '" + type.name + "' (" + type_name(type) + ") are not in order");
}

bool is_far(const Pieces& pieces, int64_t width, int64_t near_bytes) {
  int64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.length * width;
  return bytes > near_bytes;
}

inline bool is_null(const uint64_t* valid, int64_t i) {
  return valid != nullptr && !bit_at(valid, i);
}

// Adds the child's rows of rows [begin, end) to `rows` and turns their running totals in `offsets` into offsets from
// `base` on. Returns false if offsets of the source are not in order.
template <class Offset>
bool child_ranges(const SmallVector<Ends, 2>& ends, const Picks& picks, int64_t begin, int64_t end, int64_t base,
                  std::byte* offsets, RangeList& rows) {
  int64_t at = base;
  bool good = true;
  for_each_run(picks, begin, end, [&](int32_t piece, int64_t start, int64_t row, int64_t length) {
    for (int64_t k = 0; k < length; ++k) {
      const int64_t next = base + static_cast<int64_t>(load<Offset>(offsets, row + k + 1));
      store(offsets, row + k + 1, static_cast<Offset>(next));
      if (next > at) {
        const uint64_t from = offset_at<Offset>(ends[piece], start + k);
        good = good && disorder(ends[piece], from, from + static_cast<uint64_t>(next - at)) >= 0;
        if (good) rows.add(piece, static_cast<int64_t>(from), next - at);
      }
      at = next;
    }
  });
  return good;
}

// As child_ranges, but writes the number of each row of the child into its arrays; `chunk` is null for one piece.
template <class Offset>
bool child_numbers(const SmallVector<Ends, 2>& ends, const Picks& picks, int64_t begin, int64_t end, int64_t base,
                   std::byte* offsets, uint32_t* rows, uint32_t* chunk) {
  int64_t at = base;
  bool good = true;
  for_each_run(picks, begin, end, [&](int32_t piece, int64_t start, int64_t row, int64_t length) {
    for (int64_t k = 0; k < length; ++k) {
      const int64_t next = base + static_cast<int64_t>(load<Offset>(offsets, row + k + 1));
      store(offsets, row + k + 1, static_cast<Offset>(next));
      if (next > at) {
        const uint64_t from = offset_at<Offset>(ends[piece], start + k);
        if (disorder(ends[piece], from, from + static_cast<uint64_t>(next - at)) < 0) good = false;
        for (int64_t i = at; i < next; ++i) {
          rows[i] = good ? static_cast<uint32_t>(from + static_cast<uint64_t>(i - at)) : 0;
          if (chunk != nullptr) chunk[i] = static_cast<uint32_t>(piece);
        }
      }
      at = next;
    }
  });
  return good;
}

template <class Visit>
decltype(auto) with_offset(int64_t width, Visit visit) {
  return width == 4 ? visit(int32_t{}) : visit(int64_t{});
}

// Replaces the total of each block of rows by the sum of all totals before it and returns the sum of all totals.
int64_t accumulate(const Scratch<int64_t>& totals, int64_t blocks) {
  int64_t sum = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    if (__builtin_add_overflow(sum, std::exchange(totals[b], sum), &sum)) {
      throw ShapeError("the result would have more than 2**63 values");
    }
  }
  return sum;
}

const uint64_t* words_of(const Buffer& validity) {
  return reinterpret_cast<const uint64_t*>(validity.data);
}

// The preliminary offsets of a result, which count from the beginning of their block of rows.
struct ResultOffsets {
  NewBuffer offsets;
  Scratch<int64_t> base;      // final offset at the beginning of each block of rows
  Scratch<std::byte> starts;  // source offset of each row, for rows by number: avoids a second random read
  Scratch<bool> is_whole;     // of ranges: blocks without preliminary offsets (see whole_length)
  int64_t blocks = 0;
  int64_t total = 0;

  int64_t end_of(int64_t block) const { return block + 1 < blocks ? base[block + 1] : total; }
};

ResultOffsets find_lengths(const Sharing& sharing, const Type& type, const Pieces& pieces, const Picks& picks,
                           const Buffer& validity, bool far, bool keeps_starts) {
  ResultOffsets lengths;
  lengths.offsets = allocate(bytes_of_values(checked_add(picks.count, 1), type.width));
  lengths.blocks = picks.count / kBlockRows + (picks.count % kBlockRows != 0 ? 1 : 0);
  lengths.base = Scratch<int64_t>(lengths.blocks);
  if (keeps_starts && picks.ranges == nullptr)
    lengths.starts = Scratch<std::byte>(bytes_of_values(picks.count, type.width));
  if (keeps_starts && picks.ranges != nullptr) lengths.is_whole = Scratch<bool>(lengths.blocks);
  std::atomic<bool> wrong = false;
  with_offset(type.width, [&](auto kind) {
    using Offset = decltype(kind);
    store(lengths.offsets.data, 0, Offset{0});
    const SmallVector<Ends, 2> ends = ends_of<Offset>(pieces);
    request_offsets<Offset>(sharing, pieces, ends, picks);
    parallel_for(sharing, lengths.blocks, 1, kLeastBlocks, [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        const int64_t begin = b * kBlockRows;
        const int64_t end = std::min(begin + kBlockRows, picks.count);
        const uint64_t* const valid = validity.data == nullptr ? picks.valid : words_of(validity);
        std::byte* const offsets = lengths.offsets.data;
        std::byte* const starts = lengths.starts.get();
        int64_t total = -1;
        if (lengths.is_whole.get() != nullptr) {
          const std::optional<OneRun> run = one_run(picks, begin, end);
          if (run) total = whole_length<Offset>(ends, *run, valid, begin, end);
          lengths.is_whole[b] = total >= 0;
        }
        if (total < 0 && !picks.by_rows()) total = sum_runs<Offset>(ends, picks, valid, begin, end, offsets, starts);
        if (total < 0) total = sum_lengths<Offset>(ends, picks, valid, begin, end, far, offsets, starts);
        if (total < 0) wrong = true;
        lengths.base[b] = total;
      }
    });
  });
  if (wrong) refuse_offsets(type);
  lengths.total = accumulate(lengths.base, lengths.blocks);
  if (type.width == 4 && lengths.total > offset_limit()) throw OffsetOverflow{};
  return lengths;
}

// The rows of the child of lists, by number if the lists are short, else as ranges: a range takes as much memory as six
// numbers, and rows by number are prefetched better.
class ChildRows {
 public:
  ChildRows(const Sharing& sharing, const Pieces& children, const Picks& picks, const ResultOffsets& lengths)
      : sharing_(sharing), lengths_(lengths), picks_(picks) {
    const bool are_short = lengths.total > 0 && lengths.total / kMostNumbered < picks.count;
    by_number_ = are_short && std::all_of(children.begin(), children.end(),
                                          [](const Piece& child) { return child.length <= kMostPieceRows; });
    if (!by_number_) return;
    row_ = Scratch<uint32_t>(lengths.total);
    if (children.size() > 1) chunk_ = Scratch<uint32_t>(lengths.total);
  }

  // Completes the offsets of the lists. Returns false if offsets of the source are not in order.
  template <class Offset>
  bool find(Offset, const Pieces& pieces) {
    const SmallVector<Ends, 2> ends = ends_of<Offset>(pieces);
    std::vector<RangeList> parts(by_number_ ? 0 : static_cast<std::size_t>(lengths_.blocks));
    std::atomic<bool> good = true;
    parallel_for(sharing_, lengths_.blocks, 1, kLeastBlocks, [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        const int64_t begin = b * kBlockRows;
        const int64_t end = std::min(begin + kBlockRows, picks_.count);
        std::byte* const offsets = lengths_.offsets.data;
        const bool in_order = by_number_ ? child_numbers<Offset>(ends, picks_, begin, end, lengths_.base[b], offsets,
                                                                 row_.get(), chunk_.get())
                                         : child_ranges<Offset>(ends, picks_, begin, end, lengths_.base[b], offsets,
                                                                parts[static_cast<std::size_t>(b)]);
        if (!in_order) good = false;
      }
    });
    for (RangeList& part : parts) {
      ranges_.append(std::exchange(part, {}));
      poll(sharing_);
    }
    return good;
  }

  Picks picks() {
    if (!by_number_) return ranges_.picks();
    Picks picks;
    picks.count = lengths_.total;
    picks.rows = {row_.get(), chunk_.get()};
    return picks;
  }

 private:
  const Sharing& sharing_;
  const ResultOffsets& lengths_;
  const Picks& picks_;
  bool by_number_ = false;
  Scratch<uint32_t> row_;
  Scratch<uint32_t> chunk_;
  RangeList ranges_;
};

}  // namespace

Buffer RowTaker::spans(const Type& type, const Pieces& pieces, const SmallVector<const std::byte*, 2>& sources,
                       int64_t item, const Picks& picks, Array& out) const {
  const bool far = is_far(pieces, type.width, near_bytes_);
  const ResultOffsets lengths = find_lengths(sharing_, type, pieces, picks, out.validity, far, true);
  const NewBuffer bytes = allocate(bytes_of_values(lengths.total, item));
  std::atomic<bool> wrong = false;
  with_offset(type.width, [&](auto kind) {
    using Offset = decltype(kind);
    const SmallVector<Ends, 2> ends = ends_of<Offset>(pieces);
    int64_t source_bytes = 0;
    for (const Ends& piece : ends) source_bytes += (piece.high - piece.low) * item;
    request_spans<Offset>(sharing_, ends, sources, item, picks);
    const Copier<Offset> copier(sharing_.backend.columns(), ends, sources, item, picks, words_of(out.validity),
                                lengths.starts.get(), source_bytes > near_bytes_,
                                lengths.total * item >= stream_bytes_);
    parallel_for(sharing_, lengths.blocks, 1, kLeastBlocks, [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        const int64_t begin = b * kBlockRows;
        const int64_t end = std::min(begin + kBlockRows, picks.count);
        const bool is_whole = lengths.is_whole.get() != nullptr && lengths.is_whole[b];
        if (!copier.copy(begin, end, lengths.base[b], lengths.end_of(b), is_whole, lengths.offsets.data, bytes.data)) {
          wrong = true;
        }
      }
    });
  });
  if (wrong) refuse_offsets(type);
  out.first = lengths.offsets.buffer;
  out.reach = lengths.total;
  return bytes.buffer;
}

void RowTaker::binary(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const {
  SmallVector<const std::byte*, 2> sources;
  for (const Piece& piece : pieces) sources.push_back(piece.array->second.data);
  out.second = spans(type, pieces, sources, 1, picks, out);
}

void RowTaker::list(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const {
  const Type& child_type = type.children[0];
  Pieces children;
  SmallVector<const std::byte*, 2> sources;
  bool plain = child_type.layout == Layout::fixed && child_type.dictionary == nullptr && child_type.width > 0;
  for (const Piece& piece : pieces) {
    const Array& child = piece.array->children[0];
    children.push_back({&child, child.offset, child.length});
    sources.push_back(first_item(children.back(), child_type.width));
    plain = plain && child.validity.data == nullptr;
  }
  if (plain) {  // a list of fixed-size items is copied like a string with characters of that size
    Array child;
    child.first = spans(type, pieces, sources, child_type.width, picks, out);
    child.length = load_offset(out.first.data, type.width, picks.count);
    out.children.push_back(std::move(child));
    return;
  }
  const ResultOffsets lengths =
      find_lengths(sharing_, type, pieces, picks, out.validity, is_far(pieces, type.width, near_bytes_), false);
  out.first = lengths.offsets.buffer;
  out.reach = lengths.total;
  ChildRows rows(sharing_, children, picks, lengths);
  with_offset(type.width, [&](auto kind) {
    if (!rows.find(kind, pieces)) refuse_offsets(type);
  });
  out.children.push_back(take(child_type, children, rows.picks()));
}

void RowTaker::list_view(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const {
  const NewBuffer offsets = allocate(bytes_of_values(picks.count, type.width));
  const NewBuffer sizes = allocate(bytes_of_values(picks.count, type.width));
  Pieces children;
  for (const Piece& piece : pieces) {
    const Array& child = piece.array->children[0];
    children.push_back({&child, child.offset, child.length});
  }
  RangeList rows;
  with_offset(type.width, [&](auto kind) {
    using Offset = decltype(kind);
    walk(picks, [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
      for (int64_t i = at; i < at + length; ++i) {
        int64_t size = 0;
        const int64_t begin = rows.count();
        if (piece != kMissing && !is_null(words_of(out.validity), i)) {
          const Array& array = *pieces[piece].array;
          const int64_t row = pieces[piece].offset + start + (i - at);
          const int64_t from = load<Offset>(array.first.data, row);
          size = load<Offset>(array.second.data, row);
          if (from < 0 || size < 0 || from > array.children[0].length - size) refuse_offsets(type);
          rows.add(piece, from, size);
        }
        if (type.width == 4 && rows.count() > offset_limit()) throw OffsetOverflow{};
        store(offsets.data, i, static_cast<Offset>(begin));
        store(sizes.data, i, static_cast<Offset>(size));
      }
    });
  });
  out.first = offsets.buffer;
  out.second = sizes.buffer;
  out.children.push_back(take(type.children[0], children, rows.picks()));
}

}  // namespace gs::table
