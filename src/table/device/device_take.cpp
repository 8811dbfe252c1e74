// device_take.cpp: implements device_take.h, except pick_rows.
#include "table/device/device_take.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "arrow/fault.h"
#include "table/merged_dictionary.h"
#include "table/row_errors.h"
#include "table/take.h"
#include "table/take_frame.h"

namespace gs::table {
namespace {

std::atomic<int64_t> takes{0};

bool is_picked(const Type& type, const std::vector<const Array*>& arrays, std::string* what) {
  const auto refuse = [&](const std::string& why) {
    if (what != nullptr) *what = type_name(type) + why;
    return false;
  };
  if (type.dictionary != nullptr) {
    if (arrays.empty()) return refuse(" without a chunk");
    const auto differs = [&](const Array* array) {
      return !same_dictionary(*array->dictionary, *arrays[0]->dictionary);
    };
    return !std::any_of(arrays.begin(), arrays.end(), differs) || refuse(" with several dictionaries");
  }
  switch (type.layout) {
    case Layout::null:
    case Layout::bits:
    case Layout::fixed:
    case Layout::binary: return true;
    case Layout::list:
    case Layout::fixed_list:
    case Layout::structure: break;
    default: return refuse("");
  }
  for (std::size_t i = 0; i < type.children.size(); ++i) {
    std::vector<const Array*> children;
    for (const Array* array : arrays) children.push_back(&array->children[i]);
    if (!is_picked(type.children[i], children, what)) return false;
  }
  return true;
}

class DeviceChunks {
 public:
  DeviceChunks(const DeviceContext& context, const std::vector<const Array*>& chunks, bool has_missing, Frame& out)
      : context_(context), has_missing_(has_missing), out_(out) {
    for (const Array* chunk : chunks) pieces_.push_back({chunk, chunk->offset, chunk->length});
  }

  // Adds these rows as one chunk, or as several chunks if a column needs larger offsets than its type has.
  void add(const device::RowList& rows) {
    try {
      out_.data.chunks.push_back(take(rows));
    } catch (const OffsetOverflow&) {
      if (rows.count < 2) throw std::overflow_error("a single row needs larger offsets than its type has");
      const int64_t half = rows.count > 128 ? rows.count / 2 / 64 * 64 : rows.count / 2;
      add(slice(rows, 0, half));
      add(slice(rows, half, rows.count - half));
    }
  }

 private:
  static device::RowList slice(const device::RowList& rows, int64_t begin, int64_t count) {
    device::RowList part = rows;
    part.count = count;
    if (part.narrow != nullptr) part.narrow += begin;
    if (part.wide != nullptr) part.wide += begin;
    return part;
  }

  Array take(const device::RowList& rows) const {
    const Type& type = *out_.data.type;
    Array out;
    out.length = rows.count;
    std::vector<PickTask> tasks;
    if (out_.is_table) {
      out.children.resize(type.children.size());
      for (std::size_t c = 0; c < type.children.size(); ++c) {
        Pieces fields;
        for (const Piece& piece : pieces_) fields.push_back(field_of(piece, c));
        tasks.push_back({&type.children[c], fields, &out.children[c]});
      }
    } else {
      tasks.push_back({&type, pieces_, &out});
    }
    pick_rows(context_, tasks, rows, has_missing_);
    return out;
  }

  const DeviceContext& context_;
  const bool has_missing_;
  Pieces pieces_;
  Frame& out_;
};

}  // namespace

int64_t kernel_takes() {
  return takes.load(std::memory_order_relaxed);
}

bool is_picked_by_kernels(const Type& type, const std::vector<const Array*>& chunks, std::string* what) {
  return is_picked(type, chunks, what);
}

Frame take_rows(const DeviceContext& context, const DeviceSelection& selection, const Frame& first, const Frame* second,
                bool nullable) {
  const std::vector<const Array*> chunks = chunks_of(selection.lengths(), first, second);
  Frame out = empty_like(first, nullable);
  out.device = context.device();
  DeviceChunks(context, chunks, selection.missing() > 0, out).add(selection.rows());
  if (second != nullptr) refuse_new_nulls(out, first);
  // The owner of the tables may release them as soon as the call returns, in the order of a stream that this code
  // cannot wait for. So the kernels must be done before.
  context.machine().synchronize();
  takes.fetch_add(1, std::memory_order_relaxed);
  return out;
}

}  // namespace gs::table
