// selection.cpp: converts maps and masks into picks.
#include "table/selection.h"

#include <atomic>
#include <mutex>

#include "table/bits.h"
#include "table/mask.h"

namespace gs::table {
namespace {

int64_t count_of(const std::vector<MapPart>& map) {
  int64_t count = 0;
  for (const MapPart& part : map) count = checked_add(count, part.count);
  return count;
}

ChunkLengths both(const ChunkLengths& first, const ChunkLengths& second) {
  ChunkLengths lengths = first;
  lengths.insert(lengths.end(), second.begin(), second.end());
  return lengths;
}

int64_t sum(const ChunkLengths& lengths) {
  int64_t total = 0;
  for (const int64_t length : lengths) total += length;
  return total;
}

}  // namespace

Selection::Selection(ChunkLengths lengths) : lengths_(std::move(lengths)) {
  for (std::size_t chunk = 0; chunk < lengths_.size(); ++chunk) {
    for (int64_t first = 0; first < lengths_[chunk]; first += kMostPieceRows) {
      parts_.push_back({static_cast<int64_t>(chunk), first, total_ + first});
    }
    total_ += lengths_[chunk];
  }
  if (total_ == 0 && !lengths_.empty()) parts_.push_back({0, 0, 0});  // an empty piece, for its dictionary
}

Pieces Selection::pieces(const std::vector<const Array*>& chunks) const {
  Pieces pieces;
  for (const ChunkPart& part : parts_) {
    const Array& array = *chunks[static_cast<std::size_t>(part.chunk)];
    pieces.push_back({&array, array.offset + part.first, std::min(array.length - part.first, kMostPieceRows)});
  }
  return pieces;
}

SmallVector<const std::byte*, 2> Selection::bases(const std::vector<const std::byte*>& chunks, int64_t width) const {
  SmallVector<const std::byte*, 2> bases;
  for (const ChunkPart& part : parts_)
    bases.push_back(chunks[static_cast<std::size_t>(part.chunk)] + part.first * width);
  return bases;
}

Picks Selection::picks() const {
  return picks_;
}

void Selection::positions(const Sharing& sharing, int64_t* target) const {
  parallel_for(sharing, count_, 64, kLeastRows, [&](int64_t begin, int64_t end) {
    if (picks_.by_rows()) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t number = parts_[static_cast<int>(picks_.rows.chunk_of(i))].begin + picks_.rows.row[i];
        target[i] = picks_.exists(i) ? number : -1;
      }
      return;
    }
    for_each_run(picks_, begin, end, [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
      const int64_t first = piece == kMissing ? -1 : parts_[piece].begin + start;
      for (int64_t k = 0; k < length; ++k) target[at + k] = piece == kMissing ? -1 : first + k;
    });
  });
}

void Selection::all_missing(int64_t count) {
  count_ = count;
  missing_ = count;
  ranges_.emplace();
  ranges_->add(kMissing, 0, count);
  picks_ = ranges_->picks();
}

void Selection::make_rows(int64_t count) {
  count_ = count;
  row_ = Scratch<uint32_t>(count);
  if (parts_.size() > 1) {
    chunk_ = Scratch<uint32_t>(count);
    if (total_ <= kMostPieceRows) among_all_ = Scratch<uint32_t>(count);
  }
  picks_.count = count;
  picks_.rows = {row_.get(), chunk_.get()};
  picks_.among_all = among_all_.get();
}

