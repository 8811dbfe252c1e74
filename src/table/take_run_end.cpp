// take_run_end.cpp: takes rows of run-end encoded arrays. Neighbouring rows of one run of the source stay one run.
#include <atomic>

#include "arrow/bits.h"
#include "core/error.h"
#include "table/decoded_runs.h"
#include "table/run_finder.h"
#include "table/take.h"

namespace gs::table {
namespace {

[[noreturn]] void refuse(const Type& type) {
  throw ExchangeError("'" + type.name + "' (" + type_name(type) +
                      "): the run ends are not in ascending order, or do not reach the last row");
}

int64_t most_rows(int64_t width) {
  return width == 2 ? INT16_MAX : width == 4 ? offset_limit() : INT64_MAX;
}

template <class Visit>
decltype(auto) with_run_end(int64_t width, Visit visit) {
  return width == 2 ? visit(int16_t{}) : width == 4 ? visit(int32_t{}) : visit(int64_t{});
}

bool has_numbered_values(const Pieces& pieces) {
  return std::all_of(pieces.begin(), pieces.end(),
                     [](const Piece& piece) { return piece.array->children[1].length <= kMostPieceRows; });
}

Pieces values_of(const Pieces& pieces) {
  Pieces values;
  for (const Piece& piece : pieces) {
    const Array& child = piece.array->children[1];
    values.push_back({&child, child.offset, child.length});
  }
  return values;
}

Array array_of(const NewBuffer& data, int64_t length) {
  Array array;
  array.length = length;
  array.first = data.buffer;
  return array;
}

template <class End>
std::vector<RunFinder<End>> finders_of(const Sharing& sharing, const Pieces& pieces, int64_t queries) {
  int64_t runs = 0;
  for (const Piece& piece : pieces) runs += piece.array->children[0].length;
  std::vector<RunFinder<End>> finders;
  finders.reserve(static_cast<std::size_t>(pieces.size()));
  for (const Piece& piece : pieces) finders.emplace_back(sharing, piece, runs / kRunsPerSearch <= queries);
  return finders;
}

// ---- rows by number

// Whether the run of every row of the pieces is written down, which takes as much memory as `queries` searches allow.
bool is_worth_decoding(const Pieces& pieces, int64_t queries) {
  int64_t rows = 0;
  for (const Piece& piece : pieces) rows += piece.length;
  return rows / kMostDecodedRows <= queries;
}

// The run of each row of a result, and whether the row is the first one of its run in the result.
class RunNumbers {
 public:
  template <class End>
  RunNumbers(End, const Sharing& sharing, const Type& type, const Pieces& pieces, const Picks& picks)
      : sharing_(sharing), picks_(picks), run_(picks.count) {
    if (is_worth_decoding(pieces, picks.count) && gather(End{}, pieces)) return;
    if (!search(End{}, pieces)) refuse(type);
  }

  uint32_t operator[](int64_t i) const { return run_[i]; }
  const uint32_t* get() const { return run_.get(); }

  // A bit for each of the n (at most 64) rows from `at` on, set if the row is the first one of its run.
  uint64_t first_rows(int64_t at, int64_t n) const {
    if (n == 64 && at > 0 && picks_.rows.chunk == nullptr && picks_.valid == nullptr) {
      std::byte differs[64];
      const uint32_t* const run = run_.get() + at;
      for (int64_t k = 0; k < 64; ++k) differs[k] = std::byte{run[k] != run[k - 1]};
      return bits_of_bytes(differs, 1, 64);
    }
    uint64_t word = 0;
    for (int64_t k = 0; k < n; ++k) word |= uint64_t{is_first(at + k)} << k;
    return word;
  }

  // Calls visit(begin, end, block) for each block of rows of the result.
  template <class Visit>
  void for_each_block(const Visit& visit) const {
    parallel_for(sharing_, blocks(), 1, kLeastBlocks, [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) visit(b * kBlockRows, std::min((b + 1) * kBlockRows, picks_.count), b);
    });
  }
  int64_t blocks() const { return (picks_.count + kBlockRows - 1) / kBlockRows; }

 private:
  // Gathers the runs of the rows from columns of the runs of all rows. Returns false if a piece has no such column.
  template <class End>
  bool gather(End, const Pieces& pieces) const {
    SmallVector<const std::byte*, 2> base;
    std::vector<Scratch<uint32_t>> decoded;
    int64_t rows = 0;
    for (const Piece& piece : pieces) {
      decoded.push_back(decode_runs<End>(sharing_, piece));
      if (decoded.back().get() == nullptr) return false;
      base.push_back(reinterpret_cast<const std::byte*>(decoded.back().get()));
      rows += piece.length;
    }
    constexpr int64_t kWidth = sizeof(uint32_t);
    const CopyHints hints{rows * kWidth > sharing_.backend.table_tuning().far_column_bytes, false};
    parallel_for(sharing_, picks_.count, 64, kLeastRows, [&](int64_t begin, int64_t end) {
      sharing_.backend.columns().items(base.data(), kWidth, picks_.rows, begin, end, hints,
                                       reinterpret_cast<std::byte*>(run_.get()));
    });
    return true;
  }

