// dlpack_view.cpp: implements dlpack_view.h.
#include "bindings/arguments/dlpack_view.h"

#include <cstddef>

#include "core/checked.h"
#include "core/error.h"
#include "plans/checks.h"

namespace gs::dlpack {

std::string dtype_name(DataType dtype) {
  const char* const names[] = {"int", "uint", "float", "opaque", "bfloat", "complex"};
  const char* const narrow[] = {"float8_e3m4",     "float8_e4m3",   "float8_e4m3b11fnuz", "float8_e4m3fn",
                                "float8_e4m3fnuz", "float8_e5m2",   "float8_e5m2fnuz",    "float8_e8m0fnu",
                                "float6_e2m3fn",   "float6_e3m2fn", "float4_e2m1fn"};
  if (dtype.code == kBool) return dtype.bits <= 8 ? "bool" : "bool" + std::to_string(dtype.bits);
  if (dtype.code < kBool) return names[dtype.code] + std::to_string(dtype.bits);
  return dtype.code <= kLastCode ? narrow[dtype.code - kFloat8E3M4] : "code" + std::to_string(dtype.code);
}

void check_dimensions(const char* what, int64_t rank) {
  if (rank <= kMaxDimensions) return;
  throw ExchangeError(std::string(what) + " with " + std::to_string(rank) + " dimensions, expected at most " +
                      std::to_string(kMaxDimensions));
}

ArrayView checked_view(const Tensor& tensor, bool subbyte_padded) try {
  if (!is_host(tensor.device) && tensor.device.type != kCuda) {
    throw ExchangeError("array lies on device type " + std::to_string(tensor.device.type) +
                        "; only host memory and CUDA devices are supported");
  }
  if (tensor.ndim < 0) throw ExchangeError("DLPack tensor with a negative number of dimensions");
  if (tensor.ndim > 0 && tensor.shape == nullptr) throw ExchangeError("DLPack tensor without a shape");
  if (tensor.dtype.lanes != 1) throw DTypeError("DLPack dtypes of more than one lane are not supported");
  if (tensor.dtype.code == kOpaque || tensor.dtype.code > kLastCode) {
    throw DTypeError("DLPack dtype code " + std::to_string(tensor.dtype.code) + " is an opaque handle or unknown");
  }
  const int bits = tensor.dtype.bits;
  if (bits == 0 || (bits % 8 != 0 && !subbyte_padded)) {
    throw DTypeError("DLPack dtype of " + std::to_string(bits) + " bits, expected a multiple of 8");
  }
  ArrayView view;
  view.item = (bits + 7) / 8;
  view.extent.append(tensor.shape, tensor.ndim);
  bool empty = false;
  for (const int64_t n : view.extent) {
    if (n < 0) throw ExchangeError("DLPack tensor with a negative extent");
    empty = empty || n == 0;
  }
  if (tensor.strides != nullptr) {
    // No address is computed from the strides of an empty array, so they may have any value.
    for (int axis = 0; axis < tensor.ndim; ++axis) {
      const bool is_used = !empty && view.extent[axis] > 1;
      view.stride.push_back(is_used ? checked_mul(tensor.strides[axis], view.item) : 0);
    }
  } else {
    view.stride = contiguous_strides(view.extent, view.item);
  }
  if (!empty) {
    if (tensor.data == nullptr) throw ExchangeError("DLPack tensor without data");
    if (tensor.byte_offset > static_cast<uint64_t>(PTRDIFF_MAX)) {
      throw ExchangeError("DLPack tensor with a byte offset beyond the address space");
    }
    ArrayView with_offset = view;
    with_offset.extent.push_back(2);
    with_offset.stride.push_back(static_cast<int64_t>(tensor.byte_offset));
    check_extents(with_offset);
    view.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  }
  return view;
} catch (const ShapeError& error) {
  throw ExchangeError(std::string("DLPack tensor with invalid extents: ") + error.what());
}

}  // namespace gs::dlpack
