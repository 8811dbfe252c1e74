// take_shared.cpp: takes views and dictionary keys, which refer to shared data buffers and dictionaries.
#include <atomic>

#include "arrow/bits.h"
#include "arrow/values.h"
#include "core/error.h"
#include "core/rule.h"
#include "table/merged_dictionary.h"
#include "table/take.h"

namespace gs::table {
namespace {

bool same_buffers(const Array& a, const Array& b) {
  const auto same = [](const Buffer& x, const Buffer& y) { return x.data == y.data; };
  return std::equal(a.shared.begin(), a.shared.end(), b.shared.begin(), b.shared.end(), same) &&
         a.shared_bytes == b.shared_bytes;
}

}  // namespace

bool lies_inside(const Array& array, int64_t size, int64_t buffer, int64_t offset) {
  if (size < 0 || !is_inside(buffer, static_cast<int64_t>(array.shared.size()))) return false;
  return offset >= 0 && offset <= array.shared_bytes[static_cast<std::size_t>(buffer)] - size;
}

void RowTaker::views(const Pieces& pieces, const Picks& picks, Array& out) const {
  SmallVector<int32_t, 2> base;
  const Array* last = nullptr;
  bool moves = false;
  for (const Piece& piece : pieces) {
    const Array& array = *piece.array;
    if (last != nullptr && same_buffers(*last, array)) {
      base.push_back(base[base.size() - 1]);
      continue;
    }
    if (out.shared.size() + array.shared.size() > INT32_MAX) {
      throw ShapeError("the result would be a column of views with more than 2**31 data buffers");
    }
    base.push_back(static_cast<int32_t>(out.shared.size()));
    moves = moves || last != nullptr;
    out.shared.insert(out.shared.end(), array.shared.begin(), array.shared.end());
    out.shared_bytes.insert(out.shared_bytes.end(), array.shared_bytes.begin(), array.shared_bytes.end());
    last = &array;
  }
  out.first = fixed(pieces, kViewBytes, picks);
  if (!moves) return;
  // An invalid buffer number must not become a valid one of another piece, so every long view is checked.
  auto* const data = const_cast<std::byte*>(out.first.data);  // allocated above and not shared yet
  const auto* const valid = reinterpret_cast<const uint64_t*>(out.validity.data);
  std::atomic<bool> good = true;
  parallel_for(sharing_, picks.count, 64, kLeastViews, [&](int64_t begin, int64_t end) {
    for_each_run(picks, begin, end, [&](int32_t piece, int64_t, int64_t at, int64_t length) {
      for (int64_t i = at; i < at + length; ++i) {
        std::byte* const view = data + i * kViewBytes;
        const int64_t size = load<int32_t>(view, 0);
        if (size >= 0 && size <= kInlineBytes) continue;
        if (piece == kMissing || (valid != nullptr && !bit_at(valid, i))) {
          std::memset(view, 0, kViewBytes);
        } else if (lies_inside(*pieces[piece].array, size, load<int32_t>(view, 2), load<int32_t>(view, 3))) {
          store(view, 2, load<int32_t>(view, 2) + base[piece]);
        } else {
          good = false;
        }
      }
    });
  });
  if (!good) throw ExchangeError("a view lies outside of its data buffers");
}

void RowTaker::keys(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const {
  out.first = fixed(pieces, type.width, picks);
  if (pieces.size() == 0) {
    out.dictionary = std::make_shared<const Array>(take(*type.dictionary, {}, {}));
    return;
  }
  MergedDictionary merged(type, pieces, sharing_);
  out.dictionary = merged.dictionary(*this);
  if (merged.is_trivial()) return;
  // An invalid key must not become a valid key of the merged dictionary, so every key is checked.
  const auto* const valid = reinterpret_cast<const uint64_t*>(out.validity.data);
  auto* const data = const_cast<std::byte*>(out.first.data);
  std::atomic<int64_t> first_bad = picks.count;
  visit_index(type.integer, [&]<class Key>() {
    parallel_for(sharing_, picks.count, 64, kLeastRows, [&](int64_t begin, int64_t end) {
      const auto renumber = [&](int32_t piece, int64_t i) {
        if (valid != nullptr && !bit_at(valid, i)) return store(data, i, Key{0});
        const int64_t key = widen(load<Key>(data, i));
        const int64_t* const numbers = merged.numbers(piece);
        if (!is_inside(key, merged.size(piece))) {
          int64_t seen = first_bad;
          while (i < seen && !first_bad.compare_exchange_weak(seen, i)) {
          }
        } else if (numbers != nullptr) {
          store(data, i, static_cast<Key>(numbers[key]));
        }
      };
      if (picks.by_rows()) {
        for (int64_t i = begin; i < end; ++i) renumber(static_cast<int32_t>(picks.rows.chunk_of(i)), i);
        return;
      }
      for_each_run(picks, begin, end, [&](int32_t piece, int64_t, int64_t at, int64_t length) {
        if (piece == kMissing) return;
        for (int64_t i = at; i < at + length; ++i) renumber(piece, i);
      });
    });
  });
  if (first_bad < picks.count) {
    for_each_run(picks, first_bad, first_bad + 1, [&](int32_t piece, int64_t, int64_t at, int64_t) {
      throw ExchangeError("'" + type.name + "' (" + type_name(type) + "): key " +
                          std::to_string(integer_at(type, data, at)) + " lies outside of its dictionary of " +
                          std::to_string(merged.size(piece)) + " values");
    });
  }
}

}  // namespace gs::table
