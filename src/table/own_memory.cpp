// own_memory.cpp: implements own_memory.h.
#include "table/own_memory.h"

#include <utility>

#include "arrow/bits.h"
#include "core/error.h"
#include "table/memory.h"
#include "table/take.h"

namespace gs::table {
namespace {

Array owned(const Sharing& sharing, const Type& type, Array array);

// Calls visit(row, size, source) for each long view of a row that is not null. All others are left out.
template <class Visit>
void for_each_long_view(const Sharing& sharing, const Array& array, const Visit& visit) {
  const auto* const valid = reinterpret_cast<const uint64_t*>(array.validity.data);
  for (int64_t row = array.offset; row < array.offset + array.length; ++row) {
    if (row % kRowsPerPoll == 0) poll(sharing);
    const std::byte* const view = array.first.data + row * kViewBytes;
    const int64_t size = load<int32_t>(view, 0);
    if ((size >= 0 && size <= kInlineBytes) || (valid != nullptr && !bit_at(valid, row))) continue;
    const int64_t buffer = load<int32_t>(view, 2);
    const int64_t offset = load<int32_t>(view, 3);
    if (!lies_inside(array, size, buffer, offset)) throw ExchangeError("a view lies outside of its data buffers");
    visit(row, size, array.shared[static_cast<std::size_t>(buffer)].data + offset);
  }
}

// Copies the bytes of the long views into new data buffers of at most 2^31 - 1 bytes, one after the other.
void own_views(const Sharing& sharing, Array& array) {
  std::vector<int64_t> bytes;
  for_each_long_view(sharing, array, [&](int64_t, int64_t size, const std::byte*) {
    if (bytes.empty() || bytes.back() > INT32_MAX - size) bytes.push_back(0);
    bytes.back() += size;
  });
  std::vector<NewBuffer> data;
  for (const int64_t size : bytes) data.push_back(allocate(size));
  const NewBuffer views = allocate_zeros(bytes_of_values(array.offset + array.length, kViewBytes));
  for (int64_t row = array.offset; row < array.offset + array.length; ++row) {
    const std::byte* const view = array.first.data + row * kViewBytes;
    const auto size = load<int32_t>(view, 0);
    if (size >= 0 && size <= kInlineBytes) std::memcpy(views.data + row * kViewBytes, view, kViewBytes);
  }
  std::size_t at = 0;
  int64_t used = 0;
  for_each_long_view(sharing, array, [&](int64_t row, int64_t size, const std::byte* source) {
    if (used > INT32_MAX - size) {
      ++at;
      used = 0;
    }
    std::byte* const view = views.data + row * kViewBytes;
    std::memcpy(view, array.first.data + row * kViewBytes, 8);  // the size and the first four bytes
    store(view, 2, static_cast<int32_t>(at));
    store(view, 3, static_cast<int32_t>(used));
    std::memcpy(data[at].data + used, source, static_cast<std::size_t>(size));
    used += size;
  });
  array.first = views.buffer;
  array.shared.clear();
  for (NewBuffer& buffer : data) array.shared.push_back(std::move(buffer.buffer));
  array.shared_bytes = std::move(bytes);
}

std::shared_ptr<const Array> own_dictionary(const Sharing& sharing, const Type& type, const Array& dictionary) {
  Pieces all;
  all.push_back({&dictionary, dictionary.offset, dictionary.length});
  RangeList rows;
  rows.add(0, 0, dictionary.length);
  const RowTaker taker(sharing, RowTaker::kOneColumn);
  return std::make_shared<const Array>(owned(sharing, type, taker.take(type, all, rows.picks())));
}

Array owned(const Sharing& sharing, const Type& type, Array array) {
  for (std::size_t i = 0; i < array.children.size(); ++i) {
    array.children[i] = owned(sharing, type.children[i], std::move(array.children[i]));
  }
  if (type.layout == Layout::view && !array.shared.empty()) own_views(sharing, array);
  if (type.dictionary) array.dictionary = own_dictionary(sharing, *type.dictionary, *array.dictionary);
  return array;
}

}  // namespace

Frame with_own_memory(const Sharing& sharing, const Frame& result) {
  Frame own = result;
  for (Array& chunk : own.data.chunks) chunk = owned(sharing, *own.data.type, std::move(chunk));
  return own;
}

}  // namespace gs::table
