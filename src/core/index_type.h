// index_type.h: defines the eight integer types of index arrays, which kernels read without a separate cast.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace gs {

enum class IndexType : uint8_t { i8, i16, i32, i64, u8, u16, u32, u64 };

constexpr int index_size(IndexType type) {
  return 1 << (static_cast<int>(type) & 3);
}
constexpr bool index_is_signed(IndexType type) {
  return type <= IndexType::i64;
}

constexpr const char* index_name(IndexType type) {
  constexpr const char* names[] = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"};
  return names[static_cast<int>(type)];
}

// Calls visitor.operator()<Index>(), where Index is the C++ type of `type`.
template <class Visitor>
decltype(auto) visit_index(IndexType type, Visitor&& visitor) {
  switch (type) {
    case IndexType::i8: return visitor.template operator()<int8_t>();
    case IndexType::i16: return visitor.template operator()<int16_t>();
    case IndexType::i32: return visitor.template operator()<int32_t>();
    case IndexType::i64: return visitor.template operator()<int64_t>();
    case IndexType::u8: return visitor.template operator()<uint8_t>();
    case IndexType::u16: return visitor.template operator()<uint16_t>();
    case IndexType::u32: return visitor.template operator()<uint32_t>();
    case IndexType::u64: return visitor.template operator()<uint64_t>();
  }
  std::abort();  // no other enumerator exists
}

}  // namespace gs
