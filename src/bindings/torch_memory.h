// torch_memory.h: what torch's exchange table does not say of a tensor: how long its storage is, and a dtype that
// DLPack has no name for.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/dlpack_abi.h"

namespace gs::dlpack {

// The part of torch's stable C interface that answers both. Null where this torch has it not.
class TorchMemory {
 public:
  TorchMemory() = default;
  explicit TorchMemory(PyTypeObject* tensor_type);

  // Whether a tensor is what the table says: its elements lie in its storage, and its dtype is the one that is named.
  // Runs no Python code of the caller's, nor of a mode's. False also where more has to be asked.
  bool confirms(PyObject* object, DataType dtype, int64_t item, int rank, const int64_t* extent,
                const int64_t* stride) const;

 private:
  using Ask64 = int32_t (*)(const void* tensor, int64_t* answer);
  using Ask32 = int32_t (*)(const void* tensor, int32_t* answer);
  const void* tensor_in(PyObject* object) const;
  const PyGetSetDef* address_ = nullptr;  // torch.Tensor._cdata
  Ask64 storage_bytes_ = nullptr;
  Ask64 storage_offset_ = nullptr;
  Ask32 dtype_ = nullptr;
  int32_t int8_ = 0;  // numbers of torch's dtypes
  int32_t uint8_ = 0;
};

}  // namespace gs::dlpack
