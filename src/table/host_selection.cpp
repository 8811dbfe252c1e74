// host_selection.cpp: implements host_selection.h.
#include "table/host_selection.h"

#include <atomic>
#include <mutex>

#include "arrow/bits.h"
#include "table/map_reader.h"
#include "table/row_errors.h"

namespace gs::table {

HostSelection::HostSelection(ChunkLengths lengths) : lengths_(std::move(lengths)) {
  for (std::size_t chunk = 0; chunk < lengths_.size(); ++chunk) {
    for (int64_t first = 0; first < lengths_[chunk]; first += kMostPieceRows) {
      parts_.push_back({static_cast<int64_t>(chunk), first, total_ + first});
    }
    total_ += lengths_[chunk];
  }
  if (total_ == 0 && !lengths_.empty()) parts_.push_back({0, 0, 0});  // an empty piece, for its dictionary
}

Pieces HostSelection::pieces(const std::vector<const Array*>& chunks) const {
  Pieces pieces;
  for (const ChunkPart& part : parts_) {
    const Array& array = *chunks[static_cast<std::size_t>(part.chunk)];
    pieces.push_back({&array, array.offset + part.first, std::min(array.length - part.first, kMostPieceRows)});
  }
  return pieces;
}

SmallVector<const std::byte*, 2> HostSelection::bases(const std::vector<const std::byte*>& chunks,
                                                      int64_t width) const {
  SmallVector<const std::byte*, 2> bases;
  for (const ChunkPart& part : parts_)
    bases.push_back(chunks[static_cast<std::size_t>(part.chunk)] + part.first * width);
  return bases;
}

Picks HostSelection::view() const {
  if (const auto* const ranges = std::get_if<RangeList>(&selected_)) return ranges->view();
  Picks picks;
  picks.count = count_;
  if (const auto* const rows = std::get_if<NumberedRows>(&selected_)) {
    picks.missing = rows->missing;
    picks.rows = {rows->row.get(), rows->chunk.get()};
    picks.among_all = rows->among_all.get();
    picks.valid = rows->valid.get();
  } else {
    picks.overlay = &std::get<ReplacedRows>(selected_).overlay;
  }
  return picks;
}

bool HostSelection::prefers_joined() const {
  const auto* const rows = std::get_if<NumberedRows>(&selected_);
  return rows != nullptr && rows->by_piece != nullptr;
}

Picks HostSelection::joined_picks() const {
  Picks picks = view();
  picks.rows = {picks.among_all, nullptr};
  picks.among_all = nullptr;
  return picks;
}

// Several threads may use one selection. The rows are found without the lock, because another thread may hold the
// interpreter lock that a poll for signals needs; the first ones that are finished stay as long as the selection.
Picks HostSelection::picks(const Sharing& sharing) const {
  Picks picks = view();
  if (!prefers_joined()) return picks;
  RowsByPiece& by_piece = *std::get<NumberedRows>(selected_).by_piece;
  const auto found = [&] {
    const std::lock_guard guard(by_piece.lock);
    picks.rows = {by_piece.row.get(), by_piece.chunk.get()};
    return picks.rows.row != nullptr;
  };
  if (found()) return picks;
  Scratch<uint32_t> row(count_);
  Scratch<uint32_t> chunk(count_);
  const PieceFinder places(parts_, total_);
  parallel_for(sharing, count_, 64, kLeastRows, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += 64) {
      int64_t number[64];
      const int64_t n = std::min<int64_t>(end - at, 64);
      for (int64_t k = 0; k < n; ++k) number[k] = picks.among_all[at + k];
      places.write({row.get(), chunk.get(), nullptr}, number, n, at);
    }
  });
  {
    const std::lock_guard guard(by_piece.lock);
    if (by_piece.row.get() == nullptr) {
      by_piece.row = std::move(row);
      by_piece.chunk = std::move(chunk);
    }
  }
  found();
  return picks;
}

