// foreign_call.cpp: runs calls without Python on plans that each thread caches, and words their errors.
#include "bindings/operators/foreign_call.h"

#include <array>
#include <new>
#include <stdexcept>
#include <vector>

#include "bindings/operators/execute.h"
#include "bindings/thread_limits.h"
#include "calls/gather.h"
#include "calls/make_plan.h"
#include "calls/scatter.h"
#include "core/error.h"
#include "host/affinity.h"
#include "host/huge_pages.h"
#include "plans/checks.h"

namespace gs {
namespace {

// A call that Python neither interrupts nor watches.
class HostContext final : public CallContext {
 public:
  HostContext() = default;
  HostContext(const HostContext&) = delete;
  HostContext& operator=(const HostContext&) = delete;
  ~HostContext() override {
    for (std::byte* memory : memory_) host_backend().release(memory);
  }
  const Backend& backend() const override { return host_backend(); }
  bool is_interrupted() const override { return false; }
  void about_to_wait(const char*) override {}
  std::byte* allocate(int64_t bytes) override {
    memory_.reserve(memory_.size() + 1);
    memory_.push_back(host_backend().allocate(bytes));
    return memory_.back();
  }

 private:
  void run_erased(Lock, void (*work)(void*, const RunOptions&), void* context) override {
    RunOptions options;
    options.threads = process_thread_count();
    const host::AffinityScope affinity;
    work(context, options);
  }
  std::vector<std::byte*> memory_;
};

// Everything that a plan depends on besides the request: types, items, extents, and where strides are 0.
using Geometry64 = SmallVector<int64_t, 48>;

Geometry64 geometry_of(const Views& views) {
  Geometry64 words;
  const auto add = [&](const ArrayView& view, int64_t type) {
    bool repeats = false;
    for (int axis = 0; axis < view.rank(); ++axis) repeats |= view.stride[axis] == 0 && view.extent[axis] > 1;
    words.push_back(view.rank() | int64_t{repeats} << 16 | type << 20 | view.item << 32);
    words.append(view.extent.data(), view.rank());
  };
  const auto add_optional = [&](const std::optional<ArrayView>& view) {
    if (view) return add(*view, 1);
    words.push_back(-1);
  };
  add(views.input, 0);
  for (const IndexView& index : views.indices) add(index, static_cast<int64_t>(index.type));
  add_optional(views.mask);
  add_optional(views.fill);
  add_optional(views.source);
  return words;
}

// The recent plans of one thread. A jitted function calls from the threads of XLA's pool, again and again with the same
// geometry.
class RecentPlans {
 public:
  const Plan& find_or_make(const Request& request, const Views& views) {
    Geometry64 words = geometry_of(views);
    uint64_t hash = static_cast<uint64_t>(request.planner) << 8 | static_cast<uint64_t>(request.direction);
    for (const int64_t word : words) hash = (hash ^ static_cast<uint64_t>(word)) * 0x9E3779B97F4A7C15u;
    KeptPlan& entry = entries_[hash >> 60];
    if (entry.is_set && entry.words == words && entry.request == request) return entry.plan;
    entry.is_set = false;
    entry.plan = make(request, views);
    entry.request = request;
    entry.words = words;
    entry.is_set = true;
    return entry.plan;
  }

