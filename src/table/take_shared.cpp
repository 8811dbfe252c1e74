// take_shared.cpp: rows that refer to what is shared and not copied: views of buffers, keys of dictionaries.
#include <atomic>
#include <unordered_map>

#include "core/error.h"
#include "core/rule.h"
#include "table/bits.h"
#include "table/take.h"
#include "table/values.h"

namespace gs::table {
namespace {

constexpr int64_t kLeastViews = 64 * 1024;

bool same_buffers(const Array& a, const Array& b) {
  const auto same = [](const Buffer& x, const Buffer& y) { return x.data == y.data; };
  return std::equal(a.shared.begin(), a.shared.end(), b.shared.begin(), b.shared.end(), same) &&
         a.shared_bytes == b.shared_bytes;
}

bool lies_inside(const Array& array, int64_t size, int64_t buffer, int64_t offset) {
  if (size < 0 || !is_inside(buffer, static_cast<int64_t>(array.shared.size()))) return false;
  return offset >= 0 && offset <= array.shared_bytes[static_cast<std::size_t>(buffer)] - size;
}

// Whether two dictionaries are the same memory: what exporters do for the chunks of one column.
bool same_memory(const Array& a, const Array& b) {
  if (&a == &b) return true;
  return a.children.empty() && b.children.empty() && a.dictionary == nullptr && b.dictionary == nullptr &&
         a.length == b.length && a.offset == b.offset && a.first.data == b.first.data &&
         a.second.data == b.second.data && a.validity.data == b.validity.data && same_buffers(a, b);
}

// One dictionary for all pieces, and for each piece the new number of each of its keys (empty: as it was).
struct Merged {
  std::shared_ptr<const Array> dictionary;
  std::vector<std::vector<int64_t>> number;
};

// The first dictionary stays as it is; values that it lacks follow in the order in which they are met.
class Merger {
 public:
  Merger(const Type& type, const Pieces& pieces) : type_(type), pieces_(pieces) {
    number_.resize(static_cast<std::size_t>(pieces.size()));
    for (int p = 1; p < pieces.size(); ++p) {
      if (same_as_earlier(p)) continue;
      if (known_.empty()) add(0);
      add(p);
    }
  }

  Merged merge(const Taker& taker) {
    Merged merged;
    merged.number = std::move(number_);
    if (!has_new_) {
      merged.dictionary = pieces_[0].array->dictionary;
      return merged;
    }
    Pieces dictionaries;
    for (const Piece& piece : pieces_) {
      const Array& dictionary = *piece.array->dictionary;
      dictionaries.push_back({&dictionary, dictionary.offset, dictionary.length});
    }
    try {
      merged.dictionary = std::make_shared<const Array>(taker.take(*type_.dictionary, dictionaries, rows_.picks()));
    } catch (const OffsetOverflow&) {
      throw ShapeError("the dictionaries of '" + type_.name + "' are longer together than their offsets reach");
    }
    return merged;
  }

 private:
  bool same_as_earlier(int p) {
    const Array& own = *pieces_[p].array->dictionary;
    for (const int q : {p - 1, 0}) {
      if (!same_memory(own, *pieces_[q].array->dictionary)) continue;
      number_[static_cast<std::size_t>(p)] = number_[static_cast<std::size_t>(q)];
      return true;
    }
    return false;
  }

  void add(int p) {
    const Array& dictionary = *pieces_[p].array->dictionary;
    std::vector<int64_t>& number = number_[static_cast<std::size_t>(p)];
    if (p > 0) number.reserve(static_cast<std::size_t>(dictionary.length));
    for (int64_t row = 0; row < dictionary.length; ++row) {
      std::string value;
      append_value(*type_.dictionary, dictionary, row, value);
      const auto [found, is_new] = known_.try_emplace(std::move(value), rows_.count());
      if (p > 0) number.push_back(found->second);
      if (!is_new && p > 0) continue;
      rows_.add(p, row, 1);
      has_new_ |= p > 0;
    }
    if (rows_.count() - 1 > most_integer(type_)) {
      throw ShapeError("the dictionaries of '" + type_.name + "' have " + std::to_string(rows_.count()) +
                       " keys together, more than " + type_name(type_) + " can number");
    }
  }

