// fresh_arrays.cpp: allocates arrays from the memory pool: empty ones, and those of positions.
#include "bindings/operators/fresh_arrays.h"

#include <algorithm>
#include <string>
#include <vector>

#include "bindings/arguments/keywords.h"
#include "bindings/arguments/to_python.h"
#include "bindings/python_context.h"
#include "bindings/python_errors.h"
#include "core/checked.h"
#include "core/error.h"
#include "core/point.h"
#include "core/repeat_positions.h"

namespace gs {
namespace {

constexpr int64_t kCountsPerBlock = 16384;  // whose positions one thread writes
constexpr int64_t kMostBlocks = 4096;
constexpr int64_t kIndicesPerBlock = 16384;  // whose positions one thread resolves

void read(py::handle op, Role role, const py::object& object, Operand& operand) {
  adopt(op, role, object, operand);
  borrow(role, operand);
}

// An array without values, of the shape, library and dtype of `like`, which lies in host memory.
py::object empty_like(const py::str& op, const py::object& like) {
  PyObject* answer = guarded(std::string(op).c_str(), [&] {
    Operands operands;
    read(op, Role::data, like, operands.input);
    Result result(operands, operands.input.view.extent);
    return result.take();
  });
  if (answer == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(answer);
}

// Runs work(first, last) for blocks of the counts.
template <class Work>
Outcome for_blocks(int64_t blocks, const RunOptions& options, const Work& work) {
  ParallelWork all;
  all.count = blocks;
  all.context = const_cast<Work*>(&work);
  all.run = [](void* context, int64_t begin, int64_t end) { (*static_cast<const Work*>(context))(begin, end); };
  return host_backend().parallel_for(all, options);
}

// Each position as often as its count says, in the dtype of `like`, an array of integers that can hold every position.
// `counts` is a contiguous array of int64 that nothing else writes to. None if a count is negative.
py::object repeated_positions(const py::str& op, const py::object& counts, const py::object& like) {
  PyObject* answer = guarded(std::string(op).c_str(), [&]() -> py::object {
    Operands operands;
    read(op, Role::data, like, operands.input);
    Operand numbers;
    read(op, Role::index, counts, numbers);
    const IndexView& view = numbers.view;
    const bool in_order = view.extent.size() == 1 && (view.extent[0] < 2 || view.stride[0] == int64_t{sizeof(int64_t)});
    if (view.type != IndexType::i64 || !in_order) {
      throw DTypeError("the counts are no contiguous array of int64");
    }
    const auto* const data = reinterpret_cast<const int64_t*>(view.data);
    const int64_t n = view.extent[0];
    const int64_t length = std::max(kCountsPerBlock, (n + kMostBlocks - 1) / kMostBlocks);
    const int64_t blocks = (n + length - 1) / length;
    const auto size_of = [&](int64_t block) { return std::min(length, n - block * length); };
    std::vector<int64_t> start(static_cast<size_t>(blocks) + 1, 0);
    run_work(false, [&](const RunOptions& options) {
      for_blocks(blocks, options, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          start[static_cast<size_t>(b) + 1] = sum_of_counts(data + b * length, size_of(b));
        }
      });
    });
    for (const int64_t sum : start) {
      if (sum == kNegativeCount) return py::none();
    }
    for (size_t b = 1; b < start.size(); ++b) {
      if (start[b] == kTooManyCounts || __builtin_add_overflow(start[b], start[b - 1], &start[b])) {
        throw ShapeError("the sum of the counts is beyond int64");
      }
    }
    const int64_t item = operands.input.view.item;
    checked_mul(start.back(), item);
    Result result(operands, Dims{start.back()});
    run_work(false, [&](const RunOptions& options) {
      for_blocks(blocks, options, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          const int64_t at = start[static_cast<size_t>(b)];
          repeat_positions(data + b * length, b * length, size_of(b), start[static_cast<size_t>(b) + 1] - at,
                           result.data() + at * item, item);
        }
      });
    });
    return result.take();
  });
  if (answer == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(answer);
}

// The position of each of some indices on an axis of an extent, int64 as `like`, and INT64_MIN for one without a
// position. For callers that divide a call by positions, such as Dask's chunks. `index` is contiguous.
py::object resolve_index(const py::str& op, const py::object& index, int64_t extent, const py::object& bounds,
                         const py::object& negative, const py::object& like) {
  PyObject* answer = guarded(std::string(op).c_str(), [&] {
    Operands operands;
    read(op, Role::data, like, operands.input);
    Operand given;
    read(op, Role::index, index, given);
    const IndexView& view = given.view;
    const Rule rule = parse_rule(bounds.ptr(), negative.ptr(), Direction::gather);
    const int64_t size = index_size(view.type);
    int64_t count = 1;
    bool in_order = true;
    for (int d = view.rank() - 1; d >= 0; --d) {
      in_order = in_order && (view.extent[d] == 1 || view.stride[d] == count * size);
      count *= view.extent[d];
    }
    if (count > 0 && !in_order) throw DTypeError("the indices are not contiguous");
    Result result(operands, view.extent);
    auto* const target = reinterpret_cast<int64_t*>(result.data());
    run_work(false, [&](const RunOptions& options) {
      for_blocks((count + kIndicesPerBlock - 1) / kIndicesPerBlock, options, [&](int64_t first, int64_t last) {
        const int64_t end = std::min(last * kIndicesPerBlock, count);
        for (int64_t i = first * kIndicesPerBlock; i < end; ++i) {
          target[i] = resolve_any(view.type, view.data + i * size, extent, rule);
        }
      });
    });
    return result.take();
  });
  if (answer == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(answer);
}

}  // namespace

void bind_fresh_arrays(py::module_& module) {
  module.def("empty_like", &empty_like, py::arg("op"), py::arg("like"));
  module.def("resolve_index", &resolve_index, py::arg("op"), py::arg("index"), py::arg("extent"), py::arg("bounds"),
             py::arg("negative"), py::arg("like"));
  module.def("repeated_positions", &repeated_positions, py::arg("op"), py::arg("counts"), py::arg("like"));
}

}  // namespace gs
