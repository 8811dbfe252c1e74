// take_frame.cpp: implements take_frame.h.
#include "table/take_frame.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "arrow/arrow_abi.h"
#include "core/error.h"
#include "host/progress.h"
#include "table/join.h"
#include "table/row_errors.h"
#include "table/take.h"

namespace gs::table {
namespace {

bool is_nullable(const Type& type) {
  if ((type.flags & kNullable) == 0) return false;
  if (type.layout == Layout::sparse_union || type.layout == Layout::dense_union) {
    return type.children.empty() || is_nullable(type.children[0]);
  }
  return type.layout != Layout::run_end || is_nullable(type.children[1]);
}

// Makes a type nullable. Unions and run-end encoded types have no validity; a null row of theirs is a null of a child,
// so that child becomes nullable too.
void make_nullable(Type& type) {
  type.flags |= kNullable;
  if (type.layout == Layout::run_end) make_nullable(type.children[1]);
  const bool is_union = type.layout == Layout::sparse_union || type.layout == Layout::dense_union;
  if (is_union && !type.children.empty()) make_nullable(type.children[0]);
}

std::shared_ptr<const Type> nullable_type(const std::shared_ptr<const Type>& type, bool is_table) {
  if (is_table && std::all_of(type->children.begin(), type->children.end(), is_nullable)) return type;
  if (!is_table && is_nullable(*type)) return type;
  Type copy = *type;
  if (is_table) {
    for (Type& column : copy.children) make_nullable(column);
  } else {
    make_nullable(copy);
  }
  return std::make_shared<const Type>(std::move(copy));
}

bool has_nulls(const Array& array) {
  return array.validity.data != nullptr && array.nulls != 0;
}

// Throws DataTypeError if a field that is not nullable has nulls in the result.
void refuse_nulls(const Type& type, const Array& result) {
  if ((type.flags & kNullable) == 0 && has_nulls(result)) {
    throw DataTypeError("'" + type.name + "' is not nullable, but the result would have nulls in it");
  }
  if (type.layout != Layout::structure || has_nulls(result)) return;
  for (std::size_t c = 0; c < type.children.size(); ++c) refuse_nulls(type.children[c], result.children[c]);
}

class ResultChunks {
 public:
  ResultChunks(const Sharing& sharing, Pieces pieces, int64_t bytes, Frame& out)
      : sharing_(sharing), taker_(sharing, bytes), pieces_(std::move(pieces)), out_(out) {}

  void add(const HostSelection& selection) {
    add_chunk(
        selection.count(), [&](const Type& type, const Pieces& pieces) { return take(type, pieces, selection); },
        [&] { split(selection.picks(sharing_)); });
  }

 private:
  // Adds the rows as one chunk whose columns `take` returns; calls `split` if a column needs larger offsets than its
  // type has.
  template <class Take, class Split>
  void add_chunk(int64_t count, const Take& take, const Split& split) {
    try {
      const Type& type = *out_.data.type;
      out_.data.chunks.push_back(out_.is_table ? table_of(type, count, take) : take(type, pieces_));
    } catch (const OffsetOverflow&) {
      split();
    }
  }

  void split(const Picks& picks) {
    if (picks.count < 2) throw std::overflow_error("a single row needs larger offsets than its type has");
    const int64_t half = picks.count > 128 ? picks.count / 2 / 64 * 64 : picks.count / 2;
    add(PickSlice(picks, 0, half).picks());
    add(PickSlice(picks, half, picks.count - half).picks());
  }
  void add(const Picks& picks) {
    add_chunk(
        picks.count, [&](const Type& type, const Pieces& pieces) { return taker_.take(type, pieces, picks); },
        [&] { split(picks); });
  }

  template <class Take>
  Array table_of(const Type& type, int64_t count, const Take& take) const {
    Array table;
    table.length = count;
    table.children.reserve(type.children.size());
    Pieces fields(pieces_.size());
    host::ProgressParts columns(static_cast<int64_t>(type.children.size()));
    for (std::size_t c = 0; c < type.children.size(); ++c, columns.next()) {
      for (int p = 0; p < pieces_.size(); ++p) fields[p] = field_of(pieces_[p], c);
      try {
        table.children.push_back(take(type.children[c], fields));
      } catch (const KeyOverflow& error) {
        throw DataTypeError("column '" + type.children[c].name + "': " + error.what());
      }
    }
    return table;
  }

  Array take(const Type& type, const Pieces& pieces, const HostSelection& selection) const {
    if (selection.prefers_joined()) {
      if (const std::optional<Array> joined = join(sharing_, taker_, type, pieces)) {
        Pieces one;
        one.push_back({&*joined, 0, joined->length});
        return taker_.take(type, one, selection.joined_picks());
      }
    }
    return taker_.take(type, pieces, selection.picks(sharing_));
  }

  const Sharing& sharing_;
  const RowTaker taker_;
  const Pieces pieces_;
  Frame& out_;
};

}  // namespace

void refuse_new_nulls(const Frame& result, const Frame& target) {
  const Type& type = *result.data.type;
  for (const Array& chunk : result.data.chunks) {
    if (!result.is_table) refuse_nulls(type, chunk);
    for (std::size_t c = 0; result.is_table && c < type.children.size(); ++c) {
      const auto had_nulls = [c](const Array& old) { return has_nulls(old.children[c]); };
      if (std::any_of(target.data.chunks.begin(), target.data.chunks.end(), had_nulls)) continue;
      refuse_nulls(type.children[c], chunk.children[c]);
    }
  }
}

std::vector<const Array*> chunks_of(const ChunkLengths& lengths, const Frame& first, const Frame* second) {
  std::vector<const Array*> chunks;
  for (const Array& chunk : first.data.chunks) chunks.push_back(&chunk);
  if (second != nullptr) {
    check_like(first, *second);
    for (const Array& chunk : second->data.chunks) chunks.push_back(&chunk);
  }
  if (chunks.size() != lengths.size()) {
    throw ShapeError("the selection was made for " + std::to_string(lengths.size()) + " chunks, there are " +
                     std::to_string(chunks.size()));
  }
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    if (chunks[c]->length != lengths[c]) {
      throw ShapeError("the selection was made for " + std::to_string(lengths[c]) + " rows in chunk " +
                       std::to_string(c) + ", there are " + std::to_string(chunks[c]->length));
    }
  }
  return chunks;
}

Frame empty_like(const Frame& first, bool nullable) {
  Frame out;
  out.is_table = first.is_table;
  out.data.type = nullable ? nullable_type(first.data.type, first.is_table) : first.data.type;
  return out;
}

Frame take_rows(const Sharing& sharing, const HostSelection& selection, const Frame& first, const Frame* second,
                bool nullable) {
  const std::vector<const Array*> chunks = chunks_of(selection.lengths(), first, second);
  Frame out = empty_like(first, nullable);
  std::optional<CommonBlocks> blocks;
  if (selection.count() < kFewRows && first.data.type->children.size() > 1) blocks.emplace();
  const int64_t bytes =
      first.is_table ? expected_bytes(*first.data.type, chunks, selection.count()) : RowTaker::kOneColumn;
  ResultChunks(sharing, selection.pieces(chunks), bytes, out).add(selection);
  if (second != nullptr) refuse_new_nulls(out, first);
  return out;
}

}  // namespace gs::table