void HostSelection::positions(const Sharing& sharing, int64_t* target) const {
  const Picks picks = this->picks(sharing);
  parallel_for(sharing, count_, 64, kLeastRows, [&](int64_t begin, int64_t end) {
    if (picks.by_rows()) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t number = parts_[static_cast<int>(picks.rows.chunk_of(i))].begin + picks.rows.row[i];
        target[i] = picks.exists(i) ? number : -1;
      }
      return;
    }
    for_each_run(picks, begin, end, [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
      const int64_t first = piece == kMissing ? -1 : parts_[piece].begin + start;
      for (int64_t k = 0; k < length; ++k) target[at + k] = piece == kMissing ? -1 : first + k;
    });
  });
}

void HostSelection::replaced(const Sharing& sharing, int64_t size, std::vector<int64_t>& to,
                             std::vector<int64_t>& from) const {
  const auto add = [&](int64_t at, int64_t number) {
    if (number < size) return;
    to.push_back(at);
    from.push_back(number - size);
  };
  const Picks picks = this->picks(sharing);
  if (picks.overlay != nullptr &&
      (picks.overlay->last == parts_.size() ? total_ : parts_[picks.overlay->last].begin) <= size) {
    // No row of the base counts.
    int64_t k = 0;
    for_each_set(picks.overlay->replaced, 0, count_, [&](int64_t at) {
      add(at, parts_[picks.overlay->piece_of(k)].begin + picks.overlay->row_of(k));
      ++k;
    });
    return;
  }
  for_each_run(picks, 0, count_, [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
    if (piece == kMissing) return;
    for (int64_t k = 0; k < length; ++k) add(at + k, parts_[piece].begin + start + k);
  });
}

void HostSelection::all_missing(int64_t count) {
  count_ = count;
  auto& ranges = selected_.emplace<RangeList>();
  ranges.add(kMissing, 0, count);
  ranges.finish();
}

NumberedRows& HostSelection::make_rows(int64_t count, bool joined) {
  count_ = count;
  auto& rows = selected_.emplace<NumberedRows>();
  if (parts_.size() > 1 && total_ <= kMostPieceRows) rows.among_all = Scratch<uint32_t>(count);
  if (joined && rows.among_all.get() != nullptr && total_ / kMostJoinedRows <= count) {
    rows.by_piece = std::make_unique<RowsByPiece>();
  } else {
    rows.row = Scratch<uint32_t>(count);
    if (parts_.size() > 1) rows.chunk = Scratch<uint32_t>(count);
  }
  return rows;
}

HostSelection::HostSelection(const Sharing& sharing, const RowRequest& request, const RowMap& map)
    : HostSelection(request.lengths()) {
  request.check(map);
  switch (request.kind) {
    case SelectionKind::gather: gather(sharing, request, map); break;
    case SelectionKind::scatter: scatter(sharing, request, map); break;
    case SelectionKind::mask_scatter: mask_scatter(sharing, request, map); break;
    case SelectionKind::filter: filter(sharing, request, map); break;
    case SelectionKind::choose: choose(sharing, request, map); break;
  }
}

void HostSelection::gather(const Sharing& sharing, const RowRequest& request, const RowMap& map) {
  const bool nullifies = request.rule.fills();
  const int64_t count = map.count();
  MapFault fault;
  std::mutex lock;  // protects fault
  fault.from_end = request.rule.negative == Negative::from_end;
  const Extent table{total_, request.rule.negative};
  if (total_ == 0) {
    parallel_for(sharing, count, 64, kLeastRows, [&](int64_t begin, int64_t end) {
      MapFault own;
      for_each_entry(map.map, begin, end, table, own, [](const MapPositions&, int64_t, int64_t) {});
      const std::lock_guard guard(lock);
      fault.add(own);
    });
    // Without rows, no index has a position, so bad indices are reported under `unchecked` too.
    if (!nullifies) fault.report(0, count);
    return all_missing(count);
  }
  NumberedRows& rows = make_rows(count, true);
  Scratch<uint64_t> valid;
  if (nullifies) valid = Scratch<uint64_t>(words_for(count));
  const PieceFinder places(parts_, total_);
  parallel_for(sharing, count, 64, kLeastRows, [&](int64_t begin, int64_t end) {
    if (nullifies) std::memset(&valid[begin / 64], 0, static_cast<std::size_t>(words_for(end - begin)) * 8);
    MapFault own;
    for_each_entry(map.map, begin, end, table, own, [&](const MapPositions& group, int64_t at, int64_t n) {
      if (nullifies) valid[at / 64] |= group.inside << (at & 63);
      places.write(rows.arrays(), group.at, n, at);
    });
    const std::lock_guard guard(lock);
    fault.add(own);
  });
  if (request.rule.bounds == Bounds::unchecked) fault.bad = 0;
  if (!nullifies) fault.report(total_, count);
  rows.missing = nullifies ? fault.nulls + fault.bad : 0;
  if (rows.missing > 0) rows.valid = std::move(valid);
}

