// torch_memory.h: queries what torch's exchange table does not give: the size of the storage of a tensor, and dtypes
// that DLPack has no code for.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/arguments/dlpack_abi.h"

namespace gs::dlpack {

// The functions of torch's stable C interface for these queries. Null if this version of torch does not have them.
class TorchMemory {
 public:
  TorchMemory() = default;
  explicit TorchMemory(PyTypeObject* tensor_type);

  // Whether a tensor agrees with its header: its elements are inside its storage, and its dtype is `dtype`. Runs no
  // Python code of the caller or of a torch mode. False also if the functions cannot decide.
  bool confirms(PyObject* object, DataType dtype, int64_t item, int rank, const int64_t* extent,
                const int64_t* stride) const;
  // Whether a tensor has no memory: it is fake, meta, or inside of functionalize, where the address of a view is its
  // offset. Runs no Python code.
  bool is_unbacked(PyObject* object, const Tensor& header) const;
  // Whether the items of a tensor are integers or bools, which have neither gradients nor lazy bits. Runs no Python
  // code. False also if the functions cannot decide.
  bool is_integer(PyObject* object) const;

 private:
  using Query64 = int32_t (*)(const void* tensor, int64_t* answer);
  using Query32 = int32_t (*)(const void* tensor, int32_t* answer);
  const void* tensor_in(PyObject* object) const;
  const PyGetSetDef* address_ = nullptr;  // torch.Tensor._cdata
  Query64 storage_bytes_ = nullptr;
  Query64 storage_offset_ = nullptr;
  Query32 dtype_ = nullptr;
  int32_t int8_ = 0;  // torch's numbers of its dtypes
  int32_t uint8_ = 0;
  uint64_t integers_ = 0;  // a bit for each of these numbers that is a dtype of integers or bools
};

}  // namespace gs::dlpack
