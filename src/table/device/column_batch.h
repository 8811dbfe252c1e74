// column_batch.h: collects the columns that are taken by one list of row numbers, and launches the kernels for them.
#pragma once

#include <deque>

#include "backends/device/bodies/bodies.h"
#include "table/device/device_take.h"

namespace gs::table {

class ColumnBatch {
 public:
  ColumnBatch(const DeviceContext& context, const device::RowList& rows, bool has_missing, const Pieces& pieces);

  // Adds a column; the fields of a structure, which have the rows of the structure, are added as further columns.
  void add(const Type& type, const Pieces& pieces, Array& out);
  // Launches the kernels, waits once if there are null counts or totals to read, and takes the children of lists.
  void run();

 private:
  struct ItemBatch {
    SmallVector<device::PieceColumn, 2> pieces;
    device::Column column;
    int64_t width = 0;
  };
  struct SpanBatch {
    const Type* type;
    SmallVector<device::PieceSpans, 2> pieces;
    device::SpanColumn column;
    Array* out;
    Pieces children;  // of a list
    bool plain;       // copied as bytes: a binary, or a list of items of a fixed size without nulls
    int64_t* sums;    // running sums of the lengths
    NewBuffer offsets;
    int64_t total;
  };
  // The elements of a column of lists of a fixed size.
  struct FixedListBatch {
    const Type* type;
    Pieces children;
    Array* out;
  };

  ItemBatch& add_column(const Pieces& pieces, Array& out, bool has_validity);
  void add_items(ItemBatch& items, const Pieces& pieces, const std::byte* const* bases, int64_t width, Array& out);
  void add_spans(const Type& type, const Pieces& pieces, Array& out);
  void add_fixed_list(const Type& type, const Pieces& pieces, Array& out);
  bool needs_validity(const Type& type, const Pieces& pieces) const;

  void pick_columns();
  void pick_long(const ItemBatch& items);
  void count_nulls(uint64_t* nulls);
  void find_spans(device::Status* wrong, uint64_t* long_rows);
  void add_up(uint64_t* totals);
  void check_totals(const uint64_t* totals);
  void narrow_offsets();
  void copy(const SpanBatch& spans);
  void take_children(const SpanBatch& spans);
  void take_elements(const FixedListBatch& fixed);

  template <class T>
  T* temporary(int64_t count) {
    return temporaries_.emplace_back(machine_, count * static_cast<int64_t>(sizeof(T))).template as<T>();
  }
  // Writes the piece descriptors of the jobs [begin, end) to the machine's memory, one job after the other. Returns
  // null for at most two pieces, whose descriptors fit into the bodies.
  template <class Piece, class Jobs>
  const Piece* table_of(const Jobs& jobs, std::size_t begin, std::size_t end);

  const DeviceContext& context_;
  device::Machine& machine_;
  const device::RowList rows_;
  const bool has_missing_;
  device::PieceList pieces_;
  std::deque<device::Temporary> temporaries_;
  std::deque<ItemBatch> items_;
  std::vector<Array*> nullable_;  // results with a validity bitmap
  std::vector<SpanBatch> spans_;
  std::vector<FixedListBatch> fixed_;
};

template <class Piece, class Jobs>
const Piece* ColumnBatch::table_of(const Jobs& jobs, std::size_t begin, std::size_t end) {
  if (pieces_.begin == nullptr) return nullptr;
  std::vector<Piece> all;
  for (std::size_t j = begin; j < end; ++j) all.insert(all.end(), jobs[j].pieces.begin(), jobs[j].pieces.end());
  auto* const table = temporary<Piece>(static_cast<int64_t>(all.size()));
  machine_.write(table, all.data(), static_cast<int64_t>(all.size() * sizeof(Piece)));
  return table;
}

}  // namespace gs::table
