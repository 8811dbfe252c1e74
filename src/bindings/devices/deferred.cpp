// deferred.cpp: keeps calls in a list until their receipts are ready, and raises the errors of deferred checks.
#include "bindings/devices/deferred.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/devices/device_call.h"
#include "bindings/python_context.h"
#include "bindings/python_errors.h"

namespace gs {
namespace {

// A call whose receipt has not been read yet. `op` is null for a call that is listed only to keep its arrays alive.
struct Pending {
  py::object op;
  DeferredCheck check;
  Operands operands;
};

// Guarded by the GIL. Never destroyed, because its destructor would release arrays at process exit, when their library
// may be finalized already.
using List = std::vector<std::unique_ptr<Pending>>;
List& list() {
  static auto& pending = *new List();
  return pending;
}

// Searches the index arrays of a finished call for the bad index and raises its error.
[[noreturn]] void raise_deferred_error(const Pending& done, const device::Status& status) {
  std::optional<LocatedIndex> located;
  {
    DeviceCall call(done.operands.device_call->device(), dlpack::kLegacyStream);
    run_work(false,
             [&](const RunOptions& options) { located = locate(done.check, status.first(), call.queue(), options); });
    call.release_streams();
  }
  raise_out_of_bounds(done.op, done.check.plan, located->bad,
                      located->is_current ? Moment::later : Moment::later_and_changed);
}

}  // namespace

void add_deferred_check(const OperatorRequest& request, const Operands& operands, DeferredCheck&& check) {
  list().push_back(std::make_unique<Pending>(Pending{request.op, std::move(check), operands}));
}

void keep_until_done(const Operands& operands) {
  device::Machine& machine = operands.device_call->machine();
  list().push_back(std::make_unique<Pending>(Pending{{}, {machine.later(machine.status()), {}, {}, false}, operands}));
}

void raise_deferred(bool all, int device) {
  List& pending = list();
  // Streams with a receipt that is not ready. Later receipts of such a stream are not ready either, so they are
  // skipped.
  std::vector<std::pair<int, uintptr_t>> busy;
  for (std::size_t i = 0; i < pending.size();) {
    const DeviceCall& call = *pending[i]->operands.device_call;
    const device::Receipt& receipt = *pending[i]->check.receipt;
    const std::pair<int, uintptr_t> stream{call.device(), call.stream()};
    const bool is_requested = device < 0 || call.device() == device;
    const bool is_busy = !all && !receipt.is_lasting() && std::find(busy.begin(), busy.end(), stream) != busy.end();
    if (!is_requested || is_busy || (!all && !receipt.is_ready())) {
      if (is_requested && !is_busy && !receipt.is_lasting()) busy.push_back(stream);
      ++i;
      continue;
    }
    if (receipt.is_lasting()) {  // the receipt of a captured graph stays in the list, because each replay checks again
      const device::Status status = pending[i]->check.receipt->status();
      if (pending[i]->op && !status.is_clean()) {
        const Pending bad = *pending[i];  // the list may change while the error is raised
        raise_deferred_error(bad, status);
      }
      ++i;
      continue;
    }
    // Removed from the list first, because the code below may wait or run Python code, and then other threads run.
    const std::unique_ptr<Pending> taken = std::move(pending[i]);
    Pending& done = *taken;
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
    device::Status status;
    run_work(!all, [&](const RunOptions&) { status = done.check.receipt->status(); });
    // The call's own stream may have been destroyed since.
    done.operands.device_call->release_on_default_stream();
    if (done.op && !status.is_clean()) raise_deferred_error(done, status);
    if (all) i = 0;  // the GIL was released, so other threads may have changed the list
  }
}

std::size_t pending_calls() {
  return list().size();
}

}  // namespace gs