Selection Selection::gather(const Sharing& sharing, const std::vector<MapPart>& map, const ChunkLengths& lengths,
                            RowBounds bounds, Negative negative) {
  Selection self(lengths);
  const int64_t count = count_of(map);
  Fault fault;
  std::mutex lock;  // protects fault
  fault.from_end = negative == Negative::from_end;
  const Extent table{self.total_, fault.from_end ? self.total_ : 0};
  if (self.total_ == 0) {
    parallel_for(sharing, count, 64, kLeastRows, [&](int64_t begin, int64_t end) {
      Fault own;
      for_each_entry(map, begin, end, table, own, [](const MapPositions&, int64_t, int64_t) {});
      const std::lock_guard guard(lock);
      fault.add(own);
    });
    // Without rows, no index has a position, so bad indices are reported under `unchecked` too.
    if (bounds != RowBounds::nullify) fault.report(0, count);
    self.all_missing(count);
    return self;
  }
  self.make_rows(count);
  if (bounds == RowBounds::nullify) self.valid_ = Scratch<uint64_t>(words_for(count));
  const PieceFinder places(self.parts_, self.total_);
  parallel_for(sharing, count, 64, kLeastRows, [&](int64_t begin, int64_t end) {
    if (bounds == RowBounds::nullify) {
      std::memset(&self.valid_[begin / 64], 0, static_cast<std::size_t>(words_for(end - begin)) * 8);
    }
    Fault own;
    for_each_entry(map, begin, end, table, own, [&](const MapPositions& group, int64_t at, int64_t n) {
      if (bounds == RowBounds::nullify) self.valid_[at / 64] |= group.inside << (at & 63);
      places.write(self.row_arrays(), group.at, n, at);
    });
    const std::lock_guard guard(lock);
    fault.add(own);
  });
  if (bounds == RowBounds::unchecked) fault.bad = 0;
  if (bounds != RowBounds::nullify) fault.report(self.total_, count);
  self.missing_ = bounds == RowBounds::nullify ? fault.nulls + fault.bad : 0;
  self.picks_.missing = self.missing_;
  if (self.missing_ > 0) self.picks_.valid = self.valid_.get();
  return self;
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

// Stores a row number for each row, as `replace` does if many rows are replaced: row numbers allow the prefetch of text
// at random addresses, which makes its copy faster than an overlay.
template <class SourceRow>
void Selection::replace_most(const Sharing& sharing, const uint64_t* replaced, int64_t count, int64_t base,
                             const SourceRow& source) {
  make_rows(count);
  const PieceFinder places(parts_, total_);
  parallel_for(sharing, count, Overlay::kBlock, kLeastRows, [&](int64_t begin, int64_t end) {
    int64_t before = before_[begin / Overlay::kBlock];
    for (int64_t at = begin; at < end; at += 64) {
      int64_t number[64];
      const int64_t n = std::min<int64_t>(end - at, 64);
      for (int64_t k = 0; k < n; ++k) {
        const bool is_new = ((replaced[at / 64] >> k) & 1) != 0;
        number[k] = is_new ? source(at + k, before) : base + at + k;
        before += is_new;
      }
      places.write(row_arrays(), number, n, at);
    }
  });
}

// Selects `count` rows. A row whose bit is set in `replaced` gets the row number source(row, number of set bits before
// it) among all rows; any other row gets the row number `base` + row. A part of the selection begins at `base`.
template <class SourceRow>
void Selection::replace(const Sharing& sharing, Scratch<uint64_t> replaced, int64_t count, int64_t base,
                        const SourceRow& source) {
  before_ = counts_before(replaced.get(), count);
  const int64_t ones = before_[count / Overlay::kBlock + 1];
  if (ones * kSparse > count) return replace_most(sharing, replaced.get(), count, base, source);
  count_ = count;
  picks_.count = count;
  replaced_ = std::move(replaced);
  row_ = Scratch<uint32_t>(ones);
  chunk_ = Scratch<uint32_t>(ones);
  const PieceFinder places(parts_, total_);
  parallel_for(sharing, count, Overlay::kBlock, kLeastRows, [&](int64_t begin, int64_t end) {
    int64_t k = before_[begin / Overlay::kBlock];
    for_each_set(replaced_.get(), begin, end, [&](int64_t row) {
      const int64_t number = source(row, k);
      places.write(row_arrays(), &number, 1, k++);
    });
  });
  overlay_ = std::make_unique<Overlay>();
  while (overlay_->first < parts_.size() && parts_[overlay_->first].begin < base) ++overlay_->first;
  overlay_->last = overlay_->first;
  for (; overlay_->last < parts_.size() && parts_[overlay_->last].begin < base + count; ++overlay_->last) {
    base_begin_.push_back(parts_[overlay_->last].begin - base);
  }
  base_begin_.push_back(count);
  overlay_->replaced = replaced_.get();
  overlay_->before = before_.get();
  overlay_->row = row_.get();
  overlay_->piece = chunk_.get();
  overlay_->begin = base_begin_.data();
  picks_.overlay = overlay_.get();
}

// The rows of the target that a map names: a bitmap, and the last entry of the map that names each row. Number is an
// integer type that holds all row and entry numbers.
template <class Number>
struct LastEntries {
  Scratch<uint64_t> bits;
  Scratch<Number> last;  // initialised only for rows whose bit is set

  LastEntries(const Sharing& sharing, const std::vector<MapPart>& map, int64_t rows)
      : bits(words_for(rows)), last(rows) {
    const int64_t count = count_of(map);
    Scratch<Number> position(count);
    Fault fault;
    std::mutex lock;  // protects fault
    parallel_for(sharing, count, 64, kLeastRows, [&](int64_t begin, int64_t end) {
      Fault own;
      for_each_entry(map, begin, end, Extent{rows, rows}, own, [&](const MapPositions& group, int64_t at, int64_t n) {
        for (int64_t k = 0; k < n; ++k) position[at + k] = static_cast<Number>(group.at[k]);
      });
      const std::lock_guard guard(lock);
      fault.add(own);
    });
    fault.report(rows, count);
    // Each work chunk covers a part of the target's rows and reads the whole map in order, so the last entry for a row
    // is the one that remains.
    const int64_t part = std::max(kLeastRows, rows / sharing.options.threads + 1);
    parallel_for(sharing, rows, 64, part, [&](int64_t begin, int64_t end) {
      std::memset(&bits[begin / 64], 0, static_cast<std::size_t>(words_for(end - begin)) * 8);
      for (int64_t i = 0; i < count; ++i) {
        const auto row = static_cast<int64_t>(position[i]);
        if (row < begin || row >= end) continue;
        last[row] = static_cast<Number>(i);
        bits[row / 64] |= uint64_t{1} << (row & 63);
      }
    });
  }
};

Selection Selection::scatter(const Sharing& sharing, const std::vector<MapPart>& map, const ChunkLengths& target,
                             const ChunkLengths& source, bool one_row) {
  const int64_t rows = sum(target);
  const int64_t count = count_of(map);
  if (!one_row && count > sum(source)) {
    throw InvalidArgument("the map has " + std::to_string(count) + " rows, the source only " +
                          std::to_string(sum(source)));
  }
  Selection self(both(target, source));
  const auto put = [&]<class Number>(Number) {
    LastEntries<Number> named(sharing, map, rows);
    if (one_row)
      return self.replace(sharing, std::move(named.bits), rows, 0, [rows](int64_t, int64_t) { return rows; });
    self.replace(sharing, std::move(named.bits), rows, 0,
                 [&](int64_t row, int64_t) { return rows + static_cast<int64_t>(named.last[row]); });
  };
  if (std::max(rows, count) <= UINT32_MAX) {
    put(uint32_t{});
  } else {
    put(int64_t{});
  }
  return self;
}

Selection Selection::mask_scatter(const Sharing& sharing, const std::vector<MaskPart>& mask, const ChunkLengths& target,
                                  const ChunkLengths& source, bool one_row) {
  const int64_t rows = sum(target);
  MaskWords mask_words(mask, rows, "the target");
  if (!one_row && mask_words.ones() > sum(source)) {
    throw InvalidArgument("the mask has " + std::to_string(mask_words.ones()) + " true rows, the source only " +
                          std::to_string(sum(source)) + " rows");
  }
  Selection self(both(target, source));
  if (one_row) {
    self.replace(sharing, mask_words.take(), rows, 0, [rows](int64_t, int64_t) { return rows; });
  } else {
    self.replace(sharing, mask_words.take(), rows, 0, [rows](int64_t, int64_t before) { return rows + before; });
  }
  return self;
}

Selection Selection::choose(const Sharing& sharing, const std::vector<MaskPart>& mask, const ChunkLengths& when_true,
                            const ChunkLengths& when_false) {
  const int64_t rows = sum(when_true);
  if (sum(when_false) != rows) {
    throw InvalidArgument("the two sides have " + std::to_string(rows) + " and " + std::to_string(sum(when_false)) +
                          " rows");
  }
  MaskWords words(mask, rows, "each side");
  Selection self(both(when_true, when_false));
  self.replace(sharing, words.take(), rows, rows, [](int64_t row, int64_t) { return row; });
  return self;
}

Selection Selection::filter(const Sharing& sharing, const std::vector<MaskPart>& mask, const ChunkLengths& lengths) {
  Selection self(lengths);
  const MaskWords words(mask, self.total_, "the table");
  const PieceFinder places(self.parts_, self.total_);
  const uint64_t* const bits = words.words();
  if (words.runs() * kLongRun > words.ones()) {
    self.make_rows(words.ones());
    const Scratch<int64_t> before = counts_before(bits, self.total_);
    parallel_for(sharing, self.total_, Overlay::kBlock, kLeastRows, [&](int64_t begin, int64_t end) {
      int64_t at = before[begin / Overlay::kBlock];
      for_each_set(bits, begin, end, [&](int64_t row) { places.write(self.row_arrays(), &row, 1, at++); });
    });
    return self;
  }
  self.ranges_.emplace();
  int64_t first = 0;
  int64_t next = 0;  // [first, next) is the run that is being collected
  for_each_set(bits, 0, self.total_, [&](int64_t row) {
    if (row != next) {
      if (next > first) places.add(first, next - first, *self.ranges_);
      first = row;
    }
    next = row + 1;
  });
  if (next > first) places.add(first, next - first, *self.ranges_);
  self.count_ = words.ones();
  self.picks_ = self.ranges_->picks();
  return self;
}

Selection Selection::of_numbers(const Sharing& sharing, const std::vector<int64_t>& numbers,
                                const ChunkLengths& lengths) {
  Selection self(lengths);
  const auto count = static_cast<int64_t>(numbers.size());
  if (self.total_ == 0) {
    self.all_missing(count);
    return self;
  }
  self.make_rows(count);
  self.valid_ = Scratch<uint64_t>(words_for(count));
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
      self.valid_[at / 64] = word;
      present += std::popcount(word);
      places.write(self.row_arrays(), row, n, at);
    }
  });
  self.missing_ = self.picks_.missing = count - present;
  if (self.missing_ > 0) self.picks_.valid = self.valid_.get();
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