namespace {

// The number of set bits before each block of Overlay::kBlock rows; the last entry is the number of all set bits.
Scratch<int64_t> counts_before(const uint64_t* words, int64_t count) {
  constexpr int64_t kWords = Overlay::kBlock / 64;
  const int64_t blocks = count / Overlay::kBlock + 1;
  Scratch<int64_t> before(blocks + 1);
  int64_t ones = 0;
  for (int64_t b = 0; b < blocks; ++b) {
    before[b] = ones;
    for (int64_t w = b * kWords; w < std::min((b + 1) * kWords, words_for(count)); ++w) ones += std::popcount(words[w]);
  }
  before[blocks] = ones;
  return before;
}

}  // namespace

// Selects `count` rows. A row whose bit is set in `replaced` gets the row number source(row, number of set bits before
// it) among all rows; any other row gets the row number `base` + row. A part of the selection begins at `base`. If
// `same_row`, source gives the first row of its part for every row.
template <class SourceRow>
void HostSelection::replace(const Sharing& sharing, Scratch<uint64_t> replaced, int64_t count, int64_t base,
                            const SourceRow& source, bool same_row) {
  count_ = count;
  auto& rows = selected_.emplace<ReplacedRows>();
  rows.bits = std::move(replaced);
  rows.before = counts_before(rows.bits.get(), count);
  const int64_t ones = rows.before[count / Overlay::kBlock + 1];
  Overlay& overlay = rows.overlay;
  while (overlay.first < parts_.size() && parts_[overlay.first].begin < base) ++overlay.first;
  overlay.last = overlay.first;
  for (; overlay.last < parts_.size() && parts_[overlay.last].begin < base + count; ++overlay.last) {
    rows.begin.push_back(parts_[overlay.last].begin - base);
  }
  rows.begin.push_back(count);
  const bool has_one_source = parts_.size() - (overlay.last - overlay.first) <= 1;
  overlay.source = overlay.first > 0 || overlay.last == parts_.size() ? 0 : overlay.last;
  rows.place = Scratch<uint16_t>(ones);
  if (!same_row) rows.row = Scratch<uint32_t>(ones);
  if (!same_row && !has_one_source) rows.piece = Scratch<uint32_t>(ones);
  const int64_t first = has_one_source && ones > 0 ? parts_[overlay.source].begin : 0;
  const PieceFinder places(parts_, total_);
  parallel_for(sharing, count, Overlay::kBlock, kLeastRows, [&](int64_t begin, int64_t end) {
    int64_t k = rows.before[begin / Overlay::kBlock];
    for_each_set(rows.bits.get(), begin, end, [&](int64_t row) {
      rows.place[k] = static_cast<uint16_t>(row % Overlay::kBlock);
      if (same_row) {
        ++k;
        return;
      }
      const int64_t number = source(row, k);
      if (has_one_source) {
        rows.row[k++] = static_cast<uint32_t>(number - first);
      } else {
        places.write({rows.row.get(), rows.piece.get(), nullptr}, &number, 1, k++);
      }
    });
  });
  overlay.replaced = rows.bits.get();
  overlay.before = rows.before.get();
  overlay.place = rows.place.get();
  overlay.row = rows.row.get();
  overlay.piece = rows.piece.get();
  overlay.begin = rows.begin.data();
}