  // Searches the run of each row. Returns false if the run ends are not in ascending order, or do not reach a row.
  template <class End>
  bool search(End, const Pieces& pieces) const {
    const std::vector<RunFinder<End>> finders = finders_of<End>(sharing_, pieces, picks_.count);
    std::atomic<bool> good = true;
    parallel_for(sharing_, picks_.count, 64, kLeastRows, [&](int64_t begin, int64_t end) {
      const RunFinder<End>* last = nullptr;
      int64_t run = 0;
      int64_t first_row = 0;  // the rows [first_row, end_row) of `last` are those of `run`
      int64_t end_row = 0;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = picks_.rows.row[i];
        const RunFinder<End>& finder = finders[picks_.rows.chunk_of(i)];
        if (&finder != last || row < first_row || row >= end_row) {
          const bool is_next =
              &finder == last && row == end_row && run + 1 < finder.runs() && finder.end(run + 1) > row;
          run = is_next ? run + 1 : finder.find(row);
          if (run < 0) good = false;
          last = &finder;
          first_row = finder.begin(std::max<int64_t>(run, 0));
          end_row = finder.end(std::max<int64_t>(run, 0));
        }
        run_[i] = static_cast<uint32_t>(run);
      }
    });
    return good;
  }

  bool is_first(int64_t i) const {
    if (i == 0) return true;
    const bool exists = picks_.exists(i);
    if (exists != picks_.exists(i - 1)) return true;
    return exists && (run_[i] != run_[i - 1] || picks_.rows.chunk_of(i) != picks_.rows.chunk_of(i - 1));
  }

  const Sharing& sharing_;
  const Picks& picks_;
  const Scratch<uint32_t> run_;
};

// The runs of a result whose rows are given by number: their ends, and the row numbers of their values.
class NumberedRuns {
 public:
  template <class End>
  NumberedRuns(End, const Sharing& sharing, const Type& type, const Pieces& pieces, const Picks& picks) {
    const RunNumbers runs(End{}, sharing, type, pieces, picks);
    Scratch<int64_t> before(runs.blocks());
    const Scratch<uint64_t> first(words_for(picks.count));  // bits of the rows that begin a run
    runs.for_each_block([&](int64_t begin, int64_t end, int64_t block) {
      int64_t firsts = 0;
      for_each_word(begin, end - begin, [&](int64_t at, int64_t n) {
        const uint64_t word = runs.first_rows(at, n);
        first[at / 64] = word;
        firsts += std::popcount(word);
      });
      before[block] = firsts;
    });
    for (int64_t b = 0; b < runs.blocks(); ++b) count_ += std::exchange(before[b], count_);
    ends_ = allocate(bytes_of_values(count_, sizeof(End)));
    row_ = Scratch<uint32_t>(count_);
    if (picks.rows.chunk != nullptr) chunk_ = Scratch<uint32_t>(count_);
    runs.for_each_block([&](int64_t begin, int64_t end, int64_t block) {
      int64_t run = before[block];
      for_each_word(begin, end - begin, [&](int64_t at, int64_t n) {
        const uint64_t word = first[at / 64];
        if (word == ~uint64_t{0} && at > 0) {  // rows at random: each one is a run
          for (int64_t k = 0; k < 64; ++k) store(ends_.data, run - 1 + k, static_cast<End>(at + k));
          std::memcpy(row_.get() + run, runs.get() + at, 64 * sizeof(uint32_t));
          if (chunk_.get() != nullptr) std::memcpy(chunk_.get() + run, picks.rows.chunk + at, 64 * sizeof(uint32_t));
          run += 64;
          return;
        }
        for_each_set(&word, 0, n, [&](int64_t k) {
          if (at + k > 0) store(ends_.data, run - 1, static_cast<End>(at + k));
          row_[run] = runs[at + k];
          if (chunk_.get() != nullptr) chunk_[run] = picks.rows.chunk[at + k];
          ++run;
        });
      });
    });
    if (count_ > 0) store(ends_.data, count_ - 1, static_cast<End>(picks.count));
    if (picks.valid != nullptr) find_missing(End{}, sharing, picks);
  }

  Array ends() const { return array_of(ends_, count_); }
  Picks picks() const {
    Picks picks;
    picks.count = count_;
    picks.rows = {row_.get(), chunk_.get()};
    picks.missing = missing_;
    if (missing_ > 0) picks.valid = valid_.get();
    return picks;
  }

 private:
  // A run of missing rows is a missing value.
  template <class End>
  void find_missing(End, const Sharing& sharing, const Picks& picks) {
    valid_ = Scratch<uint64_t>(words_for(count_));
    std::atomic<int64_t> present = 0;
    parallel_for(sharing, count_, 64, kLeastRows, [&](int64_t begin, int64_t end) {
      int64_t ones = 0;
      for_each_word(begin, end - begin, [&](int64_t at, int64_t n) {
        uint64_t word = 0;
        for (int64_t k = 0; k < n; ++k) {
          const int64_t first = at + k == 0 ? 0 : static_cast<int64_t>(load<End>(ends_.data, at + k - 1));
          word |= uint64_t{picks.exists(first)} << k;
        }
        valid_[at / 64] = word;
        ones += std::popcount(word);
      });
      present += ones;
    });
    missing_ = count_ - present;
  }

