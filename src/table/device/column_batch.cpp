// column_batch.cpp: prepares the descriptors of the kernels for each type of column.
#include "table/device/column_batch.h"

#include <algorithm>

#include "arrow/arrow_abi.h"
#include "core/error.h"
#include "table/bit_source.h"
#include "table/take.h"

namespace gs::table {
namespace {

uint64_t address(const std::byte* data) {
  return reinterpret_cast<uintptr_t>(data);
}

// The largest power of two up to 16 that divides the width and all addresses.
int32_t unit_of(const SmallVector<device::PieceColumn, 2>& pieces, int64_t width) {
  uint64_t bits = static_cast<uint64_t>(width) | 16;
  for (const device::PieceColumn& piece : pieces) bits |= piece.items;
  return static_cast<int32_t>(bits & (~bits + 1));
}

const uint32_t* words_of(const Buffer& validity) {
  return reinterpret_cast<const uint32_t*>(validity.data);
}

}  // namespace

ColumnBatch::ColumnBatch(const DeviceContext& context, const device::RowList& rows, bool has_missing,
                         const Pieces& pieces)
    : context_(context), machine_(context.machine()), rows_(rows), has_missing_(has_missing) {
  pieces_.count = pieces.size();
  std::vector<int64_t> begin;
  int64_t total = 0;
  for (const Piece& piece : pieces) {
    begin.push_back(total);
    total += piece.length;
  }
  if (pieces.size() == 2) pieces_.second = begin[1];
  if (pieces.size() < 3) return;
  auto* const table = temporary<int64_t>(pieces.size());
  machine_.write(table, begin.data(), pieces.size() * int64_t{8});
  pieces_.begin = table;
}

bool ColumnBatch::needs_validity(const Type& type, const Pieces& pieces) const {
  if (!type.has_validity()) return false;
  const bool may_be_null = (type.flags & kNullable) != 0 || type.dictionary != nullptr;
  const auto has_bits = [](const Piece& piece) { return piece.array->validity.data != nullptr; };
  return (has_missing_ && may_be_null) || std::any_of(pieces.begin(), pieces.end(), has_bits);
}

ColumnBatch::ItemBatch& ColumnBatch::add_column(const Pieces& pieces, Array& out, bool has_validity) {
  ItemBatch& items = items_.emplace_back();
  for (const Piece& piece : pieces) {
    const Buffer& bits = piece.array->validity;
    const uint64_t valid = bits.data == nullptr ? 0 : bit_address(bits.data) + static_cast<uint64_t>(piece.offset);
    items.pieces.push_back({0, valid});
  }
  if (!has_validity) return items;
  const NewBuffer fresh = context_.allocate(words_for(rows_.count) * 8);
  out.validity = fresh.buffer;
  items.column.valid = reinterpret_cast<uint32_t*>(fresh.data);
  nullable_.push_back(&out);
  return items;
}

void ColumnBatch::add_items(ItemBatch& items, const Pieces& pieces, const std::byte* const* bases, int64_t width,
                            Array& out) {
  const NewBuffer fresh = context_.allocate(bytes_of_values(rows_.count, width));
  out.first = fresh.buffer;
  if (width == 0) return;
  for (int p = 0; p < pieces.size(); ++p) items.pieces[p].items = pieces[p].length == 0 ? 0 : address(bases[p]);
  items.column.target = fresh.data;
  items.column.unit = unit_of(items.pieces, width);
  items.width = width;
}

void ColumnBatch::add(const Type& type, const Pieces& pieces, Array& out) {
  out.length = rows_.count;
  if (type.layout == Layout::null) {
    out.nulls = rows_.count;
    return;
  }
  ItemBatch& items = add_column(pieces, out, needs_validity(type, pieces));
  switch (type.layout) {
    case Layout::bits: {
      const NewBuffer fresh = context_.allocate(words_for(rows_.count) * 8);
      out.first = fresh.buffer;
      items.column.target = fresh.data;
      for (int p = 0; p < pieces.size(); ++p) {
        items.pieces[p].items = bit_address(pieces[p].array->first.data) + static_cast<uint64_t>(pieces[p].offset);
      }
      return;
    }
    case Layout::fixed: {
      SmallVector<const std::byte*, 2> bases;
      for (const Piece& piece : pieces) bases.push_back(piece.array->first.data + piece.offset * type.width);
      add_items(items, pieces, bases.data(), type.width, out);
      if (type.dictionary != nullptr) out.dictionary = pieces[0].array->dictionary;
      return;
    }
    case Layout::binary:
    case Layout::list: return add_spans(type, pieces, out);
    case Layout::fixed_list: return add_fixed_list(type, pieces, out);
    default: break;
  }
  out.children.resize(type.children.size());
  for (std::size_t i = 0; i < type.children.size(); ++i) {
    Pieces fields;
    for (const Piece& piece : pieces) fields.push_back(field_of(piece, i));
    add(type.children[i], fields, out.children[i]);
  }
}

void ColumnBatch::add_fixed_list(const Type& type, const Pieces& pieces, Array& out) {
  const int64_t size = type.list_size;
  const Type& child_type = type.children[0];
  out.children.resize(1);
  Pieces children;
  SmallVector<const std::byte*, 2> bases;
  bool plain = child_type.layout == Layout::fixed && child_type.dictionary == nullptr && !has_missing_ && size > 0;
  for (const Piece& piece : pieces) {
    const Array& child = piece.array->children[0];
    children.push_back({&child, child.offset + piece.offset * size, piece.length * size});
    bases.push_back(child.first.data + children[children.size() - 1].offset * child_type.width);
    plain = plain && child.validity.data == nullptr;
  }
  if (__builtin_mul_overflow(rows_.count, size, &out.children[0].length)) {
    throw ShapeError("the result would have more than 2**63 values");
  }
  if (!plain) return fixed_.push_back({&child_type, children, &out.children[0]});
  ItemBatch& items = items_.emplace_back();  // a row is copied as one long item
  for (int p = 0; p < pieces.size(); ++p) items.pieces.push_back({});
  add_items(items, children, bases.data(), size * child_type.width, out.children[0]);
}

void ColumnBatch::add_spans(const Type& type, const Pieces& pieces, Array& out) {
  SpanBatch spans{};
  spans.type = &type;
  spans.out = &out;
  spans.plain = true;
  spans.column.item = 1;
  if (type.layout == Layout::list) {
    out.children.resize(1);
    const Type& child = type.children[0];
    spans.plain = child.layout == Layout::fixed && child.dictionary == nullptr && child.width > 0;
    for (const Piece& piece : pieces) spans.plain = spans.plain && piece.array->children[0].validity.data == nullptr;
    if (spans.plain) spans.column.item = child.width;
  }
  uint64_t before = 0;  // rows of the children of the pieces before
  for (const Piece& piece : pieces) {
    const Array& array = *piece.array;
    device::PieceSpans own;
    own.length = piece.length;
    own.reach = array.reach;
    if (piece.length > 0) own.offsets = array.first.data + piece.offset * type.width;
    if (type.layout == Layout::list) {
      const Array& child = array.children[0];
      if (own.reach < 0) own.reach = child.length;
      own.base = spans.plain ? address(child.first.data + child.offset * spans.column.item) : before;
      before += static_cast<uint64_t>(child.length);
      spans.children.push_back({&child, child.offset, child.length});
    } else {
      own.base = address(array.second.data);
    }
    spans.pieces.push_back(own);
  }
  spans.column.valid = words_of(out.validity);
  spans.column.width = static_cast<int32_t>(type.width);
  spans.column.number = static_cast<int32_t>(spans_.size());
  spans_.push_back(std::move(spans));
}

void pick_rows(const DeviceContext& context, const std::vector<PickTask>& tasks, const device::RowList& rows,
               bool has_missing) {
  if (tasks.empty()) return;
  ColumnBatch batch(context, rows, has_missing, tasks[0].pieces);
  for (const PickTask& task : tasks) batch.add(*task.type, task.pieces, *task.out);
  batch.run();
}

}  // namespace gs::table
