// signature.cpp: makes and compares the signatures of operands.
#include "bindings/operators/signature.h"

#include <algorithm>

#include "plans/checks.h"

namespace gs {

bool same_strides(const Dims& extent, const Dims& a, const Dims& b) {
  bool empty = false;
  bool same = true;
  for (int axis = 0; axis < extent.size(); ++axis) {
    empty = empty || extent[axis] == 0;
    same = same && (extent[axis] == 1 || a[axis] == b[axis]);
  }
  return same || empty;
}

Signature::Signature(const Operand& operand)
    : given(operand.given),
      extent(operand.view.extent),
      stride(operand.view.stride),
      item(operand.view.item),
      type(operand.type),
      index_type(operand.view.type) {}

Operand Signature::operand() const {
  Operand operand;
  operand.given = given;
  operand.view.extent = extent;
  operand.view.stride = stride;
  operand.view.item = item;
  operand.type = type;
  operand.view.type = index_type;
  return operand;
}

PlainArray Signature::plain() const {
  PlainArray array;
  array.item = item;
  array.rank = extent.size();
  std::copy(extent.begin(), extent.end(), array.extent);
  std::copy(stride.begin(), stride.end(), array.stride);
  array.type = index_type;
  return array;
}

bool Signature::matches(const Operand& other) const {
  return given == other.given &&
         (!given || (extent == other.view.extent && same_strides(extent, stride, other.view.stride) &&
                     type.matches(other.type) && item == other.view.item && index_type == other.view.type));
}

bool operator==(const Signature& a, const Signature& b) {
  return a.matches(b.operand());
}

std::string Signature::text() const {
  if (!given) return "none";
  const bool contiguous = same_strides(extent, stride, contiguous_strides(extent, item));
  return type.name() + " " + to_string(extent) + (contiguous ? "" : " with strides " + to_string(stride));
}

}  // namespace gs
