// take.cpp: takes the validity bitmaps of all types and the rows of the types with a fixed size per row.
#include "table/take.h"

#include <algorithm>
#include <atomic>

#include "arrow/arrow_abi.h"
#include "core/error.h"
#include "table/bit_source.h"
#include "table/column_pages.h"

namespace gs::table {
namespace {

// A result whose columns are streamed has at least so many times the bytes of the shortest column that is.
constexpr int64_t kStreamedColumns = 8;

void prefetch_bytes(const std::byte* first, int64_t bytes) {
  constexpr int64_t kLine = 64;
  for (int64_t b = 0; b < bytes; b += kLine) prefetch(first + b);
  if (bytes > 0) prefetch(first + bytes - 1);
}

// A copy of the bits of all pieces, one piece after the other. A row has one bit only, so that the copy takes far less
// time than the search for the piece of each row.
class Joined {
 public:
  Joined(const SmallVector<BitSource, 2>& sources, const Pieces& pieces, const Picks& picks) {
    if (picks.among_all == nullptr) return;
    int64_t total = 0;
    for (const Piece& piece : pieces) total += piece.length;
    if (total / kMostBitsPerRow > picks.count) return;
    words_ = Scratch<uint64_t>(words_for(total));
    std::memset(words_.get(), 0, static_cast<std::size_t>(words_for(total)) * 8);
    int64_t before = 0;
    for (int p = 0; p < pieces.size(); ++p) {
      for_each_word(before, pieces[p].length, [&](int64_t at, int64_t n) {
        words_[at / 64] |= source_bits(sources[p], at - before, n) << (at & 63);
      });
      before += pieces[p].length;
    }
    const uint64_t first = bit_address(reinterpret_cast<const std::byte*>(words_.get()));
    source_ = {first, ~uint64_t{0}, first / 8 + static_cast<uint64_t>(words_for(total)) * 8};
  }
  bool is_built() const { return words_.get() != nullptr; }
  const BitSource& source() const { return source_; }

