// read_ahead.h: asks for the pages of a mapped file that a plan touches on its indexed side before the plan runs.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "host/file_mapping.h"

namespace gs::cpu {

// How the points of a plan may be divided where its pages take more memory than they may.
enum class Parts : uint8_t {
  one,         // not at all: such a plan runs without any request
  contiguous,  // into parts that run one after the other, in C order
};

// Whether the indexed side spans so many bytes that it is looked up.
inline bool is_worth_a_lookup(const Plan& plan) {
  const Span span = indexed_span(plan);
  return span.high - span.low >= host::kLeastMappedBytes;
}

// Runs move(plan, buffers, options), which returns an Outcome, on the whole plan or part by part, each after a request
// of its pages. `budget`: bytes that the pages may take. Throws FileError before the first move if the file has been
// truncated.
using MoveParts = Outcome (*)(const void* context, const Plan& plan, const Buffers& buffers, const RunOptions& options);
Outcome read_ahead(const Plan& plan, const Buffers& buffers, const RunOptions& options, Parts parts, int64_t budget,
                   MoveParts move, const void* context);

// The same for any callable, and without a call for plans that are not worth a lookup.
inline constexpr int64_t kHostBudget = 0;  // that of host::page_budget
template <class Move>
Outcome run_with_pages(const Plan& plan, const Buffers& buffers, const RunOptions& options, Parts parts,
                       const Move& move, int64_t budget = kHostBudget) {
  if (!is_worth_a_lookup(plan)) return move(plan, buffers, options);
  const auto call = [](const void* context, const Plan& part, const Buffers& memory, const RunOptions& own) {
    return (*static_cast<const Move*>(context))(part, memory, own);
  };
  return read_ahead(plan, buffers, options, parts, budget, call, &move);
}

// Runs a small plan as move(), which returns whether it has moved all points, after a request of all of its pages on
// the calling thread. Returns false as well if the file has been truncated: the call then runs as a large one, which
// throws.
bool read_ahead_small(const Plan& plan, const Buffers& buffers, bool (*move)(const void* context),
                      const void* context) noexcept;

template <class Move>
bool run_small_with_pages(const Plan& plan, const Buffers& buffers, const Move& move) noexcept {
  return read_ahead_small(
      plan, buffers, [](const void* context) { return (*static_cast<const Move*>(context))(); }, &move);
}

}  // namespace gs::cpu
