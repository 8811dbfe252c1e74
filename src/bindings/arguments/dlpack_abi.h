// dlpack_abi.h: declares the C structs of DLPack 1.3, the in-memory exchange format of array libraries
// (https://dmlc.github.io/dlpack).
#pragma once

#include <cstdint>

namespace gs::dlpack {

struct Version {
  uint32_t major;
  uint32_t minor;
};

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };

struct Device {
  int32_t type;
  int32_t id;
};

enum TypeCode : uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kOpaque = 3,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E3M4 = 7,
  kFloat8E4M3 = 8,
  kFloat8E4M3B11FNUZ = 9,
  kFloat8E4M3FN = 10,
  kFloat8E4M3FNUZ = 11,
  kFloat8E5M2 = 12,
  kFloat8E5M2FNUZ = 13,
};
inline constexpr uint8_t kLastCode = 17;  // codes 7 to 17 are floats of 8, 6 and 4 bits

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  friend bool operator==(const DataType&, const DataType&) = default;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: C-contiguous
  uint64_t byte_offset;
};

// The struct of DLPack before 1.0, without a version.
struct ManagedTensor {
  Tensor tensor;
  void* manager;
  void (*deleter)(ManagedTensor*);
};

inline constexpr uint64_t kFlagReadOnly = 1;
inline constexpr uint64_t kFlagSubbytePadded = 4;

struct ManagedTensorVersioned {
  Version version;
  void* manager;
  void (*deleter)(ManagedTensorVersioned*);
  uint64_t flags;
  Tensor tensor;
};

// Function table of a tensor type, in its attribute `__dlpack_c_exchange_api__`. The functions return 0, or -1 with a
// Python error.
struct ExchangeHeader {
  Version version;
  ExchangeHeader* previous;
};

struct ExchangeApi {
  ExchangeHeader header;
  int (*allocate)(Tensor*, ManagedTensorVersioned**, void*, void (*)(void*, const char*, const char*));
  int (*managed_from_object)(void*, ManagedTensorVersioned**);
  int (*managed_to_object)(ManagedTensorVersioned*, void**);
  int (*tensor_from_object)(void*, Tensor*);  // a borrowed view, valid as long as the object; may be null
  int (*current_stream)(int32_t, int32_t, void**);
};

static_assert(sizeof(void*) != 8 || sizeof(Tensor) == 48);
static_assert(sizeof(void*) != 8 || sizeof(ManagedTensor) == 64);
static_assert(sizeof(void*) != 8 || sizeof(ManagedTensorVersioned) == 80);

}  // namespace gs::dlpack
