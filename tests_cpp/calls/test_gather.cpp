// test_gather.cpp: checks gathers with races, interrupts, failed allocations and overlap.
#include "call_double.h"
#include "calls/attempt.h"
#include "calls/gather.h"
#include "calls/make_plan.h"

namespace gs::test {
namespace {

using Values = std::vector<int64_t>;

// A take along axis 0 of int64 values, by int64 indices.
struct Take {
  Values input{10, 11, 12, 13, 14, 15, 16, 17};
  Values indices{3, 0, -1, 5, 2, 7};
  Values out = Values(6, -100);
  Request request;
  ScriptedBackend backend;

  Take() { request.axis = 0; }
  static int64_t length(const Values& values) { return static_cast<int64_t>(values.size()); }
  Views views() {
    Views views;
    views.input = view_of(input.data(), length(input));
    views.indices.resize(1);
    views.indices[0] = index_of(indices.data(), length(indices));
    return views;
  }
  Views views_into() {
    Views all = views();
    all.out = view_of(out.data(), length(out));
    return all;
  }
  Values expected() const {
    Values values;
    for (const int64_t i : indices) {
      values.push_back(input[static_cast<std::size_t>(i < 0 ? i + static_cast<int64_t>(input.size()) : i)]);
    }
    return values;
  }
  CallResult run(TestContext& context) {
    const Views all = views();
    return run_gather(context, request, make_plan(request, all), all, reinterpret_cast<std::byte*>(out.data()));
  }
  CallResult run_into(TestContext& context) { return run_into(context, views_into()); }
  CallResult run_into(TestContext& context, const Views& all) {
    return run_gather_into(context, request, make_plan(request, all), all);
  }
};

TEST_CASE("a gather that ends gives what a loop gives") {
  Take take;
  TestContext context(take.backend);
  const Values expected = take.expected();
  CHECK(take.run(context).ending == Ending::done);
  CHECK(take.out == expected);
  take.out.assign(6, 0);
  CHECK(take.run_into(context).ending == Ending::done);
  CHECK(take.out == expected);
  CHECK(context.locks == std::vector<Lock>{Lock::kept, Lock::kept});
}

TEST_CASE("a bad index is located, and nothing is written to the caller's array") {
  Take take;
  take.indices[3] = 8;
  take.indices[5] = -9;
  TestContext context(take.backend);
  const CallResult result = take.run_into(context);
  REQUIRE(result.ending == Ending::bad_index);
  CHECK(result.bad->flat == 3);
  CHECK(result.bad->count == 2);
  CHECK(result.bad->size == 8);
  CHECK(static_cast<int64_t>(result.bad->bits) == 8);
  CHECK(result.plan->index_shape == Dims{6});
  CHECK(take.out == Values(6, -100));
  CHECK(take.backend.steps == std::vector<Step>{Step::any_outside, Step::first_outside});
}

TEST_CASE("an index that turns bad between its check and its use is never used, and repeated until it is good") {
  Take take;
  const Values expected = take.expected();
  int times = 0;
  take.backend.before = [&](Step step) {
    if (step == Step::move && times++ < 3) take.indices[2] = int64_t{1} << 60;
    if (step == Step::first_outside) take.indices[2] = -1;
  };
  TestContext context(take.backend);
  SECTION("into fresh memory") {
    CHECK(take.run(context).ending == Ending::done);
  }
  SECTION("into an array of the caller") {
    CHECK(take.run_into(context).ending == Ending::done);
  }
  CHECK(take.out == expected);
  CHECK(times == 4);
}

TEST_CASE("an index that turns bad and stays bad is the error") {
  Take take;
  take.backend.before = [&](Step step) {
    if (step == Step::move) take.indices[2] = 99;
  };
  TestContext context(take.backend);
  const CallResult result = take.run_into(context);
  REQUIRE(result.ending == Ending::bad_index);
  CHECK(result.bad->flat == 2);
  CHECK(static_cast<int64_t>(result.bad->bits) == 99);
}

TEST_CASE("an index array that never stands still ends the call after all tries") {
  Take take;
  take.backend.before = [&](Step step) { take.indices[2] = step == Step::first_outside ? 1 : 99; };
  TestContext context(take.backend);
  CHECK(take.run(context).ending == Ending::unstable);
  CHECK(context.locks.size() == static_cast<std::size_t>(kTries));
}

TEST_CASE("a gather can be interrupted in every phase") {
  Take take;
  const bool has_bad_index = GENERATE(false, true);
  if (has_bad_index) take.indices[1] = 50;
  const Step at = GENERATE(Step::any_outside, Step::move, Step::first_outside);
  const bool into = GENERATE(false, true);
  take.backend.before = [&](Step step) { TestContext::interrupt = TestContext::interrupt || step == at; };
  TestContext context(take.backend);
  const CallResult result = into ? take.run_into(context) : take.run(context);
  const std::vector<Step>& steps = take.backend.steps;
  const bool is_reached = std::find(steps.begin(), steps.end(), at) != steps.end();
  CHECK((result.ending == Ending::interrupted) == is_reached);
  if (is_reached) CHECK(steps.back() == at);  // nothing runs after the interrupt
  if (into && at != Step::move) CHECK((take.out == Values(6, -100)) == (is_reached || has_bad_index));
}

TEST_CASE("a gather into an array that overlaps its input gives what a copy of the input gives") {
  Values memory(40);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = 100 + static_cast<int64_t>(i);
  const int64_t begin = GENERATE(0, 4, 8);
  const int64_t rows = GENERATE(6, 24);  // the input has 8 values: a copy of it is larger or smaller than the result
  Take take;
  take.indices.clear();
  for (int64_t i = 0; i < rows; ++i) take.indices.push_back((5 * i) % 8);
  Views views = take.views();
  views.input = view_of(memory.data() + 4, 8);
  views.out = view_of(memory.data() + begin, rows);
  Values expected = memory;
  for (int64_t i = 0; i < rows; ++i) {
    expected[static_cast<std::size_t>(begin + i)] = memory[static_cast<std::size_t>(4 + (5 * i) % 8)];
  }
  {
    TestContext context(take.backend);
    CHECK(take.run_into(context, views).ending == Ending::done);
  }
  CHECK(memory == expected);
  CHECK(take.backend.live_blocks == 0);
}

TEST_CASE("a gather into every second item of its input writes no other item") {
  Values memory(16);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = 100 + static_cast<int64_t>(i);
  Take take;
  Views views = take.views();
  views.input = view_of(memory.data() + 2, 8);
  views.out = ArrayView{reinterpret_cast<std::byte*>(memory.data()), 8, Dims{6}, Dims{16}};
  Values expected = memory;
  for (std::size_t i = 0; i < 6; ++i) {
    const int64_t at = take.indices[i] < 0 ? take.indices[i] + 8 : take.indices[i];
    expected[2 * i] = memory[static_cast<std::size_t>(2 + at)];
  }
  TestContext context(take.backend);
  CHECK(take.run_into(context, views).ending == Ending::done);
  CHECK(memory == expected);
}

TEST_CASE("a gather into its own index array works on a copy of the indices") {
  Take take;
  const Values expected = take.expected();
  Views views = take.views();
  views.out = view_of(take.indices.data(), 6);
  {
    TestContext context(take.backend);
    CHECK(take.run_into(context, views).ending == Ending::done);
  }
  CHECK(take.indices == expected);
  CHECK(take.backend.live_blocks == 0);
}

TEST_CASE("a deferred gather into an array that overlaps its input leaves the points of bad indices as they were") {
  Values memory(40);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = 100 + static_cast<int64_t>(i);
  Take take;
  take.backend.asynchronous = true;
  take.request.rule.bounds = Bounds::deferred;
  take.indices[3] = 50;
  Views views = take.views();
  views.input = view_of(memory.data() + 4, 8);
  views.out = view_of(memory.data() + 6, 6);
  Values expected = memory;
  for (std::size_t i = 0; i < 6; ++i) {
    const int64_t at = take.indices[i] < 0 ? take.indices[i] + 8 : take.indices[i];
    if (at < 8) expected[6 + i] = memory[static_cast<std::size_t>(4 + at)];
  }
  {
    TestContext context(take.backend);
    const CallResult result = take.run_into(context, views);
    CHECK(result.ending == Ending::done);
    CHECK(result.deferred_check != nullptr);
  }
  CHECK(memory == expected);
  CHECK(take.backend.live_blocks == 0);
}

TEST_CASE("a gather that waits for its backend says for what") {
  Take take;
  take.backend.asynchronous = true;
  TestContext context(take.backend);
  CHECK(take.run(context).ending == Ending::done);
  CHECK(context.waits == std::vector<std::string>{kBoundsRaise});
  take.request.rule.bounds = Bounds::clip;
  CHECK(take.run(context).ending == Ending::done);
  CHECK(context.waits.size() == 1);
}

TEST_CASE("an interrupt or a bad index before the copy back leaves an overlapping array untouched") {
  Values memory(40);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = 100 + static_cast<int64_t>(i);
  const Values before = memory;
  Take take;
  Views views = take.views();
  views.input = view_of(memory.data() + 4, 8);
  views.out = view_of(memory.data() + 6, 6);
  const bool interrupts = GENERATE(false, true);
  if (interrupts) {
    take.backend.before = [&](Step step) { TestContext::interrupt = step == Step::move; };
  } else {
    take.indices[5] = 8;
  }
  {
    TestContext context(take.backend);
    CHECK(take.run_into(context, views).ending == (interrupts ? Ending::interrupted : Ending::bad_index));
  }
  CHECK(memory == before);
  CHECK(take.backend.live_blocks == 0);
}

TEST_CASE("a gather whose memory runs out leaves the caller's array untouched and releases everything") {
  Values memory(40);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = 100 + static_cast<int64_t>(i);
  const Values before = memory;
  const int64_t rows = GENERATE(6, 24);
  Take take;
  take.indices.clear();
  for (int64_t i = 0; i < rows; ++i) take.indices.push_back((3 * i) % 8);
  Views views = take.views();
  views.input = view_of(memory.data() + 4, 8);
  views.out = view_of(memory.data() + 6, rows);
  take.backend.steps.reserve(64);
  Ending ending = Ending::unstable;
  const int failures = fail_each_allocation(
      [&] {
        TestContext context(take.backend);
        context.locks.reserve(64);
        ending = take.run_into(context, views).ending;
      },
      [&] {
        CHECK(memory == before);
        CHECK(take.backend.live_blocks == 0);
        take.backend.steps.clear();
      });
  CHECK(ending == Ending::done);
  CHECK(failures >= 1);
  for (int64_t i = 0; i < rows; ++i) {
    CHECK(memory[static_cast<std::size_t>(6 + i)] == before[static_cast<std::size_t>(4 + (3 * i) % 8)]);
  }
}

TEST_CASE("no points: nothing runs, unless the indices have to be checked") {
  Take take;
  take.input.assign(8, 1);
  Views views = take.views();
  views.input = contiguous_view(reinterpret_cast<std::byte*>(take.input.data()), Dims{8, 0}, 8);
  TestContext context(take.backend);
  const Plan plan = make_plan(take.request, views);
  CHECK(run_gather(context, take.request, plan, views, nullptr).ending == Ending::done);
  take.indices[4] = 8;
  CHECK(run_gather(context, take.request, plan, views, nullptr).ending == Ending::bad_index);
  CHECK(std::count(take.backend.steps.begin(), take.backend.steps.end(), Step::any_outside) == 2);
}

TEST_CASE("masked points and indices outside have the fill value, of which there may be one for each point") {
  Take take;
  take.request.rule.bounds = Bounds::fill;
  take.indices[3] = 8;
  Values fills{100, 200, 300, 400, 500, 600};
  unsigned char bits[] = {1, 0, 1, 1, 1, 1};
  Views views = take.views();
  views.fill = view_of(fills.data(), 6);
  views.mask = contiguous_view(reinterpret_cast<std::byte*>(bits), Dims{6}, 1);
  TestContext context(take.backend);
  const Plan plan = make_plan(take.request, views);
  CHECK(run_gather(context, take.request, plan, views, reinterpret_cast<std::byte*>(take.out.data())).ending ==
        Ending::done);
  CHECK(take.out == Values{13, 200, 17, 400, 12, 17});
}

TEST_CASE("without points a gather that cannot fail runs nothing") {
  Take take;
  take.request.rule.bounds = Bounds::clip;
  Views views = take.views();
  views.input = contiguous_view(reinterpret_cast<std::byte*>(take.input.data()), Dims{8, 0}, 8);
  TestContext context(take.backend);
  CHECK(run_gather(context, take.request, make_plan(take.request, views), views, nullptr).ending == Ending::done);
  CHECK(take.backend.steps.empty());
  CHECK(context.locks.empty());
}

TEST_CASE("the lock is kept for few bytes by few indices") {
  const auto keeps = [](int64_t points, int64_t unit, int64_t indices) {
    Plan plan;
    plan.item = plan.unit = unit;
    plan.space = Space(Dims{points}, kIndex + 1);
    plan.index_space = Space(Dims{indices}, kIndex + 1);
    return keeps_lock(plan);
  };
  CHECK(keeps(kKeepLockBytes / 8, 8, kKeepLockBytes / 8));
  CHECK_FALSE(keeps(kKeepLockBytes / 8 + 1, 8, 1));
  CHECK_FALSE(keeps(1, 8, kKeepLockBytes / 8 + 1));
  ScriptedBackend backend;
  CHECK(lock_for(backend, Plan{}, kKeepLockBytes - 1) == Lock::kept);
  CHECK(lock_for(backend, Plan{}, kKeepLockBytes) == Lock::released);
  backend.asynchronous = true;
  CHECK(lock_for(backend, Plan{}) == Lock::released);
}

TEST_CASE("a long gather releases the lock") {
  Take take;
  take.indices.assign(5000, 3);
  take.out.assign(5000, 0);
  TestContext context(take.backend);
  CHECK(take.run(context).ending == Ending::done);
  CHECK(context.locks == std::vector<Lock>{Lock::released});
  CHECK(take.out == Values(5000, 13));
}

}  // namespace
}  // namespace gs::test
