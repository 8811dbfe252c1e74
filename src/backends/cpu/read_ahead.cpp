// read_ahead.cpp: walks the points of a plan for their pages; divides plans whose pages do not fit into memory.
#include "backends/cpu/read_ahead.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "core/point.h"
#include "host/page_list.h"
#include "host/progress.h"
#include "host/thread_pool.h"

namespace gs::cpu {
namespace {

constexpr int64_t kPointsOfChunk = 4096;  // takes less than the time between two polls of Ctrl-C

struct PageWalk {
  PlanView view;
  host::PageList* pages;
  int64_t points;  // of a work chunk
};

void add_pages(const PageWalk& walk, int64_t begin, int64_t end) {
  for (int64_t point = begin; point < end; ++point) {
    const int64_t offset = locate(walk.view, point).indexed;
    if (offset != kNowhere) walk.pages->add(walk.view.indexed + offset, walk.view.unit);
  }
}

// Once the list is dense, more points add nothing to a request of all pages.
bool add_chunk(void* context, int64_t chunk) {
  const auto& walk = *static_cast<const PageWalk*>(context);
  const int64_t begin = chunk * walk.points;
  if (!walk.pages->is_dense()) add_pages(walk, begin, std::min(begin + walk.points, walk.view.count));
  return true;
}

// Whether one of some evenly spaced points has to be read from the file.
bool has_cold_points(host::KnownMapping& known, const PlanView& view) {
  const std::byte* addresses[host::kSampledPages];
  int count = 0;
  const int64_t samples = std::min<int64_t>(host::kSampledPages, view.count);
  for (int64_t i = 0; i < samples; ++i) {
    const int64_t point = view.count / samples * i;
    const int64_t offset = locate(view, point).indexed;
    if (offset != kNowhere) addresses[count++] = view.indexed + offset;
  }
  return host::is_cold(known, addresses, count);
}

host::PageList list_of(const Plan& plan, const Buffers& buffers, int64_t budget) {
  const Span span = indexed_span(plan);
  return {buffers.indexed + span.low, span.high - span.low, budget};
}

Outcome walk(const Plan& plan, const Buffers& buffers, const RunOptions& options, host::PageList& pages) {
  PageWalk walk{view_of(plan, buffers), &pages, 0};
  walk.points = std::max(kPointsOfChunk, walk.view.count >> 30);
  host::InterruptPoller poller(options.interrupted);
  const host::Task task{(walk.view.count + walk.points - 1) / walk.points, add_chunk, &walk, &poller};
  const int threads = walk.view.count > kPointsOfChunk ? int{options.threads} : 1;
  return host::run_task(threads, task) ? Outcome::done : Outcome::interrupted;
}

// Runs a plan part by part. The pages of a part are asked for before the part before it moves, so that the disk
// reads meanwhile.
class PartByPart {
 public:
  PartByPart(const RunOptions& options, int64_t budget, MoveParts move, const void* context)
      : options_(options), budget_(budget), move_(move), context_(context) {
    options_.is_checked = true;  // an early check looks at the indices of the whole plan
  }

  // Takes parts of about so many points, which are slices of the outermost axes from `axis` on.
  Outcome take(const Plan& plan, const Buffers& buffers, int axis, int64_t points) {
    if (axis == plan.space.rank()) return take_part(plan, buffers);
    int64_t inner = 1;
    for (int d = axis + 1; d < plan.space.rank(); ++d) inner *= plan.space.extent(d);
    const int64_t extent = plan.space.extent(axis);
    const int64_t step = std::clamp<int64_t>(points / inner, 1, extent);
    for (int64_t begin = 0; begin < extent; begin += step) {
      Buffers memory = buffers;
      const Plan part = sliced(plan, memory, axis, begin, std::min(begin + step, extent));
      const Outcome outcome = inner > points ? take(part, memory, axis + 1, points) : take_part(part, memory);
      if (outcome != Outcome::done) return outcome;
    }
    return Outcome::done;
  }
  // Moves the last part.
  Outcome finish() {
    if (!waiting_) return Outcome::done;
    const PlanPart part = *std::exchange(waiting_, std::nullopt);
    return move_(context_, part.plan, part.buffers, options_);
  }

