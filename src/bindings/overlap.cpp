// overlap.cpp: decides whether strided arrays share memory. The exact test of two arrays is a bounded Diophantine
// problem, which NumPy solves.
#include "bindings/overlap.h"

#include <algorithm>
#include <vector>

#include "bindings/from_python.h"
#include "core/checked.h"

namespace gs {
namespace {

struct AddressInterval {
  const std::byte* begin;
  const std::byte* end;
};

AddressInterval range_of(const ArrayView& view) {
  const std::byte* begin = view.data;
  const std::byte* end = view.data + view.item;
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.extent[axis] == 1) continue;
    const int64_t span = (view.extent[axis] - 1) * view.stride[axis];
    (span < 0 ? begin : end) += span;
  }
  return {begin, end};
}

bool is_empty(const ArrayView& view) {
  return view.item == 0 || checked_count(view.extent) == 0;
}

constexpr int64_t kMaxWork = 1'000'000;

// The view without its axes of extent 1, because it may have more axes than NumPy allows.
ArrayView without_unit_axes(const ArrayView& view) {
  ArrayView kept = view;
  kept.extent.clear();
  kept.stride.clear();
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.extent[axis] == 1) continue;
    kept.extent.push_back(view.extent[axis]);
    kept.stride.push_back(view.stride[axis]);
  }
  return kept;
}

}  // namespace

bool overlap(const ArrayView& a, const ArrayView& b) {
  if (is_empty(a) || is_empty(b)) return false;
  const AddressInterval x = range_of(a);
  const AddressInterval y = range_of(b);
  if (x.end <= y.begin || y.end <= x.begin) return false;
  try {
    return python_part("numpy", "shares_memory")(as_opaque_ndarray(without_unit_axes(a)),
                                                 as_opaque_ndarray(without_unit_axes(b)), kMaxWork)
        .cast<bool>();
  } catch (py::error_already_set& error) {
    if (error.matches(python_part("numpy.exceptions", "TooHardError"))) return true;
    throw;
  }
}

bool overlaps_itself(const ArrayView& view) {
  if (is_empty(view)) return false;
  // Axes are sorted by stride. If every stride is at least the span of all axes with smaller ones, no two elements
  // overlap. This decides for ordinary arrays.
  std::vector<std::pair<int64_t, int64_t>> axes;
  for (int axis = 0; axis < view.rank(); ++axis) {
    if (view.extent[axis] > 1) axes.emplace_back(std::abs(view.stride[axis]), view.extent[axis]);
  }
  std::sort(axes.begin(), axes.end());
  int64_t span = view.item;
  bool nested = true;
  for (const auto& [stride, extent] : axes) {
    if (stride == 0) return true;
    nested = nested && stride >= span;
    span += stride * (extent - 1);
  }
  if (nested) return false;
  // Interleaved axes are rare, so all addresses are listed. An array that is too large for that counts as overlapping:
  // it is rejected, and nothing is written.
  const int64_t count = checked_count(view.extent);
  if (count > kMaxWork) return true;
  std::vector<int64_t> address{0};
  for (const auto& [stride, extent] : axes) {
    const std::size_t known = address.size();
    for (int64_t step = 1; step < extent; ++step) {
      for (std::size_t i = 0; i < known; ++i) address.push_back(address[i] + step * stride);
    }
  }
  std::sort(address.begin(), address.end());
  return std::adjacent_find(address.begin(), address.end(), [&](int64_t a, int64_t b) { return b - a < view.item; }) !=
         address.end();
}

}  // namespace gs
