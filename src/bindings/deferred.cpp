// deferred.cpp: see deferred.h.
#include "bindings/deferred.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/execute.h"
#include "bindings/python_errors.h"

namespace gs {
namespace {

// A call whose indices nobody has asked about yet. Without an operator: one that only keeps its arrays alive.
struct Pending {
  py::object op;
  DeferredCheck late;
  Operands operands;
};

// Guarded by the GIL. Never destroyed: at exit, arrays of a library that is gone already would be given up.
using List = std::vector<std::unique_ptr<Pending>>;
List& list() {
  static auto& pending = *new List();
  return pending;
}

// Its work is done, and its stream may be gone by now.
void give_up_memory(Pending& done) {
  done.operands.each([](Role, Operand& operand) {
    if (operand.elsewhere && operand.elsewhere->copy) operand.elsewhere->copy->stream = dlpack::kLegacyStream;
  });
}

[[noreturn]] void raise_late(const Pending& done, const device::Status& status) {
  const Plan& plan = done.late.plan;
  std::optional<BadIndex> bad;
  {
    DeviceCall place(done.operands.place->device(), dlpack::kLegacyStream);
    run_work(false,
             [&](const RunOptions& options) { bad = place.queue().first_outside(plan, done.late.buffers, options); });
    place.release_streams();
  }
  if (bad) raise_out_of_bounds(done.op, plan, *bad, Moment::later);
  const int64_t point = done.late.turned ? plan.space.count() - 1 - status.first() : status.first();
  const IndexArray& array = plan.index[0];
  const int64_t flat = index_position(plan, point * plan.unit_items());
  raise_out_of_bounds(done.op, plan, {flat, 1, array.extent, array.axis, array.type, 0}, Moment::later_and_changed);
}

}  // namespace

void remember(const Request& request, const Operands& operands) {
  list().push_back(std::make_unique<Pending>(Pending{request.op, std::move(*operands.place->late), operands}));
}

void keep_until_done(const Operands& operands) {
  device::Machine& machine = operands.place->machine();
  list().push_back(std::make_unique<Pending>(Pending{{}, {machine.later(machine.status()), {}, {}, false}, operands}));
}

void raise_deferred(bool all, int device) {
  List& pending = list();
  std::vector<std::pair<int, uintptr_t>> busy;  // what comes later in such a stream is not ready either
  for (std::size_t i = 0; i < pending.size();) {
    const DeviceCall& place = *pending[i]->operands.place;
    const device::Receipt& receipt = *pending[i]->late.receipt;
    const std::pair<int, uintptr_t> stream{place.device(), place.stream()};
    const bool is_asked = device < 0 || place.device() == device;
    const bool is_busy = !all && !receipt.is_lasting() && std::find(busy.begin(), busy.end(), stream) != busy.end();
    if (!is_asked || is_busy || (!all && !receipt.is_ready())) {
      if (is_asked && !is_busy && !receipt.is_lasting()) busy.push_back(stream);
      ++i;
      continue;
    }
    if (receipt.is_lasting()) {  // of a graph: it stays, for the next replay
      const device::Status status = pending[i]->late.receipt->status();
      if (pending[i]->op && !status.is_clean()) {
        const DeferredCheck& late = pending[i]->late;
        const Pending bad{pending[i]->op, {nullptr, late.plan, late.buffers, late.turned}, pending[i]->operands};
        raise_late(bad, status);
      }
      ++i;
      continue;
    }
    // Out of the list before anything may wait or run Python code.
    const std::unique_ptr<Pending> taken = std::move(pending[i]);
    Pending& done = *taken;
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
    device::Status status;
    run_work(!all, [&](const RunOptions&) { status = done.late.receipt->status(); });
    give_up_memory(done);
    if (done.op && !status.is_clean()) raise_late(done, status);
    if (all) i = 0;  // other threads may have changed the list meanwhile
  }
}

std::size_t pending_calls() {
  return list().size();
}

}  // namespace gs
