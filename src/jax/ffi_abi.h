// ffi_abi.h: declares the C structs of XLA's foreign function interface, version 0.3, as far as a handler on the CPU
// reads them. XLA's own headers come with jaxlib, which an isolated build does not have.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs {

inline constexpr int kFfiMajor = 0;
inline constexpr int kFfiMinor = 3;

// Every struct begins with its size as its maker knows it, and with a list of extensions.
enum FfiExtensionType : int32_t { kMetadataExtension = 1 };
struct FfiExtension {
  std::size_t struct_size;
  FfiExtensionType type;
  FfiExtension* next;
};

struct FfiApiVersion {
  std::size_t struct_size;
  FfiExtension* extensions;
  int major_version;
  int minor_version;
};

struct FfiError;  // opaque: XLA makes it and owns it once a handler has returned it
enum FfiErrorCode : int32_t { kInvalidArgument = 3, kResourceExhausted = 8, kOutOfRange = 11, kInternal = 13 };
struct FfiErrorArguments {
  std::size_t struct_size;
  FfiExtension* extensions;
  const char* message;  // copied by XLA
  FfiErrorCode code;
};

// The functions that XLA offers. A handler calls the first one only.
struct FfiApi {
  std::size_t struct_size;
  FfiExtension* extensions;
  FfiApiVersion version;
  const void* internal;
  FfiError* (*make_error)(FfiErrorArguments*);
};

enum FfiDataType : int32_t {
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kC64 = 15,
  kBF16 = 16,
  kC128 = 18,
  kF8E5M2 = 19,
  kF8E4M3FN = 20,
  kF8E4M3B11FNUZ = 23,
  kF8E5M2FNUZ = 24,
  kF8E4M3FNUZ = 25,
  kF8E4M3 = 28,
  kF8E3M4 = 29,
  kF8E8M0FNU = 33,
};

// Dense memory in C order, because the lowering asks for this layout.
struct FfiBuffer {
  std::size_t struct_size;
  FfiExtension* extensions;
  FfiDataType dtype;
  void* data;
  int64_t rank;
  int64_t* dims;
};

enum FfiBufferKind : int32_t { kBuffer = 1 };  // of arguments and of results

enum FfiAttributeType : int32_t { kArray = 1, kDictionary = 2, kScalar = 3, kString = 4 };
struct FfiByteSpan {
  const char* data;
  std::size_t size;
};
struct FfiArray {
  FfiDataType dtype;
  std::size_t size;  // number of elements
  void* data;
};

struct FfiBuffers {  // the arguments, or the results
  std::size_t struct_size;
  FfiExtension* extensions;
  int64_t size;
  FfiBufferKind* kinds;
  void** buffers;
};

struct FfiAttributes {
  std::size_t struct_size;
  FfiExtension* extensions;
  int64_t size;
  FfiAttributeType* types;
  FfiByteSpan** names;
  void** values;  // an FfiArray for kArray, an FfiByteSpan for kString
};

enum FfiStage : int32_t { kInstantiate = 0, kPrepare = 1, kInitialize = 2, kExecute = 3 };

struct FfiCallFrame {
  std::size_t struct_size;
  FfiExtension* extensions;
  const FfiApi* api;
  void* context;
  FfiStage stage;
  FfiBuffers arguments;
  FfiBuffers results;
  FfiAttributes attributes;
  void* future;  // set by handlers that go on after they have returned
};

// When a handler is registered, XLA calls it once with this extension, in which the handler names its version.
struct FfiMetadata {
  std::size_t struct_size;
  FfiApiVersion version;
  uint32_t traits;
  int64_t state_type;
};
struct FfiMetadataExtension {
  FfiExtension base;
  FfiMetadata* metadata;
};

using FfiHandler = FfiError*(FfiCallFrame*);

static_assert(sizeof(void*) != 8 || sizeof(FfiBuffer) == 48);
static_assert(sizeof(void*) != 8 || sizeof(FfiAttributes) == 48);
static_assert(sizeof(void*) != 8 || sizeof(FfiCallFrame) == 176);

}  // namespace gs