 private:
  Scratch<uint64_t> words_;
  BitSource source_;
};

double mean_row_bytes(const Type& type, const Array& array) {
  const auto rows = static_cast<double>(std::max<int64_t>(array.length, 1));
  double bytes = type.layout == Layout::bits ? 0.125 : static_cast<double>(type.width);
  if (type.layout == Layout::view) bytes = 16;
  if (type.layout == Layout::binary) bytes += static_cast<double>(array.reach) / rows;
  for (std::size_t c = 0; c < array.children.size(); ++c) {
    const Array& child = array.children[c];
    const bool by_row = type.layout == Layout::structure || type.layout == Layout::sparse_union;
    const double share = by_row ? 1 : static_cast<double>(child.length) / rows;
    bytes += share * mean_row_bytes(type.children[c], child);
  }
  return bytes;
}

std::atomic<int64_t>& limit() {
  static std::atomic<int64_t> value{INT32_MAX};
  return value;
}

}  // namespace

int64_t offset_limit() {
  return limit().load(std::memory_order_relaxed);
}

int64_t set_offset_limit(int64_t value) {
  return limit().exchange(value);
}

int64_t expected_bytes(const Type& type, const std::vector<const Array*>& arrays, int64_t count) {
  if (arrays.empty()) return 0;
  const auto is_shorter = [](const Array* a, const Array* b) { return a->length < b->length; };
  const Array& longest = **std::max_element(arrays.begin(), arrays.end(), is_shorter);
  return static_cast<int64_t>(std::min(mean_row_bytes(type, longest) * static_cast<double>(count), 1e18));
}

RowTaker::RowTaker(const Sharing& sharing, int64_t result_bytes)
    : sharing_(sharing),
      near_bytes_(sharing.backend.table_tuning().far_column_bytes),
      stream_bytes_(result_bytes / kStreamedColumns >= sharing.backend.table_tuning().stream_column_bytes
                        ? sharing.backend.table_tuning().stream_column_bytes
                        : INT64_MAX) {}

Array RowTaker::take(const Type& type, const Pieces& pieces, const Picks& picks) const {
  Array out;
  out.length = picks.count;
  validity(type, pieces, picks, out);
  if (type.dictionary != nullptr) {
    keys(type, pieces, picks, out);
    return out;
  }
  switch (type.layout) {
    case Layout::null: out.nulls = picks.count; break;
    case Layout::bits: bools(pieces, picks, out); break;
    case Layout::fixed: out.first = fixed(pieces, type.width, picks); break;
    case Layout::binary: binary(type, pieces, picks, out); break;
    case Layout::view: views(pieces, picks, out); break;
    case Layout::list: list(type, pieces, picks, out); break;
    case Layout::list_view: list_view(type, pieces, picks, out); break;
    case Layout::fixed_list: fixed_list(type, pieces, picks, out); break;
    case Layout::structure: structure(type, pieces, picks, out); break;
    case Layout::sparse_union: sparse_union(type, pieces, picks, out); break;
    case Layout::dense_union: dense_union(type, pieces, picks, out); break;
    case Layout::run_end: run_end(type, pieces, picks, out); break;
  }
  return out;
}

// ---- bits

void RowTaker::validity(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const {
  if (!type.has_validity()) return;
  bool has_bits = false;
  for (const Piece& piece : pieces) has_bits |= piece.array->validity.data != nullptr;
  // The key of a missing row may be out of bounds of an empty dictionary, so such a row is null even if the type is not
  // nullable.
  const bool may_be_null = (type.flags & kNullable) != 0 || type.dictionary != nullptr;
  const bool has_missing = picks.missing > 0 && may_be_null;
  if (!has_bits && !has_missing) return;
  SmallVector<BitSource, 2> sources;
  for (const Piece& piece : pieces) sources.push_back(bit_source(piece.array->validity, piece));
  int64_t ones = 0;
  out.validity = bits(sources, pieces, picks, picks.valid, ones);
  out.nulls = picks.count - ones;
}

void RowTaker::bools(const Pieces& pieces, const Picks& picks, Array& out) const {
  SmallVector<BitSource, 2> sources;
  for (const Piece& piece : pieces) sources.push_back(bit_source(piece.array->first, piece));
  int64_t ones = 0;
  out.first = bits(sources, pieces, picks, nullptr, ones);
}

Buffer RowTaker::bits(const SmallVector<BitSource, 2>& sources, const Pieces& pieces, const Picks& picks,
                      const uint64_t* mask, int64_t& ones) const {
  const NewBuffer fresh = allocate(words_for(picks.count) * 8);
  auto* const words = reinterpret_cast<uint64_t*>(fresh.data);
  const BitSource* source = sources.data();
  RowNumbers rows = picks.rows;
  const Joined joined(sources, pieces, picks);
  if (joined.is_built()) {
    source = &joined.source();
    rows = {picks.among_all, nullptr};
  }
  std::atomic<int64_t> found = 0;
  const int64_t grain = picks.overlay != nullptr ? Overlay::kBlock : 64;
  parallel_for(sharing_, picks.count, grain, kLeastRows, [&](int64_t begin, int64_t end) {
    if (picks.by_rows()) {
      found += sharing_.backend.columns().bits(source, rows, begin, end, mask, words);
      return;
    }
    if (picks.overlay != nullptr) {
      found += overlay_bits(sharing_.backend.columns(), *picks.overlay, sources, begin, end, words);
      return;
    }
    std::memset(words + begin / 64, 0, static_cast<std::size_t>(words_for(end - begin)) * 8);
    int64_t set = 0;
    for_each_run(picks, begin, end, [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
      if (piece == kMissing) return;
      for_each_word(at, length, [&](int64_t bit, int64_t n) {
        const uint64_t word = source_bits(sources[piece], start + (bit - at), n);
        words[bit / 64] |= word << (bit & 63);
        set += std::popcount(word);
      });
    });
    found += set;
  });
  ones = found;
  return fresh.buffer;
}

// ---- rows of a fixed size

Buffer RowTaker::items(const SmallVector<const std::byte*, 2>& base, const Pieces& pieces, int64_t width,
                       const Picks& picks) const {
  const NewBuffer fresh = allocate(bytes_of_values(picks.count, width));
  if (width == 0) return fresh.buffer;
  int64_t source_bytes = 0;
  for (const Piece& piece : pieces) source_bytes += piece.length * width;
  request_items(sharing_, pieces, base, width, picks);
  const bool far = source_bytes > near_bytes_ && width <= kMostAhead;
  const bool stream = picks.count * width >= stream_bytes_;
  const int64_t least = std::clamp<int64_t>(kLeastBytes / width, 1, kLeastRows);
  const int64_t grain = picks.overlay != nullptr ? Overlay::kBlock : 64;
  parallel_for(sharing_, picks.count, grain, least, [&](int64_t begin, int64_t end) {
    if (picks.by_rows()) {
      return sharing_.backend.columns().items(base.data(), width, picks.rows, begin, end, {far, stream}, fresh.data);
    }
    if (picks.overlay != nullptr)
      return overlay_items(sharing_.backend.columns(), *picks.overlay, base, width, begin, end, stream, fresh.data);
    const auto copy = [&](int32_t piece, int64_t start, int64_t at, int64_t length) {
      std::byte* const target = fresh.data + at * width;
      const auto size = static_cast<std::size_t>(length * width);
      if (piece == kMissing) {
        std::memset(target, 0, size);
      } else if (stream && length * width >= kStreamedRange) {
        sharing_.backend.columns().stream(target, base[piece] + start * width, length * width);
      } else {
        std::memcpy(target, base[piece] + start * width, size);
      }
    };
    if (!far) return for_each_run(picks, begin, end, copy);
    for_each_run(picks, begin, end, copy, [&](int32_t piece, int64_t start, int64_t length) {
      prefetch_bytes(base[piece] + start * width, std::min(length * width, kMostAhead));
    });
  });
  return fresh.buffer;
}

Buffer RowTaker::items_or_zeros(const SmallVector<const std::byte*, 2>& base, const Pieces& pieces, int64_t width,
                                const Picks& picks) const {
  Buffer out = items(base, pieces, width, picks);
  if (picks.valid == nullptr) return out;
  auto* const data = const_cast<std::byte*>(out.data);  // allocated above and not shared yet
  parallel_for(sharing_, picks.count, 64, kLeastRows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (!picks.exists(i)) std::memset(data + i * width, 0, static_cast<std::size_t>(width));
    }
  });
  return out;
}

