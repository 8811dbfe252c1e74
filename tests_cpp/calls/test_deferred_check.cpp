// test_deferred_check.cpp: checks how the bad index of a deferred check is located after the call.
#include "call_double.h"
#include "calls/deferred_check.h"
#include "calls/make_plan.h"

namespace gs::test {
namespace {

using Values = std::vector<int64_t>;

struct Deferred {
  Values input{1, 2, 3, 4};
  Values indices{0, 3, 9, 1, -8};
  ScriptedBackend backend;
  DeferredCheck check;

  Deferred() {
    Request request;
    request.axis = 0;
    request.rule.bounds = Bounds::deferred;
    Views views;
    views.input = view_of(input.data(), 4);
    views.indices.resize(1);
    views.indices[0] = index_of(indices.data(), 5);
    check.plan = make_plan(request, views);
    check.buffers = buffers_of(request, views, nullptr, nullptr);
  }
};

TEST_CASE("a bad index that still stands is located with its value") {
  const Deferred deferred;
  const LocatedIndex located = locate(deferred.check, 4, deferred.backend, {});
  CHECK(located.is_current);
  CHECK(located.bad.flat == 2);
  CHECK(located.bad.count == 2);
  CHECK(static_cast<int64_t>(located.bad.bits) == 9);
}

TEST_CASE("a bad index that is gone is located by the number of its point") {
  Deferred deferred;
  deferred.indices.assign(5, 0);
  deferred.check.is_reversed = GENERATE(false, true);
  const LocatedIndex located = locate(deferred.check, 1, deferred.backend, {});
  CHECK_FALSE(located.is_current);
  CHECK(located.bad.flat == (deferred.check.is_reversed ? 3 : 1));
  CHECK(located.bad.size == 4);
  CHECK(located.bad.axis == 0);
}

TEST_CASE("a host backend defers nothing") {
  const Deferred deferred;
  CHECK_FALSE(defers(deferred.backend, deferred.check.plan));
}

TEST_CASE("a backend that is not waited for defers the check of points that can fail, where there are any") {
  Deferred deferred;
  deferred.backend.asynchronous = true;
  Plan& plan = deferred.check.plan;
  CHECK(defers(deferred.backend, plan));
  plan.rule.bounds = Bounds::raise;
  CHECK_FALSE(defers(deferred.backend, plan));
  plan.rule.bounds = Bounds::deferred;
  plan.space = Space(Dims{0}, kIndex + 1);
  CHECK_FALSE(defers(deferred.backend, plan));
}

}  // namespace
}  // namespace gs::test