  int64_t count_ = 0;
  int64_t missing_ = 0;
  NewBuffer ends_;
  Scratch<uint32_t> row_;
  Scratch<uint32_t> chunk_;
  Scratch<uint64_t> valid_;
};

// ---- ranges of rows, and overlays

// The runs of consecutive rows of a result, as ranges of values.
class RunRanges {
 public:
  // `piece` and `run` are those of the row before the first one; that run goes on if the first row belongs to it too.
  RunRanges(int32_t piece, int64_t run) : last_piece_(piece), last_run_(run) {}

  void add(int32_t piece, int64_t run, int64_t end) {
    if (piece == last_piece_ && run == last_run_) {
      (ends_.empty() ? end_before_ : ends_.back()) = end;
      return;
    }
    ends_.push_back(end);
    values_.add(piece, run, 1);
    last_piece_ = piece;
    last_run_ = run;
  }
  void append(const RunRanges& other) {
    if (other.end_before_ >= 0 && !ends_.empty()) ends_.back() = other.end_before_;
    ends_.insert(ends_.end(), other.ends_.begin(), other.ends_.end());
    values_.append(other.values_);
  }

  template <class End>
  Array ends(End) const {
    const auto count = static_cast<int64_t>(ends_.size());
    const NewBuffer data = allocate(bytes_of_values(count, sizeof(End)));
    for (int64_t i = 0; i < count; ++i) store(data.data, i, static_cast<End>(ends_[static_cast<std::size_t>(i)]));
    return array_of(data, count);
  }
  Picks picks() { return values_.picks(); }

 private:
  std::vector<int64_t> ends_;
  RangeList values_;
  int32_t last_piece_;
  int64_t last_run_;
  int64_t end_before_ = -1;  // the end of the run that goes on; -1: none does
};

// Adds the runs of the rows [begin, end) of a result. Returns false if the run ends are not in ascending order, or do
// not reach a row.
template <class End>
bool add_runs(const std::vector<RunFinder<End>>& finders, const Picks& picks, int64_t begin, int64_t end,
              RunRanges& runs) {
  bool good = true;
  for_each_run(picks, begin, end, [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
    if (piece == kMissing) return runs.add(kMissing, 0, at + length);
    const RunFinder<End>& finder = finders[static_cast<std::size_t>(piece)];
    int64_t run = finder.find(start);
    for (int64_t done = 0; done < length && good; ++run) {
      good = run >= 0 && run < finder.runs();
      if (!good) return;
      const int64_t stop = std::min(finder.end(run) - start, length);
      good = stop > done;
      if (good) runs.add(piece, run, at + stop);
      done = stop;
    }
  });
  return good;
}

// The runs of a part of the result, which begin with a run that goes on if the row before them has it too.
template <class End>
RunRanges runs_before(const std::vector<RunFinder<End>>& finders, const Picks& picks, int64_t begin) {
  RunRanges runs(kMissing - 1, 0);
  if (begin == 0) return runs;
  for_each_run(picks, begin - 1, begin, [&](int32_t piece, int64_t start, int64_t, int64_t) {
    runs = RunRanges(piece, piece == kMissing ? 0 : finders[static_cast<std::size_t>(piece)].find(start));
  });
  return runs;
}

}  // namespace

void RowTaker::run_end(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const {
  const int64_t width = type.children[0].width;
  if (picks.count > most_rows(width)) throw OffsetOverflow{};
  with_run_end(width, [&](auto kind) {
    using End = decltype(kind);
    if (picks.by_rows() && has_numbered_values(pieces)) {
      const NumberedRuns runs(End{}, sharing_, type, pieces, picks);
      out.children.push_back(runs.ends());
      out.children.push_back(take(type.children[1], values_of(pieces), runs.picks()));
      return;
    }
    const int64_t queries = picks.ranges != nullptr ? picks.range_count : picks.count;
    const std::vector<RunFinder<End>> finders = finders_of<End>(sharing_, pieces, queries);
    // A result of few runs may have more rows than memory has bytes, so the number of its parts is limited.
    const int64_t rows = std::max(kBlockRows, picks.count / kMostRunParts);
    std::vector<RunRanges> parts(static_cast<std::size_t>((picks.count + rows - 1) / rows), RunRanges(kMissing, 0));
    std::atomic<bool> good = true;
    parallel_for(sharing_, static_cast<int64_t>(parts.size()), 1, kLeastBlocks, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        RunRanges runs = runs_before(finders, picks, p * rows);
        if (!add_runs(finders, picks, p * rows, std::min((p + 1) * rows, picks.count), runs)) good = false;
        parts[static_cast<std::size_t>(p)] = std::move(runs);
      }
    });
    if (!good) refuse(type);
    RunRanges runs(kMissing - 1, 0);
    for (const RunRanges& part : parts) runs.append(part);
    out.children.push_back(runs.ends(End{}));
    out.children.push_back(take(type.children[1], values_of(pieces), runs.picks()));
  });
}

}  // namespace gs::table
