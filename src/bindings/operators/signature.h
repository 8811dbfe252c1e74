// signature.h: defines the geometry and dtype of an operand that a plan was made for.
#pragma once

#include <string>

#include "bindings/arguments/from_python.h"
#include "bindings/arguments/plain_array.h"

namespace gs {

// Geometry and dtype of an operand, without its memory.
struct Signature {
  Signature() = default;
  explicit Signature(const Operand& operand);
  Operand operand() const;   // an operand without memory
  PlainArray plain() const;  // an array without memory, of at most PlainArray::kMaxRank axes
  bool matches(const Operand& other) const;
  std::string text() const;  // "float32 (3, 5)"
  friend bool operator==(const Signature& a, const Signature& b);

  bool given = false;
  Dims extent;
  Dims stride;
  int64_t item = 1;
  ElementType type;
  IndexType index_type = IndexType::i64;
};

// Whether two layouts of one shape have equal addresses: strides of axes of extent 1 and of empty arrays do not matter.
bool same_strides(const Dims& extent, const Dims& a, const Dims& b);

}  // namespace gs
