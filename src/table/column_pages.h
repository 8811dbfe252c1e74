// column_pages.h: asks for the pages of mapped files that the rows of a column lie in, before the rows are copied.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "host/file_mapping.h"
#include "host/page_list.h"
#include "table/picks.h"
#include "table/sharing.h"
#include "table/spans.h"

namespace gs::table {

// Bytes of memory.
struct Bytes {
  const std::byte* first = nullptr;
  int64_t count = 0;
};

// The pieces of a column that lie in mapped files.
class ColumnPages {
 public:
  // `memory`: the bytes of each piece. Throws FileError if a file has been truncated.
  explicit ColumnPages(const SmallVector<Bytes, 2>& memory);

  // Asks for the pages of locate(piece, start, length), the bytes of a run of rows, for all runs of `picks`. Asks for
  // nothing if the pages are in memory, or take more memory than they may.
  template <class Locate>
  void request(const Sharing& sharing, const Picks& picks, const Locate& locate) {
    if (!may_be_cold_ || picks.count == 0 || !has_cold_rows(picks, locate)) return;
    make_lists();
    const int64_t grain = picks.overlay != nullptr ? Overlay::kBlock : 64;
    parallel_for(sharing, picks.count, grain, kLeastRows, [&](int64_t begin, int64_t end) {
      for_each_run(picks, begin, end, [&](int32_t piece, int64_t start, int64_t, int64_t length) {
        if (piece == kMissing || file_of_[piece] < 0) return;
        const Bytes bytes = locate(piece, start, length);
        files_[static_cast<std::size_t>(file_of_[piece])].pages->add(bytes.first, bytes.count);
      });
    });
    request_lists(sharing);
  }

 private:
  // A mapping with the pieces in it.
  struct File {
    host::MemoryMapping mapping;
    const std::byte* low;
    const std::byte* high;
    std::unique_ptr<host::PageList> pages;
  };

  template <class Locate>
  bool has_cold_rows(const Picks& picks, const Locate& locate) {
    std::vector<std::vector<const std::byte*>> addresses(files_.size());
    const int64_t samples = std::min<int64_t>(host::kSampledPages, picks.count);
    for (int64_t i = 0; i < samples; ++i) {
      const int64_t block = picks.overlay != nullptr ? Overlay::kBlock : 1;
      const int64_t row = picks.count / samples * i / block * block;
      int taken = 0;
      for_each_run(picks, row, std::min(row + block, picks.count), [&](int32_t piece, int64_t start, int64_t, int64_t) {
        if (piece == kMissing || file_of_[piece] < 0 || taken++ > 0) return;
        const Bytes bytes = locate(piece, start, 1);
        if (bytes.count > 0) addresses[static_cast<std::size_t>(file_of_[piece])].push_back(bytes.first);
      });
    }
    return drop_resident(addresses);
  }
  // Forgets the files whose samples are in memory; returns whether others remain.
  bool drop_resident(const std::vector<std::vector<const std::byte*>>& addresses);
  void make_lists();
  void request_lists(const Sharing& sharing) const;

  std::vector<File> files_;
  bool may_be_cold_ = false;
  SmallVector<int, 2> file_of_;  // of each piece; -1: memory without a file, or pages that are in memory
};

// These three throw FileError if a file has been truncated.

// Asks for the pages of the items of `width` bytes of all rows; `base` is the address of row 0 of each piece.
void request_items(const Sharing& sharing, const Pieces& pieces, const SmallVector<const std::byte*, 2>& base,
                   int64_t width, const Picks& picks);

// Those of the offsets of all rows.
template <class Offset>
void request_offsets(const Sharing& sharing, const Pieces& pieces, const SmallVector<Ends, 2>& ends,
                     const Picks& picks) {
  constexpr int64_t kWidth = sizeof(Offset);
  SmallVector<Bytes, 2> memory;
  for (int p = 0; p < pieces.size(); ++p) memory.push_back({ends[p].data, (pieces[p].length + 1) * kWidth});
  ColumnPages pages(memory);
  pages.request(sharing, picks, [&](int32_t piece, int64_t start, int64_t length) {
    return Bytes{ends[piece].data + start * kWidth, (length + 1) * kWidth};
  });
}

// Those of the items between the offsets of all rows. Offsets that are out of order are found later.
template <class Offset>
void request_spans(const Sharing& sharing, const SmallVector<Ends, 2>& ends,
                   const SmallVector<const std::byte*, 2>& sources, int64_t item, const Picks& picks) {
  SmallVector<Bytes, 2> memory;
  for (int p = 0; p < ends.size(); ++p) {
    memory.push_back({sources[p] + ends[p].low * item, (ends[p].high - ends[p].low) * item});
  }
  ColumnPages pages(memory);
  pages.request(sharing, picks, [&](int32_t piece, int64_t start, int64_t length) {
    const uint64_t from = offset_at<Offset>(ends[piece], start);
    const uint64_t to = offset_at<Offset>(ends[piece], start + length);
    if (disorder(ends[piece], from, to) < 0) return Bytes{};
    return Bytes{sources[piece] + static_cast<int64_t>(from) * item, static_cast<int64_t>(to - from) * item};
  });
}

}  // namespace gs::table
