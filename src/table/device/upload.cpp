// upload.cpp: implements upload.h.
#include "table/device/upload.h"

#include "arrow/load.h"
#include "table/device/device_take.h"
#include "table/row_errors.h"

namespace gs::table {
namespace {

Buffer copy(const DeviceContext& context, const Buffer& buffer, int64_t bytes) {
  if (buffer.data == nullptr) return {};
  return context.upload(buffer.data, bytes).buffer;
}

// Copies each buffer from its beginning to the array's last row, so that the array's offset stays valid.
Array copy(const DeviceContext& context, const Type& type, const Array& array) {
  const int64_t rows = array.offset + array.length;
  Array out = array;
  out.validity = copy(context, array.validity, (rows + 7) / 8);
  if (array.length > 0) {
    switch (type.layout) {
      case Layout::bits: out.first = copy(context, array.first, (rows + 7) / 8); break;
      case Layout::fixed: out.first = copy(context, array.first, rows * type.width); break;
      case Layout::binary:
      case Layout::list: out.first = copy(context, array.first, (rows + 1) * type.width); break;
      default: break;
    }
    if (type.layout == Layout::binary) out.second = copy(context, array.second, array.reach);
  }
  for (std::size_t i = 0; i < array.children.size(); ++i) {
    out.children[i] = copy(context, type.children[i], array.children[i]);
  }
  if (array.dictionary != nullptr) {
    out.dictionary = std::make_shared<const Array>(copy(context, *type.dictionary, *array.dictionary));
  }
  return out;
}

}  // namespace

Frame upload(const DeviceContext& context, const Frame& frame) {
  if (frame.device != kHost) {
    throw InvalidArgument("one table lies on GPU " + std::to_string(frame.device) + ", the other on GPU " +
                          std::to_string(context.device()) + ", expected one GPU for both");
  }
  std::vector<const Array*> chunks;
  for (const Array& chunk : frame.data.chunks) chunks.push_back(&chunk);
  std::string what;
  if (!is_picked_by_kernels(*frame.data.type, chunks, &what)) {
    throw DataTypeError("a column of " + what + " cannot be copied to a GPU");
  }
  Frame out = frame;
  out.device = context.device();
  for (Array& chunk : out.data.chunks) chunk = copy(context, *frame.data.type, chunk);
  context.machine().synchronize();
  return out;
}

}  // namespace gs::table
