// overlap.cpp: decides whether strided arrays share memory, by solving a bounded linear Diophantine equation.
//
// Two elements share a byte if  a + Σ i_k·s_k + x = b + Σ j_k·t_k + y  for coordinates i, j within the extents and
// bytes x, y within the items. With positive coefficients the equation is  Σ c_k·z_k = r  with  0 <= z_k <= u_k. A
// depth-first search solves it: the sum of the remaining terms bounds each z_k, and the greatest common divisor of the
// remaining coefficients leaves one residue class for it. The equation is NP-hard in general, so the search has a limit
// of steps, which ordinary arrays do not come near.
#include "calls/overlap.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

namespace gs {
namespace {

using Int128 = __int128;

constexpr int64_t kMostSteps = 1'000'000;

struct Term {
  int64_t coefficient;  // above 0
  int64_t most;         // the variable lies in [0, most]
};

enum class Answer { no, yes, unknown };

class Equation {
 public:
  // Adds coefficient · z for z in [0, most]. For a negative coefficient, z is replaced by most - z.
  void add(int64_t coefficient, int64_t most) {
    if (coefficient == 0 || most <= 0) return;
    if (coefficient < 0) {
      right_ -= Int128{coefficient} * most;
      coefficient = -coefficient;
    }
    terms_.push_back({coefficient, most});
  }
  // Adds coefficient · z for z in [-most, most].
  void add_difference(int64_t coefficient, int64_t most) {
    if (most > INT64_MAX / 2) {
      is_too_large_ = true;
      return;
    }
    right_ += Int128{coefficient} * most;
    add(coefficient, 2 * most);
  }
  void add_right(Int128 value) { right_ += value; }

  Answer solve() {
    if (is_too_large_) return Answer::unknown;
    // Large coefficients first, so that bounds cut early. Equal ones are one term.
    std::sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) { return a.coefficient > b.coefficient; });
    std::size_t kept = 0;
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      if (kept > 0 && terms_[kept - 1].coefficient == terms_[k].coefficient) {
        if (__builtin_add_overflow(terms_[kept - 1].most, terms_[k].most, &terms_[kept - 1].most))
          return Answer::unknown;
      } else {
        terms_[kept++] = terms_[k];
      }
    }
    terms_.resize(kept);
    rest_.assign(kept + 1, {0, 0});
    for (std::size_t k = kept; k-- > 0;) {
      rest_[k].divisor = std::gcd(terms_[k].coefficient, rest_[k + 1].divisor);
      rest_[k].most = rest_[k + 1].most + Int128{terms_[k].coefficient} * terms_[k].most;
    }
    steps_ = 0;
    return search(0, right_);
  }

 private:
  // The terms from one on: the greatest common divisor of their coefficients, and their largest sum.
  struct Rest {
    int64_t divisor;
    Int128 most;
  };

  Answer search(std::size_t k, Int128 right) {
    if (right < 0 || right > rest_[k].most) return Answer::no;
    if (right == 0) return Answer::yes;  // all remaining variables are 0
    if (right % rest_[k].divisor != 0) return Answer::no;
    const Term& term = terms_[k];
    if (k + 1 == terms_.size()) return Answer::yes;  // divisible, and within the bound
    // The variable leaves a remainder that the other terms can reach: at most their sum, at least 0.
    const Int128 c = term.coefficient;
    const Int128 short_by = right - rest_[k + 1].most;
    Int128 low = short_by <= 0 ? Int128{0} : (short_by + c - 1) / c;
    const Int128 high = std::min<Int128>(term.most, right / c);
    // (right - c·z) must be a multiple of the divisor of the others: z is in one class modulo `period`.
    const int64_t others = rest_[k + 1].divisor;
    const int64_t period = others / std::gcd(term.coefficient, others);
    for (int64_t tries = 0; low <= high && (right - c * low) % others != 0; ++tries, ++low) {
      if (tries == period) return Answer::no;
      if (++steps_ > kMostSteps) return Answer::unknown;
    }
    if (low > high) return Answer::no;
    for (Int128 z = high - (high - low) % period; z >= low; z -= period) {
      if (++steps_ > kMostSteps) return Answer::unknown;
      const Answer answer = search(k + 1, right - c * z);
      if (answer != Answer::no) return answer;
    }
    return Answer::no;
  }

  std::vector<Term> terms_;
  std::vector<Rest> rest_;
  Int128 right_ = 0;
  int64_t steps_ = 0;
  bool is_too_large_ = false;
};

struct AddressInterval {
  const std::byte* begin;
  const std::byte* end;
};

AddressInterval interval_of(const ArrayView& view) {
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
  return view.item == 0 || std::find(view.extent.begin(), view.extent.end(), 0) != view.extent.end();
}

}  // namespace

bool overlap(const ArrayView& a, const ArrayView& b) {
  if (is_empty(a) || is_empty(b)) return false;
  const AddressInterval x = interval_of(a);
  const AddressInterval y = interval_of(b);
  if (x.end <= y.begin || y.end <= x.begin) return false;
  Equation equation;
  equation.add_right(Int128{reinterpret_cast<intptr_t>(b.data)} - reinterpret_cast<intptr_t>(a.data));
  for (int axis = 0; axis < a.rank(); ++axis) equation.add(a.stride[axis], a.extent[axis] - 1);
  for (int axis = 0; axis < b.rank(); ++axis) equation.add(-b.stride[axis], b.extent[axis] - 1);
  equation.add(1, a.item - 1);
  equation.add(-1, b.item - 1);
  return equation.solve() != Answer::no;
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
  bool is_nested = true;
  for (const auto& [stride, extent] : axes) {
    if (stride == 0) return true;
    is_nested = is_nested && stride >= span;
    span += stride * (extent - 1);
  }
  if (is_nested) return false;
  // Two elements differ by d_k along axis k, and overlap if Σ d_k·s_k is less than an item. Of d and -d, the one whose
  // first non-zero entry is positive is enough.
  for (std::size_t first = 0; first < axes.size(); ++first) {
    Equation equation;
    equation.add_right(-Int128{axes[first].first});
    equation.add(axes[first].first, axes[first].second - 2);
    for (std::size_t k = first + 1; k < axes.size(); ++k) equation.add_difference(axes[k].first, axes[k].second - 1);
    equation.add_difference(1, view.item - 1);
    if (equation.solve() != Answer::no) return true;
  }
  return false;
}

}  // namespace gs
