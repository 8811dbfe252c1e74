// launches.cpp: launches the kernels of a ColumnBatch, with as many columns in each launch as the body has room for.
#include <algorithm>
#include <array>

#include "arrow/fault.h"
#include "backends/device/launch.h"
#include "core/error.h"
#include "table/device/column_batch.h"
#include "table/take.h"

namespace gs::table {
namespace {

using device::launch;

constexpr int64_t kLongItem = 16;  // longer items, in bytes, are copied by several threads

template <class T>
std::size_t batch_end(std::size_t begin, const T& jobs, int most) {
  return std::min(jobs.size(), begin + static_cast<std::size_t>(most));
}

}  // namespace

void ColumnBatch::run() {
  pick_columns();
  const std::size_t nulls = nullable_.size();
  const std::size_t counters = nulls + 2 * spans_.size() + 2;
  if (counters > 2) {
    auto* const found = temporary<uint64_t>(static_cast<int64_t>(counters));
    machine_.clear(found, static_cast<int64_t>(counters * 8));
    auto* const wrong = reinterpret_cast<device::Status*>(found + counters - 2);
    count_nulls(found);
    find_spans(wrong, found + nulls + spans_.size());
    add_up(found + nulls);
    std::vector<uint64_t> host(counters);
    machine_.read(host.data(), found, static_cast<int64_t>(counters * 8));
    for (std::size_t n = 0; n < nulls; ++n) nullable_[n]->nulls = static_cast<int64_t>(host[n]);
    device::Status status;
    status.lowest = host[counters - 2];
    status.count = host[counters - 1];
    if (!status.is_clean()) {
      const Type& type = *spans_[static_cast<std::size_t>(status.first())].type;
      throw ExchangeError("offsets of '" + type.name + "' (" + type_name(type) + ") are not in order");
    }
    check_totals(host.data() + nulls);
    narrow_offsets();
  }
  for (const SpanBatch& spans : spans_) spans.plain ? copy(spans) : take_children(spans);
  for (const FixedListBatch& fixed : fixed_) take_elements(fixed);
}

void ColumnBatch::pick_columns() {
  const auto is_long = [](const ItemBatch& items) { return items.width > kLongItem; };
  for (const ItemBatch& items : items_) {
    if (is_long(items)) pick_long(items);
  }
  std::vector<ItemBatch> short_items;
  for (ItemBatch& items : items_) {
    if (is_long(items)) items.column.target = nullptr;
    if (items.column.target != nullptr || items.column.valid != nullptr) short_items.push_back(items);
  }
  device::PickColumns body;
  body.rows = rows_;
  body.pieces = pieces_;
  for (std::size_t begin = 0; begin < short_items.size();) {
    const std::size_t end = batch_end(begin, short_items, device::kColumns);
    body.count = static_cast<int32_t>(end - begin);
    body.all = table_of<device::PieceColumn>(short_items, begin, end);
    for (std::size_t c = begin; c < end; ++c) {
      ItemBatch& items = short_items[c];
      items.column.width = static_cast<int32_t>(items.width);
      for (int p = 0; p < std::min(items.pieces.size(), 2); ++p) items.column.piece[p] = items.pieces[p];
      body.column[c - begin] = items.column;
    }
    launch(machine_, body, (rows_.count + device::kLanes - 1) / device::kLanes);
    begin = end;
  }
}

void ColumnBatch::pick_long(const ItemBatch& items) {
  device::PickLong body;
  body.rows = rows_;
  body.pieces = pieces_;
  body.all = table_of<device::PieceColumn>(std::array<ItemBatch, 1>{items}, 0, 1);
  for (int p = 0; p < std::min(items.pieces.size(), 2); ++p) body.piece[p] = items.pieces[p];
  body.target = items.column.target;
  body.width = items.width;
  body.unit = items.column.unit;
  body.units = body.width / body.unit;
  body.by_units = device::Divider(body.units);
  launch(machine_, body, rows_.count * body.units);
}

void ColumnBatch::count_nulls(uint64_t* nulls) {
  device::CountNulls body;
  body.bits = rows_.count;
  for (std::size_t begin = 0; begin < nullable_.size();) {
    const std::size_t end = batch_end(begin, nullable_, device::kWordLists);
    body.count = static_cast<int32_t>(end - begin);
    for (std::size_t c = begin; c < end; ++c) {
      body.words[c - begin] = reinterpret_cast<const uint32_t*>(nullable_[c]->validity.data);
      body.nulls[c - begin] = nulls + c;
    }
    launch(machine_, body, (rows_.count + int64_t{32} * device::kLanes - 1) / (int64_t{32} * device::kLanes));
    begin = end;
  }
}

void ColumnBatch::find_spans(device::Status* wrong, uint64_t* long_rows) {
  device::FindSpans body;
  body.rows = rows_;
  body.pieces = pieces_;
  body.wrong = wrong;
  body.most = static_cast<uint64_t>(INT64_MAX / 2 / std::max<int64_t>(rows_.count, 1));
  for (std::size_t begin = 0; begin < spans_.size();) {
    const std::size_t end = batch_end(begin, spans_, device::kSpans);
    body.count = static_cast<int32_t>(end - begin);
    body.all = table_of<device::PieceSpans>(spans_, begin, end);
    for (std::size_t c = begin; c < end; ++c) {
      SpanBatch& spans = spans_[c];
      spans.offsets = context_.allocate(bytes_of_values(checked_add(rows_.count, 1), spans.type->width));
      // The sums have 64 bits. If the offsets have 64 bits too, the sums are the offsets of the result.
      spans.sums =
          spans.type->width == 8 ? reinterpret_cast<int64_t*>(spans.offsets.data) : temporary<int64_t>(rows_.count + 1);
      spans.column.length = spans.sums;
      spans.column.long_rows = long_rows + c;
      spans.column.start = temporary<uint64_t>(rows_.count);
      for (int p = 0; p < std::min(spans.pieces.size(), 2); ++p) spans.column.piece[p] = spans.pieces[p];
      body.column[c - begin] = spans.column;
    }
    launch(machine_, body, rows_.count);
    begin = end;
  }
}

void ColumnBatch::add_up(uint64_t* totals) {
  for (std::size_t c = 0; c < spans_.size(); ++c) {
    machine_.exclusive_sum(spans_[c].sums, rows_.count);
    machine_.copy(totals + c, spans_[c].sums + rows_.count, 8);
  }
}

void ColumnBatch::check_totals(const uint64_t* totals) {
  for (std::size_t c = 0; c < spans_.size(); ++c) {
    SpanBatch& spans = spans_[c];
    spans.total = static_cast<int64_t>(totals[c]);
    // Long rows count units of 2^32 here. Below 2^30 units they add up to less than 2^62, and the other rows as well
    // (FindSpans::most), so that the sum has not wrapped.
    const bool is_long = totals[spans_.size() + c] >= uint64_t{1} << 30;
    if (spans.total < 0 || is_long) throw ShapeError("the result would have more than 2**63 values");
    if (spans.type->width == 4 && spans.total > offset_limit()) throw OffsetOverflow{};
    spans.out->first = spans.offsets.buffer;
    spans.out->reach = spans.total;
  }
}

void ColumnBatch::narrow_offsets() {
  std::vector<device::OffsetColumn> narrow;
  for (const SpanBatch& spans : spans_) {
    if (spans.type->width == 4) narrow.push_back({spans.sums, reinterpret_cast<int32_t*>(spans.offsets.data)});
  }
  device::NarrowOffsets body;
  body.offsets = rows_.count + 1;
  for (std::size_t begin = 0; begin < narrow.size();) {
    const std::size_t end = batch_end(begin, narrow, device::kOffsetColumns);
    body.count = static_cast<int32_t>(end - begin);
    std::copy(narrow.begin() + static_cast<std::ptrdiff_t>(begin), narrow.begin() + static_cast<std::ptrdiff_t>(end),
              body.column);
    launch(machine_, body, body.offsets);
    begin = end;
  }
}

void ColumnBatch::copy(const SpanBatch& spans) {
  device::CopySpans body;
  body.spans = {spans.sums, spans.column.start, rows_.count};
  body.item = spans.column.item;
  body.by_item = device::Divider(body.item);
  body.bytes = bytes_of_values(spans.total, body.item);
  const NewBuffer fresh = context_.allocate(body.bytes);
  body.target = reinterpret_cast<uint64_t*>(fresh.data);
  launch(machine_, body, (body.bytes + 7) / 8);
  if (spans.type->layout == Layout::binary) {
    spans.out->second = fresh.buffer;
    return;
  }
  Array& child = spans.out->children[0];
  child.length = spans.total;
  child.first = fresh.buffer;
}

void ColumnBatch::take_children(const SpanBatch& spans) {
  Array& child = spans.out->children[0];
  if (spans.type->children[0].layout == Layout::null) {
    // The child has no buffers, and perhaps too many rows for a list of row numbers in memory.
    child.length = child.nulls = spans.total;
    return;
  }
  int64_t rows = 0;
  for (const Piece& piece : spans.children) rows += piece.length;
  const Numbers numbers = allocate_numbers(context_, spans.total, rows >= wide_rows);
  device::SpanRows body;
  body.spans = {spans.sums, spans.column.start, rows_.count};
  body.rows = numbers.list;
  launch(machine_, body, spans.total);
  pick_rows(context_, {{&spans.type->children[0], spans.children, &child}}, numbers.list, false);
}

void ColumnBatch::take_elements(const FixedListBatch& fixed) {
  if (fixed.type->layout == Layout::null) {
    fixed.out->nulls = fixed.out->length;
    return;
  }
  int64_t rows = 0;
  for (const Piece& piece : fixed.children) rows += piece.length;
  const Numbers numbers = allocate_numbers(context_, fixed.out->length, rows >= wide_rows);
  device::ElementRows body;
  body.lists = rows_;
  body.size = rows_.count == 0 ? 1 : fixed.out->length / rows_.count;
  body.by_size = device::Divider(std::max<int64_t>(body.size, 1));
  body.rows = numbers.list;
  launch(machine_, body, fixed.out->length);
  pick_rows(context_, {{fixed.type, fixed.children, fixed.out}}, numbers.list, has_missing_);
}

}  // namespace gs::table
