// dlpack_view.h: validates the DLPack tensors of producers, without Python.
#pragma once

#include <cstdint>
#include <string>

#include "bindings/arguments/dlpack_abi.h"
#include "core/array_view.h"

namespace gs::dlpack {

// The largest rank that is accepted from a producer. check_dimensions throws ExchangeError for a larger one; `what`
// names the interface in the message.
inline constexpr int kMaxDimensions = 64;
void check_dimensions(const char* what, int64_t rank);

// Validates the header that a producer gives, before an address is computed from it. Throws ExchangeError or
// DTypeError.
ArrayView checked_view(const Tensor& tensor, bool subbyte_padded);

std::string dtype_name(DataType dtype);  // "float32", "bfloat16", ..

inline constexpr bool is_host(Device device) {
  return device.type == kCpu || device.type == kCudaHost || device.type == kCudaManaged;
}

}  // namespace gs::dlpack
