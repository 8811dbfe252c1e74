// shared_file.cpp: implements shared_file.h.
#include "bindings/arguments/shared_file.h"

#include <unistd.h>

#include <optional>

#include "bindings/numpy_api.h"
#include "calls/copy.h"
#include "host/file_mapping.h"

namespace gs {
namespace {

// Whether NumPy allocated the memory of an ndarray, or that of the ndarray of which it is a view.
bool is_allocated_by_numpy(PyObject* object) {
  while (object != nullptr && PyArray_Check(object)) {
    auto* const array = reinterpret_cast<PyArrayObject*>(object);
    if (PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA)) return true;
    object = PyArray_BASE(array);
  }
  return false;
}

// Whether an address lies in the heap of the process, which is never a file. The heap grows and shrinks at its end.
bool is_in_heap(const std::byte* address) {
  static const std::byte* const begin = [] {
    const auto* const end = static_cast<const std::byte*>(sbrk(0));
    const host::MemoryMapping heap = host::mapping_at(end - 1);
    return heap.path == "[heap]" ? reinterpret_cast<const std::byte*>(heap.begin) : end;
  }();
  return begin <= address && address < static_cast<const std::byte*>(sbrk(0));
}

bool is_private(Library library, PyObject* object, const std::byte* data) {
  if (object == nullptr) return true;                                    // a value that the call keeps
  if (library == Library::numpy && !PyArray_Check(object)) return true;  // a number was copied
  return (library == Library::numpy && is_allocated_by_numpy(object)) || is_in_heap(data);
}

// The bytes [begin, end) of a file that an array spans, and its mapping.
struct FileRange {
  uint64_t device;
  uint64_t inode;
  uintptr_t mapping;
  int64_t begin;
  int64_t end;

  bool shares_bytes_with(const FileRange& other) const {
    if (device != other.device || inode != other.inode || mapping == other.mapping) return false;
    return begin < other.end && other.begin < end;
  }
};

std::optional<FileRange> file_range(const Operand& operand) {
  const ArrayView& view = operand.view;
  if (is_private(operand.library, operand.object.ptr(), view.data) || bytes_of(view) == 0) return {};
  const std::byte* low = view.data;
  const std::byte* high = view.data + view.item;
  for (int axis = 0; axis < view.rank(); ++axis) {
    const int64_t span = (view.extent[axis] - 1) * view.stride[axis];
    (span < 0 ? low : high) += span;
  }
  // The memory of an ndarray may have been another one a moment ago, so the thread's cache does not serve.
  const host::MemoryMapping mapping =
      operand.library == Library::numpy ? host::mapping_at(low) : host::known_mapping(low).mapping;
  if (!mapping.is_file()) return {};
  const int64_t begin = mapping.offset + static_cast<int64_t>(reinterpret_cast<uintptr_t>(low) - mapping.begin);
  return FileRange{mapping.device, mapping.inode, mapping.begin, begin, begin + (high - low)};
}

// Whether memory that is read may be another mapping than that of `out`. Looks at no mapping.
bool may_be_other_mapping(const Operand& read, const Operand& out) {
  if (read.object.is(out.object) || (out.original && out.original.is(read.original))) return false;
  return !is_private(read.library, read.object.ptr(), read.view.data);
}

}  // namespace

bool may_share_file(const PlainArray& written, const PlainArray& read) {
  if (is_private(written.library, written.object, written.data)) return false;
  if (is_private(read.library, read.object, read.data)) return false;
  const auto is_file = [](const PlainArray& array) {
    return array.library == Library::numpy || host::known_mapping(array.data).mapping.is_file();
  };
  return is_file(written) && is_file(read);
}

bool detach_from_file(CallContext& call, const Operands& operands, Views& views) {
  const Operand& out = operands.out;
  if (operands.device_call != nullptr || is_private(out.library, out.object.ptr(), out.view.data)) return false;
  bool any_other = may_be_other_mapping(operands.input, out) || may_be_other_mapping(operands.mask, out) ||
                   may_be_other_mapping(operands.fill, out) || may_be_other_mapping(operands.source, out);
  for (const Operand& index : operands.indices) any_other = any_other || may_be_other_mapping(index, out);
  if (!any_other) return false;
  const std::optional<FileRange> target = file_range(out);
  if (!target) return false;
  bool any = false;
  const auto detach = [&](const Operand& operand, ArrayView& view) {
    const std::optional<FileRange> range = file_range(operand);
    if (!range || !range->shares_bytes_with(*target)) return;
    const ArrayView own = contiguous_view(call.allocate(bytes_of(view)), view.extent, view.item);
    copy_view(call, view, own);
    static_cast<ArrayView&>(view) = own;
    any = true;
  };
  detach(operands.input, views.input);
  for (std::size_t a = 0; a < views.indices.size(); ++a) detach(operands.indices[a], views.indices[a]);
  if (views.mask) detach(operands.mask, *views.mask);
  if (views.fill) detach(operands.fill, *views.fill);
  if (views.source) detach(operands.source, *views.source);
  return any;
}

}  // namespace gs