Buffer RowTaker::fixed(const Pieces& pieces, int64_t width, const Picks& picks) const {
  SmallVector<const std::byte*, 2> base;
  for (const Piece& piece : pieces) base.push_back(first_item(piece, width));
  return items(base, pieces, width, picks);
}

// ---- rows that consist of rows of children

Piece field_of(const Piece& piece, std::size_t i) {
  const Array& child = piece.array->children[i];
  return {&child, child.offset + piece.offset, piece.length};
}

void RowTaker::structure(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const {
  out.children.reserve(type.children.size());
  for (std::size_t i = 0; i < type.children.size(); ++i) {
    Pieces fields;
    for (const Piece& piece : pieces) fields.push_back(field_of(piece, i));
    out.children.push_back(take(type.children[i], fields, picks));
  }
}

void RowTaker::fixed_list(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const {
  const int64_t size = type.list_size;
  const Type& child_type = type.children[0];
  Pieces children;
  bool plain = child_type.layout == Layout::fixed && child_type.dictionary == nullptr && picks.missing == 0 && size > 0;
  for (const Piece& piece : pieces) {
    const Array& child = piece.array->children[0];
    children.push_back({&child, child.offset + piece.offset * size, piece.length * size});
    plain = plain && child.validity.data == nullptr;
  }
  if (plain) {  // a row is copied as one long item
    SmallVector<const std::byte*, 2> base;
    for (const Piece& piece : children) base.push_back(first_item(piece, child_type.width));
    Array child;
    child.length = checked_mul(picks.count, size);
    child.first = items(base, pieces, size * child_type.width, picks);
    out.children.push_back(std::move(child));
    return;
  }
  RangeList list;
  walk(picks, [&](int32_t piece, int64_t start, int64_t, int64_t length) {
    list.add(piece, start * size, checked_mul(length, size));
  });
  out.children.push_back(take(child_type, children, list.picks()));
}

}  // namespace gs::table
