// upload.cpp: see upload.h.
#include "table/device/upload.h"

#include "table/device/device_take.h"
#include "table/load.h"

namespace gs::table {
namespace {

Buffer copy(const DeviceContext& worker, const Buffer& buffer, int64_t bytes) {
  if (buffer.data == nullptr) return {};
  return worker.upload(buffer.data, bytes).buffer;
}

// Buffers from their beginning to the last row, so that offsets stay what they are.
Array copy(const DeviceContext& worker, const Type& type, const Array& array) {
  const int64_t rows = array.offset + array.length;
  Array out = array;
  out.validity = copy(worker, array.validity, (rows + 7) / 8);
  if (array.length > 0) {
    switch (type.layout) {
      case Layout::bits: out.first = copy(worker, array.first, (rows + 7) / 8); break;
      case Layout::fixed: out.first = copy(worker, array.first, rows * type.width); break;
      case Layout::binary:
      case Layout::list: out.first = copy(worker, array.first, (rows + 1) * type.width); break;
      default: break;
    }
    if (type.layout == Layout::binary) out.second = copy(worker, array.second, array.reach);
  }
  for (std::size_t i = 0; i < array.children.size(); ++i) {
    out.children[i] = copy(worker, type.children[i], array.children[i]);
  }
  if (array.dictionary != nullptr) {
    out.dictionary = std::make_shared<const Array>(copy(worker, *type.dictionary, *array.dictionary));
  }
  return out;
}

}  // namespace

Frame upload(const DeviceContext& worker, const Frame& frame) {
  if (frame.device != kHost) {
    throw InvalidArgument("a table on GPU " + std::to_string(frame.device) + ", the other on GPU " +
                          std::to_string(worker.device()));
  }
  std::vector<const Array*> chunks;
  for (const Array& chunk : frame.data.chunks) chunks.push_back(&chunk);
  std::string what;
  if (!is_picked_by_kernels(*frame.data.type, chunks, &what)) {
    throw DataTypeError("a column of " + what + " cannot go to a GPU");
  }
  Frame out = frame;
  out.device = worker.device();
  for (Array& chunk : out.data.chunks) chunk = copy(worker, *frame.data.type, chunk);
  worker.machine().synchronize();
  return out;
}

}  // namespace gs::table