  const Type& type_;
  const Pieces& pieces_;
  std::unordered_map<std::string, int64_t> known_;
  RangeList rows_;
  std::vector<std::vector<int64_t>> number_;
  bool has_new_ = false;
};

}  // namespace

void Taker::views(const Pieces& pieces, const Picks& picks, Array& out) const {
  constexpr int64_t kInline = 12;
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
      throw ShapeError("a column of views with more than 2**31 buffers");
    }
    base.push_back(static_cast<int32_t>(out.shared.size()));
    moves = moves || last != nullptr;
    out.shared.insert(out.shared.end(), array.shared.begin(), array.shared.end());
    out.shared_bytes.insert(out.shared_bytes.end(), array.shared_bytes.begin(), array.shared_bytes.end());
    last = &array;
  }
  out.first = fixed(pieces, 16, picks);
  if (!moves) return;
  // A wrong number of a buffer must not become that of another piece's, so every long view is looked at.
  auto* const data = const_cast<std::byte*>(out.first.data);  // ours, and not handed out yet
  const auto* const valid = reinterpret_cast<const uint64_t*>(out.validity.data);
  std::atomic<bool> good = true;
  share(picks.count, 64, kLeastViews, [&](int64_t begin, int64_t end) {
    for_each_run(picks, begin, end, [&](int32_t piece, int64_t, int64_t at, int64_t length) {
      for (int64_t i = at; i < at + length; ++i) {
        std::byte* const view = data + i * 16;
        const int64_t size = load<int32_t>(view, 0);
        if (size >= 0 && size <= kInline) continue;
        if (piece == kMissing || (valid != nullptr && !bit_at(valid, i))) {
          std::memset(view, 0, 16);
        } else if (lies_inside(*pieces[piece].array, size, load<int32_t>(view, 2), load<int32_t>(view, 3))) {
          store(view, 2, load<int32_t>(view, 2) + base[piece]);
        } else {
          good = false;
        }
      }
    });
  });
  if (!good) throw ExchangeError("a view that lies outside of its buffers");
}

void Taker::keys(const Type& type, const Pieces& pieces, const Picks& picks, Array& out) const {
  out.first = fixed(pieces, type.width, picks);
  if (pieces.size() == 0) {
    out.dictionary = std::make_shared<const Array>(take(*type.dictionary, {}, {}));
    return;
  }
  const Merged merged = Merger(type, pieces).merge(*this);
  out.dictionary = merged.dictionary;
  const auto stays = [](const std::vector<int64_t>& number) { return number.empty(); };
  const bool is_new = merged.dictionary != pieces[0].array->dictionary;
  if (!is_new && std::all_of(merged.number.begin(), merged.number.end(), stays)) return;
  // A wrong key must not become a right one of the merged dictionary, so every key is looked at.
  const auto* const valid = reinterpret_cast<const uint64_t*>(out.validity.data);
  auto* const data = const_cast<std::byte*>(out.first.data);
  for_each_run(picks, 0, picks.count, [&](int32_t piece, int64_t, int64_t at, int64_t length) {
    if (piece == kMissing) return;
    const std::vector<int64_t>& number = merged.number[static_cast<std::size_t>(piece)];
    const int64_t known = pieces[piece].array->dictionary->length;
    for (int64_t i = at; i < at + length; ++i) {
      const bool is_null = valid != nullptr && !bit_at(valid, i);
      const int64_t key = is_null ? 0 : integer_at(type, data, i);
      if (!is_null && !is_inside(key, known)) {
        throw ExchangeError("'" + type.name + "' (" + type_name(type) + "): key " + std::to_string(key) +
                            " lies outside of its dictionary of " + std::to_string(known));
      }
      if (is_null || !number.empty()) {
        set_integer(type, data, i, is_null ? 0 : number[static_cast<std::size_t>(key)]);
      }
    }
  });
}

}  // namespace gs::table