// Stores ranges for a mask of long runs, whose true rows are replaced: the source rows of a run are neighbours.
template <class SourceRow>
void HostSelection::replace_runs(const MaskWords& mask, int64_t count, int64_t base, const SourceRow& source) {
  const PieceFinder places(parts_, total_);
  auto& ranges = selected_.emplace<RangeList>();
  int64_t next = 0;
  int64_t before = 0;
  for_each_run_of_bits(mask.words(), count, [&](int64_t first, int64_t end) {
    places.add(base + next, first - next, ranges);
    places.add(source(first, before), end - first, ranges);
    before += end - first;
    next = end;
  });
  places.add(base + next, count - next, ranges);
  ranges.finish();
  count_ = count;
}

// The rows of the target that a map names: a bitmap, and the last entry of the map that names each row. Number is an
// integer type that holds all row and entry numbers.
template <class Number>
struct LastEntries {
  Scratch<uint64_t> bits;
  Scratch<Number> last;  // initialised only for rows whose bit is set

  LastEntries(const Sharing& sharing, const RowRequest& request, const RowMap& map, int64_t rows)
      : bits(words_for(rows)), last(rows) {
    constexpr auto kNoRow = static_cast<Number>(-1);  // of an entry that is dropped
    const bool drops = request.rule.fills();
    const int64_t count = map.count();
    Scratch<Number> position(count);
    MapFault fault;
    std::mutex lock;  // protects fault
    fault.from_end = request.rule.negative == Negative::from_end;
    const Extent table{rows, request.rule.negative};
    parallel_for(sharing, count, 64, kLeastRows, [&](int64_t begin, int64_t end) {
      MapFault own;
      for_each_entry(map.map, begin, end, table, own, [&](const MapPositions& group, int64_t at, int64_t n) {
        for (int64_t k = 0; k < n; ++k) position[at + k] = static_cast<Number>(group.at[k]);
        for (uint64_t rest = low_bits(n) & ~group.inside; rest != 0; rest &= rest - 1) {
          position[at + std::countr_zero(rest)] = kNoRow;
        }
      });
      const std::lock_guard guard(lock);
      fault.add(own);
    });
    if (!drops) fault.report(rows, count);
    // Each work chunk covers a part of the target's rows and reads the whole map in order, so the last entry for a row
    // is the one that remains.
    const int64_t part = std::max(kLeastRows, rows / sharing.options.threads + 1);
    parallel_for(sharing, rows, 64, part, [&](int64_t begin, int64_t end) {
      std::memset(&bits[begin / 64], 0, static_cast<std::size_t>(words_for(end - begin)) * 8);
      // Rows of other parts go to a place behind the array: at random, a branch would mostly be mispredicted.
      Number nowhere{};
      uint64_t no_bits = 0;
      for (int64_t i = 0; i < count; ++i) {
        const auto row = static_cast<int64_t>(position[i]);
        const bool is_own = row >= begin && row < end;
        *(is_own ? &last[row] : &nowhere) = static_cast<Number>(i);
        *(is_own ? &bits[row / 64] : &no_bits) |= uint64_t{1} << (row & 63);
      }
    });
  }
};

void HostSelection::scatter(const Sharing& sharing, const RowRequest& request, const RowMap& map) {
  const int64_t rows = row_count(request.first);
  const auto put = [&]<class Number>(Number) {
    LastEntries<Number> named(sharing, request, map, rows);
    replace(
        sharing, std::move(named.bits), rows, 0,
        [&](int64_t row, int64_t) { return rows + static_cast<int64_t>(named.last[row]); }, request.one_row);
  };
  if (std::max(rows, map.count()) <= UINT32_MAX) {
    put(uint32_t{});
  } else {
    put(int64_t{});
  }
}

void HostSelection::mask_scatter(const Sharing& sharing, const RowRequest& request, const RowMap& map) {
  const int64_t rows = row_count(request.first);
  MaskWords mask(sharing, map, request.named);
  request.check_true_rows(mask.ones());
  const auto next_row = [rows](int64_t, int64_t before) { return rows + before; };
  if (request.one_row ? mask.ones() == 0 : mask.has_long_runs()) return replace_runs(mask, rows, 0, next_row);
  replace(sharing, mask.take(), rows, 0, next_row, request.one_row);
}