 private:
  struct PlanPart {
    Plan plan;
    Buffers buffers;
  };

  Outcome take_part(const Plan& plan, const Buffers& buffers) {
    host::PageList pages = list_of(plan, buffers, budget_);
    const Outcome walked = walk(plan, buffers, options_, pages);
    if (walked != Outcome::done) return walked;
    if (!pages.request(options_.interrupted)) return Outcome::interrupted;
    const Outcome outcome = finish();
    waiting_ = PlanPart{plan, buffers};
    return outcome;
  }

  RunOptions options_;
  int64_t budget_;
  MoveParts move_;
  const void* context_;
  std::optional<PlanPart> waiting_;
};

// The mapping of the indexed side; null if it is no file.
host::KnownMapping* mapping_of(const Plan& plan, const Buffers& buffers) {
  if (plan.space.count() == 0) return nullptr;
  host::KnownMapping& known = host::known_mapping(buffers.indexed + indexed_span(plan).low);
  return known.mapping.is_file() ? &known : nullptr;
}

Outcome run_on_file(host::KnownMapping& known, const Plan& plan, const Buffers& buffers, const RunOptions& options,
                    Parts parts, int64_t budget, MoveParts move, const void* context) {
  const bool is_cold = known.may_be_cold() && has_cold_points(known, view_of(plan, buffers));
  if (!is_cold) return move(context, plan, buffers, options);
  const int64_t most = budget == kHostBudget ? host::page_budget() : budget;
  host::PageList pages = list_of(plan, buffers, most);
  host::ProgressParts steps(2);
  const Outcome walked = walk(plan, buffers, options, pages);
  if (walked != Outcome::done) return walked;
  steps.next();
  if (pages.bytes() <= most) {
    return pages.request(options.interrupted) ? move(context, plan, buffers, options) : Outcome::interrupted;
  }
  if (parts == Parts::one) return move(context, plan, buffers, options);
  // Two parts are in memory at a time: one that moves, and one that the disk reads.
  const double share = static_cast<double>(most) / 2 / static_cast<double>(pages.bytes());
  const auto points = static_cast<int64_t>(static_cast<double>(plan.space.count()) * share);
  PartByPart parts_of(options, most / 2, move, context);
  const Outcome outcome = parts_of.take(plan, buffers, 0, std::max<int64_t>(points, 1));
  return outcome == Outcome::done ? parts_of.finish() : outcome;
}

}  // namespace

Outcome read_ahead(const Plan& plan, const Buffers& buffers, const RunOptions& options, Parts parts, int64_t budget,
                   MoveParts move, const void* context) {
  host::KnownMapping* const known = mapping_of(plan, buffers);
  if (known == nullptr) return move(context, plan, buffers, options);
  const Span span = indexed_span(plan);
  const std::byte* const first = buffers.indexed + span.low;
  host::check_length(*known, first, span.high - span.low);
  return run_on_file(*known, plan, buffers, options, parts, budget, move, context);
}

bool read_ahead_small(const Plan& plan, const Buffers& buffers, bool (*move)(const void* context),
                      const void* context) noexcept {
  host::KnownMapping* const known = mapping_of(plan, buffers);
  try {
    if (known == nullptr) return move(context);
    const Span span = indexed_span(plan);
    const std::byte* const first = buffers.indexed + span.low;
    host::check_length(*known, first, span.high - span.low);
    const PlanView view = view_of(plan, buffers);
    if (known->may_be_cold() && has_cold_points(*known, view)) {
      host::PageList pages(first, span.high - span.low, 0);
      add_pages({view, &pages, view.count}, 0, view.count);
      pages.request(nullptr);
    }
    return move(context);
  } catch (const std::exception&) {  // of the file or of memory: a large call reports it
    return false;
  }
}

}  // namespace gs::cpu