 private:
  struct KeptPlan {
    bool is_set = false;
    Geometry64 words;
    Request request;
    Plan plan;
  };
  static Plan make(const Request& request, const Views& views) {
    if (request.direction == Direction::gather) return make_plan(request, views);
    return make_scatter_plan(request, views);
  }
  std::array<KeptPlan, 16> entries_;
};

// Throws ShapeError if the call gives a result of another size than the caller has made memory for. Where shapes have
// symbols, tracing takes each symbol for an extent other than 1, and a symbol that is 1 is stretched here.
void check_result(const ForeignCall& call, const Plan& plan) {
  const ArrayView& input = call.views.input;
  const Dims& extent = call.request.direction == Direction::gather ? plan.result_shape : input.extent;
  if (call.result.extent == extent && call.result.item == input.item) return;
  throw ShapeError("the result was traced as " + to_string(call.result.extent) + ", but these arrays give " +
                   to_string(extent) +
                   "; a symbol of its shapes may be 1 here, which is stretched: trace that case apart");
}

CallResult run_on_host(const ForeignCall& call, const Plan& plan) {
  HostContext context;
  check_result(call, plan);
  std::byte* const result = call.result.data;
  // The memory of a result is usually fresh, unless it holds the input already.
  if (!call.holds_input) host::prefer_huge_pages(result, static_cast<std::size_t>(bytes_of(call.result)));
  if (call.request.direction == Direction::gather) {
    return run_gather(context, call.request, plan, call.views, result);
  }
  if (call.holds_input) return run_scatter_onto(context, call.request, plan, call.views, result);
  return run_scatter(context, call.request, &plan, call.views, result);
}

// The message of OutOfBoundsError (errors.py). It is worded without Python, because the thread that runs the call may
// outlive the interpreter, and exit waits for it.
std::string out_of_bounds_text(const char* op, const Plan& plan, const BadIndex& bad) {
  const bool is_signed = index_is_signed(bad.type);
  const bool from_end = is_signed && plan.rule.negative == Negative::from_end;
  const std::string index = is_signed ? std::to_string(static_cast<int64_t>(bad.bits)) : std::to_string(bad.bits);
  std::string text = "index " + index + " is out of bounds for axis " + std::to_string(bad.axis) + " with size " +
                     std::to_string(bad.size) + ": ";
  if (plan.index_shape.size() != 0) {
    text += "at position " + to_string(unravel(bad.flat, plan.index_shape)) + " of the index, ";
  }
  text += std::string(op) + " accepts ";
  const int64_t lowest = from_end ? -bad.size : 0;
  if (bad.size == 0) {
    text += "no index, because the axis is empty";
  } else if (lowest < bad.size - 1) {
    text += std::to_string(lowest) + " to " + std::to_string(bad.size - 1);
  } else {
    text += "only " + std::to_string(lowest);
  }
  int64_t total = 1;
  for (const int64_t n : plan.index_shape) total *= n;
  if (total > 1) {
    text += " (" + std::to_string(bad.count) + " of " + std::to_string(total) + " indices " +
            (bad.count == 1 ? "is" : "are") + " out of bounds)";
  }
  return text;
}

ForeignEnding run_foreign(const ForeignCall& call) noexcept {
  try {
    thread_local RecentPlans plans;
    const Plan& plan = plans.find_or_make(call.request, call.views);
    const CallResult result = run_on_host(call, plan);
    const auto named = [&](const std::string& text) { return std::string(call.op) + ": " + text; };
    switch (result.ending) {
      case Ending::done: return {};
      case Ending::bad_index: return {ForeignOutcome::bad_index, out_of_bounds_text(call.op, plan, *result.bad)};
      case Ending::duplicate: return {ForeignOutcome::invalid, named(duplicate_text(plan, *result.duplicate))};
      case Ending::interrupted:
      case Ending::unstable: return {ForeignOutcome::failed, named("the index array kept changing while it was used")};
    }
    return {};
  } catch (const std::bad_alloc&) {
    return {ForeignOutcome::no_memory, "out of memory"};
  } catch (const std::logic_error& error) {  // shapes and dtypes, which tracing has checked
    return {ForeignOutcome::invalid, std::string(call.op) + ": " + error.what()};
  } catch (const std::exception& error) {
    return {ForeignOutcome::failed, error.what()};
  }
}

}  // namespace

const ForeignCalls& foreign_calls() {
  static constexpr ForeignCalls calls{foreign_layout(), run_foreign};
  return calls;
}

}  // namespace gs
