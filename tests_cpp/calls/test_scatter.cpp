// test_scatter.cpp: checks scatters with races, interrupts, failed allocations, duplicates and overlap.
#include <cmath>

#include "call_double.h"
#include "calls/attempt.h"
#include "calls/make_plan.h"
#include "calls/scatter.h"
#include "host/progress.h"

namespace gs::test {
namespace {

using Values = std::vector<int64_t>;

// A scatter of int64 values along axis 0, by int64 indices.
struct Put {
  Values input{10, 11, 12, 13, 14, 15, 16, 17};
  Values indices{3, 0, -1, 3, 5};
  Values source{1, 2, 3, 4, 5};
  Values out = Values(8, -100);
  Request request;
  ScriptedBackend backend;

  Put() {
    request.axis = 0;
    request.direction = Direction::scatter;
  }
  void add() {
    request.combine.reduce = Reduce::add;
    request.combine.number = Number::i64;
  }
  Views views() {
    Views views;
    views.input = view_of(input.data(), 8);
    views.indices.resize(1);
    views.indices[0] = index_of(indices.data(), static_cast<int64_t>(indices.size()));
    views.source = view_of(source.data(), static_cast<int64_t>(source.size()));
    return views;
  }
  Values expected() const {
    Values values = input;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      int64_t& target = values[static_cast<std::size_t>(indices[i] < 0 ? indices[i] + 8 : indices[i])];
      if (request.combine.reduce == Reduce::add) {
        target += source[i];
      } else {
        target = source[i];
      }
    }
    return values;
  }
  CallResult run(TestContext& context) {
    return run_scatter(context, request, nullptr, views(), reinterpret_cast<std::byte*>(out.data()));
  }
  CallResult run_into(TestContext& context) {  // `out` is another array than the input
    Views all = views();
    all.out = view_of(out.data(), 8);
    return run_scatter_into(context, request, all);
  }
  CallResult run_in_place(TestContext& context) {
    Views all = views();
    all.out = all.input;
    return run_scatter_into(context, request, all);
  }
};

TEST_CASE("a scatter that ends gives what a loop gives") {
  Put put;
  if (GENERATE(false, true)) put.add();
  const Values expected = put.expected();
  TestContext context(put.backend);
  CHECK(put.run(context).ending == Ending::done);
  CHECK(put.out == expected);
  put.out.assign(8, 0);
  CHECK(put.run_into(context).ending == Ending::done);
  CHECK(put.out == expected);
  CHECK(put.run_in_place(context).ending == Ending::done);
  CHECK(put.input == expected);
}

TEST_CASE("a given plan is run as it is") {
  Put put;
  const Values expected = put.expected();
  const Views views = put.views();
  const Plan plan = make_scatter_plan(put.request, views);
  TestContext context(put.backend);
  CHECK(run_scatter(context, put.request, &plan, views, reinterpret_cast<std::byte*>(put.out.data())).ending ==
        Ending::done);
  CHECK(put.out == expected);
}

TEST_CASE("a bad index of a scatter is located before anything is written") {
  Put put;
  if (GENERATE(false, true)) put.add();
  put.indices[4] = 8;
  const Values input = put.input;
  TestContext context(put.backend);
  for (const CallResult& result : {put.run_into(context), put.run_in_place(context)}) {
    REQUIRE(result.ending == Ending::bad_index);
    CHECK(result.bad->flat == 4);
    CHECK(result.bad->count == 1);
  }
  CHECK(put.out == Values(8, -100));
  CHECK(put.input == input);
}

TEST_CASE("duplicates: the last, the first, or an error that writes nothing") {
  Put put;
  TestContext context(put.backend);
  put.request.duplicates = Duplicates::first;
  CHECK(put.run(context).ending == Ending::done);
  CHECK(put.out[3] == 1);
  put.request.duplicates = Duplicates::last;
  CHECK(put.run(context).ending == Ending::done);
  CHECK(put.out[3] == 4);
  put.request.duplicates = Duplicates::error;
  const Values input = put.input;
  const CallResult result = put.run_in_place(context);
  REQUIRE(result.ending == Ending::duplicate);
  CHECK(result.duplicate->first == 0);
  CHECK(result.duplicate->second == 3);
  CHECK(put.input == input);
  put.indices[3] = 4;
  CHECK(put.run_in_place(context).ending == Ending::done);
}

TEST_CASE("the first of several duplicates along an axis is kept, and all other items are those of the input") {
  Put put;
  put.request.axis = 1;
  put.request.duplicates = GENERATE(Duplicates::first, Duplicates::last);
  const bool keeps_first = put.request.duplicates == Duplicates::first;
  put.input = Values(24);
  for (std::size_t i = 0; i < 24; ++i) put.input[i] = 100 + static_cast<int64_t>(i);
  put.source = Values{1, 2, 3, 4, 5, 6, 7, 8, 9};
  put.indices = Values{5, 0, 5};
  Views views = put.views();
  views.input = contiguous_view(reinterpret_cast<std::byte*>(put.input.data()), Dims{3, 8}, 8);
  views.source = contiguous_view(reinterpret_cast<std::byte*>(put.source.data()), Dims{3, 3}, 8);
  Values expected = put.input;
  for (std::size_t row = 0; row < 3; ++row) {
    expected[8 * row + 5] = put.source[3 * row + (keeps_first ? 0 : 2)];
    expected[8 * row] = put.source[3 * row + 1];
  }
  put.out = Values(24, -1);
  TestContext context(put.backend);
  CHECK(run_scatter(context, put.request, nullptr, views, reinterpret_cast<std::byte*>(put.out.data())).ending ==
        Ending::done);
  CHECK(put.out == expected);
}

TEST_CASE("the check, the search for duplicates and the move are a third of a call each") {
  Put put;
  put.request.duplicates = Duplicates::error;
  put.indices[3] = 4;
  std::vector<double> begun;
  put.backend.before = [&](Step) { begun.push_back(host::Progress::current().begin); };
  host::Progress::current() = {};
  TestContext context(put.backend);
  CHECK(put.run_in_place(context).ending == Ending::done);
  REQUIRE(begun.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(begun[i] - static_cast<double>(i) / 3) < 1e-9);
  CHECK(host::Progress::current().begin == 0);
  CHECK(host::Progress::current().end == 1);
}

TEST_CASE("a bad index is reported before a duplicate") {
  Put put;
  put.request.duplicates = Duplicates::error;
  put.indices[4] = 99;
  TestContext context(put.backend);
  CHECK(put.run(context).ending == Ending::bad_index);
}

TEST_CASE("an index that turns bad between its check and its use is never used") {
  Put put;
  const bool adds = GENERATE(false, true);
  if (adds) put.add();
  const Values expected = put.expected();
  const Step use = adds ? Step::reduce : Step::move;
  int times = 0;
  put.backend.before = [&](Step step) {
    if (step == use && times++ == 0) put.indices[2] = int64_t{1} << 60;
    if (step == Step::first_outside) put.indices[2] = -1;
  };
  TestContext context(put.backend);
  SECTION("into fresh memory, the call is repeated") {
    CHECK(put.run(context).ending == Ending::done);
    CHECK(put.out == expected);
  }
  SECTION("in place, only a scatter without reduction can be repeated") {
    const CallResult result = put.run_in_place(context);
    CHECK(result.ending == (adds ? Ending::unstable : Ending::done));
    if (!adds) CHECK(put.input == expected);
  }
}

TEST_CASE("an index array that never stands still ends a scatter after all tries") {
  Put put;
  put.backend.before = [&](Step step) { put.indices[2] = step == Step::first_outside ? 1 : 99; };
  TestContext context(put.backend);
  CHECK(put.run(context).ending == Ending::unstable);
  CHECK(context.locks.size() == static_cast<std::size_t>(kTries));
}

TEST_CASE("a scatter can be interrupted in every phase") {
  Put put;
  const bool adds = GENERATE(false, true);
  if (adds) put.add();
  put.request.duplicates = adds ? Duplicates::last : Duplicates::error;
  if (!adds) put.indices[3] = 4;
  const bool has_bad_index = GENERATE(false, true);
  if (has_bad_index) put.indices[1] = 50;
  const Step at = GENERATE(Step::any_outside, Step::first_duplicate, Step::move, Step::reduce, Step::first_outside);
  put.backend.before = [&](Step step) { TestContext::interrupt = TestContext::interrupt || step == at; };
  const Values input = put.input;
  TestContext context(put.backend);
  const CallResult result = put.run_in_place(context);
  const std::vector<Step>& steps = put.backend.steps;
  const bool is_reached = std::find(steps.begin(), steps.end(), at) != steps.end();
  CHECK((result.ending == Ending::interrupted) == is_reached);
  if (is_reached) CHECK(steps.back() == at);
  if (at == Step::any_outside || at == Step::first_duplicate || has_bad_index) {
    CHECK((put.input == input) == (is_reached || has_bad_index));
  }
}

TEST_CASE("a scatter into an array that overlaps its arguments gives what copies of them give") {
  Values memory(40);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int64_t>(i) % 8;
  const bool adds = GENERATE(false, true);
  const int64_t source_at = GENERATE(0, 6, 12);
  const int64_t index_at = GENERATE(3, 9, 30);
  const int64_t input_at = GENERATE(8, 10, 20);
  Put put;
  if (adds) put.add();
  Views views;
  views.input = view_of(memory.data() + input_at, 8);
  views.indices.resize(1);
  views.indices[0] = index_of(memory.data() + index_at, 5);
  views.source = view_of(memory.data() + source_at, 5);
  views.out = view_of(memory.data() + 8, 8);
  const Values before = memory;
  Values expected = before;
  for (int64_t i = 0; i < 8; ++i)
    expected[static_cast<std::size_t>(8 + i)] = before[static_cast<std::size_t>(input_at + i)];
  for (int64_t i = 0; i < 5; ++i) {
    int64_t& target = expected[static_cast<std::size_t>(8 + before[static_cast<std::size_t>(index_at + i)])];
    const int64_t value = before[static_cast<std::size_t>(source_at + i)];
    target = adds ? target + value : value;
  }
  {
    TestContext context(put.backend);
    CHECK(run_scatter_into(context, put.request, views).ending == Ending::done);
  }
  CHECK(memory == expected);
  CHECK(put.backend.live_blocks == 0);
}

TEST_CASE("a reduction into items that are not whole strides apart goes through a copy") {
  // int64 values 12 bytes apart; a mean keeps totals, which are numbered by items.
  Put put;
  put.add();
  Values expected = put.expected();
  if (GENERATE(false, true)) {
    put.request.combine.reduce = Reduce::mean;
    expected = Values{(10 + 2) / 2, 11, 12, (13 + 1 + 4) / 3, 14, (15 + 5) / 2, 16, (17 + 3) / 2};
  }
  std::vector<std::byte> memory(8 * 12 + 8);
  Views views = put.views();
  views.out = ArrayView{memory.data(), 8, Dims{8}, Dims{12}};
  {
    TestContext context(put.backend);
    CHECK(run_scatter_into(context, put.request, views).ending == Ending::done);
  }
  for (std::size_t i = 0; i < 8; ++i) {
    int64_t value = 0;
    std::memcpy(&value, memory.data() + 12 * i, 8);
    CHECK(value == expected[i]);
  }
  CHECK(put.backend.live_blocks == 0);
}

TEST_CASE("a scatter in place moves once, and copies nothing") {
  Values memory(64, 7);
  Put put;
  Views views = put.views();
  const auto shaped = [&](Dims extent, Dims stride) {
    return ArrayView{reinterpret_cast<std::byte*>(memory.data()), 8, extent, stride};
  };
  SECTION("with elements far apart") {
    views.input = shaped({8}, {64});
    views.out = views.input;
  }
  SECTION("with another stride of an axis of one element") {
    views.input = shaped({8, 1}, {8, 8});
    views.out = shaped({8, 1}, {8, 400});
    views.source = contiguous_view(reinterpret_cast<std::byte*>(put.source.data()), Dims{5, 1}, 8);
  }
  TestContext context(put.backend);
  CHECK(run_scatter_into(context, put.request, views).ending == Ending::done);
  const std::vector<Step>& steps = put.backend.steps;
  CHECK(std::count(steps.begin(), steps.end(), Step::move) == 1);
  const auto at = static_cast<std::size_t>(views.out->stride[0] / 8);
  CHECK(memory[3 * at] == 4);
  CHECK(memory[7 * at] == 3);
  CHECK(memory[at] == 7);
}

TEST_CASE("a scatter into the transpose of its input moves all items") {
  Values memory{0, 1, 2, 3, 4, 5, 6, 7, 8};
  Put put;
  put.indices = Values{1};
  put.source = Values{70, 80, 90};
  Views views = put.views();
  views.input = contiguous_view(reinterpret_cast<std::byte*>(memory.data()), Dims{3, 3}, 8);
  views.out = ArrayView{views.input.data, 8, Dims{3, 3}, Dims{8, 24}};
  views.source = contiguous_view(reinterpret_cast<std::byte*>(put.source.data()), Dims{1, 3}, 8);
  TestContext context(put.backend);
  CHECK(run_scatter_into(context, put.request, views).ending == Ending::done);
  CHECK(memory == Values{0, 70, 6, 1, 80, 7, 2, 90, 8});
}

TEST_CASE("only a plain scatter whose indices may be bad has waited for them") {
  Put put;
  TestContext context(put.backend);
  CHECK(put.run(context).has_waited);
  put.request.rule.bounds = Bounds::clip;
  CHECK_FALSE(put.run(context).has_waited);
  put.request.rule.bounds = Bounds::raise;
  put.add();
  CHECK_FALSE(put.run(context).has_waited);
}

TEST_CASE("a deferred scatter is not waited for, and leaves the points of bad indices out") {
  Put put;
  put.backend.asynchronous = true;
  put.request.rule.bounds = Bounds::deferred;
  put.indices[4] = 99;
  Values expected = put.input;
  expected[3] = 4;
  expected[0] = 2;
  expected[7] = 3;
  TestContext context(put.backend);
  const CallResult result = put.run(context);
  CHECK(result.ending == Ending::done);
  CHECK(result.deferred_check != nullptr);
  CHECK_FALSE(result.has_waited);
  CHECK(context.waits.empty());
  CHECK(put.out == expected);
}

TEST_CASE("a scatter that waits for its backend says for what") {
  Put put;
  put.backend.asynchronous = true;
  TestContext context(put.backend);
  SECTION("to check the indices") {
    CHECK(put.run(context).ending == Ending::done);
    CHECK(context.waits == std::vector<std::string>{kBoundsRaise});
  }
  SECTION("to look for duplicates") {
    put.request.duplicates = Duplicates::error;
    put.request.rule.bounds = Bounds::clip;
    CHECK(put.run(context).ending == Ending::duplicate);
    CHECK(context.waits == std::vector<std::string>{"duplicates='error'"});
    put.indices[3] = 4;  // none: the points are moved without a further wait
    const Values expected = put.expected();
    CHECK(put.run(context).ending == Ending::done);
    CHECK(put.out == expected);
  }
  SECTION("for nothing") {
    put.request.rule.bounds = Bounds::clip;
    CHECK(put.run(context).ending == Ending::done);
    CHECK(context.waits.empty());
  }
}

TEST_CASE("a scatter whose memory runs out leaves the caller's array untouched and releases everything") {
  const bool adds = GENERATE(false, true);
  const bool overlaps = GENERATE(false, true);
  Put put;
  if (adds) put.add();
  put.request.duplicates = overlaps ? Duplicates::first : Duplicates::last;
  Values memory(24, 7);
  const Values before = memory;
  Views views = put.views();
  views.input = view_of(memory.data(), 8);
  views.out = view_of(memory.data() + (overlaps ? 4 : 12), 8);
  if (overlaps) {  // and the source
    views.source = view_of(memory.data() + 6, 5);
  }
  put.backend.steps.reserve(64);
  Ending ending = Ending::unstable;
  const int failures = fail_each_allocation(
      [&] {
        TestContext context(put.backend);
        context.locks.reserve(64);
        ending = run_scatter_into(context, put.request, views).ending;
      },
      [&] {
        CHECK(put.backend.live_blocks == 0);
        CHECK(memory == before);
        put.backend.steps.clear();
      });
  CHECK(ending == Ending::done);
  CHECK(failures >= (overlaps ? 2 : 0));
  if (!adds && !overlaps) CHECK(memory != before);
}

}  // namespace
}  // namespace gs::test