void HostSelection::choose(const Sharing& sharing, const RowRequest& request, const RowMap& map) {
  const int64_t rows = row_count(request.first);
  const auto same_row = [](int64_t row, int64_t) { return row; };
  MaskWords mask(sharing, map, request.named);
  if (mask.has_long_runs()) return replace_runs(mask, rows, rows, same_row);
  replace(sharing, mask.take(), rows, rows, same_row, false);
}

void HostSelection::filter(const Sharing& sharing, const RowRequest& request, const RowMap& map) {
  const MaskWords mask(sharing, map, request.named);
  const PieceFinder places(parts_, total_);
  if (!mask.has_long_runs()) {
    const NumberedRows& rows = make_rows(mask.ones());
    const Scratch<int64_t> before = counts_before(mask.words(), total_);
    parallel_for(sharing, total_, Overlay::kBlock, kLeastRows, [&](int64_t begin, int64_t end) {
      int64_t at = before[begin / Overlay::kBlock];
      for_each_set(mask.words(), begin, end, [&](int64_t row) { places.write(rows.arrays(), &row, 1, at++); });
    });
    return;
  }
  auto& ranges = selected_.emplace<RangeList>();
  for_each_run_of_bits(mask.words(), total_,
                       [&](int64_t first, int64_t end) { places.add(first, end - first, ranges); });
  ranges.finish();
  count_ = mask.ones();
}

HostSelection HostSelection::of_numbers(const Sharing& sharing, const std::vector<int64_t>& numbers,
                                        const ChunkLengths& lengths) {
  HostSelection self(lengths);
  const auto count = static_cast<int64_t>(numbers.size());
  if (self.total_ == 0) {
    self.all_missing(count);
    return self;
  }
  NumberedRows& rows = self.make_rows(count);
  Scratch<uint64_t> valid(words_for(count));
  const PieceFinder places(self.parts_, self.total_);
  std::atomic<int64_t> present = 0;
  parallel_for(sharing, count, 64, kLeastRows, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += 64) {
      const int64_t n = std::min<int64_t>(end - at, 64);
      int64_t row[64];
      uint64_t word = 0;
      for (int64_t k = 0; k < n; ++k) {
        const int64_t number = numbers[static_cast<std::size_t>(at + k)];
        row[k] = number < 0 ? 0 : number;
        word |= uint64_t{number >= 0} << k;
      }
      valid[at / 64] = word;
      present += std::popcount(word);
      places.write(rows.arrays(), row, n, at);
    }
  });
  rows.missing = count - present;
  if (rows.missing > 0) rows.valid = std::move(valid);
  return self;
}

PickSlice::PickSlice(const Picks& picks, int64_t begin, int64_t length) {
  if (!picks.by_rows()) {
    for_each_run(picks, begin, begin + length,
                 [&](int32_t piece, int64_t start, int64_t, int64_t n) { ranges_.add(piece, start, n); });
    picks_ = ranges_.picks();
    return;
  }
  picks_.count = length;
  picks_.rows.row = picks.rows.row + begin;
  picks_.rows.chunk = picks.rows.chunk == nullptr ? nullptr : picks.rows.chunk + begin;
  picks_.among_all = picks.among_all == nullptr ? nullptr : picks.among_all + begin;
  if (picks.valid == nullptr) return;
  valid_ = Scratch<uint64_t>(words_for(length));
  int64_t ones = 0;
  for (int64_t w = 0; w < words_for(length); ++w) {
    const int64_t n = std::min<int64_t>(64, length - w * 64);
    valid_[w] = read_bits(reinterpret_cast<const std::byte*>(picks.valid), begin + w * 64, n);
    ones += std::popcount(valid_[w]);
  }
  picks_.missing = length - ones;
  picks_.valid = valid_.get();
}

}  // namespace gs::table
