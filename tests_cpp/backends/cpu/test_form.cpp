// test_form.cpp: the form of a job, and of a scatter that several threads share.
#include "backends/cpu/form.h"
#include "backends/cpu/prepare.h"
#include "cpu_cases.h"
#include "plans_by_hand.h"

using namespace gs;
using namespace gs::test;
using cpu::Form;

namespace {

// The job of a plan, without memory.
struct Job {
  Job(const Plan& plan, const cpu::Tuning& tuning, Direction direction) {
    Buffers buffers;
    buffers.index.resize(plan.index.size(), nullptr);
    cpu::prepare(plan, buffers, direction, tuning, prepared);
  }
  cpu::Prepared prepared;
};

Form form_of(const Plan& plan, const cpu::Tuning& tuning = {}, Direction direction = Direction::gather) {
  const Job job(plan, tuning, direction);
  return cpu::form_of_job(plan, tuning, job.prepared.job);
}

cpu::Tuning with_vectors() {
  cpu::Tuning tuning;
  tuning.vectors = tuning.byte_tables = true;
  return tuning;
}

}  // namespace

TEST_CASE("small units with one contiguous index array have the form elements") {
  for (const int64_t unit : {1, 2, 4, 8, 16}) REQUIRE(form_of(take_plan(1000, unit)) == Form::elements);
  for (const int64_t unit : {3, 12, 32}) REQUIRE(form_of(take_plan(1000, unit)) == Form::blocks);
  REQUIRE(form_of(take_plan(1000), {}, Direction::scatter) == Form::elements);
  REQUIRE(form_of(take_plan(1000, 4, IndexType::i64, UINT32_MAX)) == Form::blocks);
  REQUIRE(form_of(take_plan(1000, 4, IndexType::i64, int64_t{UINT32_MAX} - 1)) == Form::elements);
  Plan wrapped = take_plan(1000);
  wrapped.rule.bounds = Bounds::wrap;
  REQUIRE(form_of(wrapped) == Form::blocks);
  cpu::Tuning general;
  general.general = true;
  REQUIRE(form_of(take_plan(1000), general) == Form::blocks);
  Plan strided = take_plan(1000);
  strided.space.stride(kIndex, 0) = 16;
  REQUIRE(form_of(strided) == Form::blocks);
}

TEST_CASE("gathers of 4 and 8 bytes by 32-bit positions have the form vectors, where registers serve it") {
  const cpu::Tuning tuning = with_vectors();
  for (const int64_t unit : {4, 8}) {
    REQUIRE(form_of(take_plan(1000, unit), tuning) == Form::vectors);
    REQUIRE(form_of(take_plan(1000, unit)) == Form::elements);
    REQUIRE(form_of(take_plan(1000, unit), tuning, Direction::scatter) == Form::elements);
  }
  REQUIRE(form_of(take_plan(1000, 2), tuning) == Form::elements);
  REQUIRE(form_of(take_plan(1000, 4, IndexType::i64, int64_t{INT32_MAX}), tuning) == Form::vectors);
  REQUIRE(form_of(take_plan(1000, 4, IndexType::i64, int64_t{INT32_MAX} + 1), tuning) == Form::elements);
  // Along an axis the positions are multiples of the step in units, which must be a power of two.
  REQUIRE(form_of(gather_plan(50, 100, 256), tuning) == Form::vectors);
  REQUIRE(form_of(gather_plan(50, 100, 255), tuning) == Form::elements);
  REQUIRE(form_of(gather_plan(50, 100, cpu::kShortVectorRun / 2), tuning) == Form::blocks);
}

TEST_CASE("a source array of at most 256 bytes or words that bytes index is a lookup table in registers") {
  const cpu::Tuning tuning = with_vectors();
  REQUIRE(form_of(take_plan(1000, 1, IndexType::u8, 256), tuning) == Form::byte_table);
  REQUIRE(form_of(take_plan(1000, 1, IndexType::i8, 256), tuning) == Form::byte_table);
  REQUIRE(form_of(take_plan(1000, 1, IndexType::u8, 257), tuning) == Form::elements);
  REQUIRE(form_of(take_plan(1000, 1, IndexType::i16, 256), tuning) == Form::elements);
  REQUIRE(form_of(take_plan(tuning.byte_run, 1, IndexType::u8), tuning) == Form::byte_table);
  REQUIRE(form_of(take_plan(tuning.byte_run - 1, 1, IndexType::u8), tuning) == Form::elements);
  Plan signed_values = take_plan(1000, 1, IndexType::i8, 129);
  signed_values.rule.negative = Negative::out_of_bounds;  // bytes from 128 on are negative values
  REQUIRE(form_of(signed_values, tuning) == Form::elements);
  signed_values.index[0].extent = 128;
  REQUIRE(form_of(signed_values, tuning) == Form::byte_table);
  REQUIRE(form_of(take_plan(1000, 4, IndexType::u8, 256), tuning) == Form::byte_table);
  REQUIRE(form_of(take_plan(1000, 4, IndexType::u8, 257), tuning) == Form::vectors);
  REQUIRE(form_of(take_plan(1000, 2, IndexType::u8, 256), tuning) == Form::elements);
  REQUIRE(form_of(take_plan(1000, 8, IndexType::u8, 256), tuning) == Form::vectors);
}

TEST_CASE("a scatter has the form elements only where positions alone give its targets") {
  const Plan plan = take_plan(1000);
  const Job job(plan, {}, Direction::scatter);
  const auto form = [&](cpu::ScatterForm scatter) { return cpu::form_of_scatter(plan, job.prepared.job, scatter); };
  REQUIRE(form({}) == Form::elements);
  REQUIRE(form({.owns_all = false}) == Form::elements);
  REQUIRE(form({.in_pieces = true}) == Form::blocks);
  REQUIRE(form({.reduces = true}) == Form::elements);
  REQUIRE(form({.reduces = true, .has_kernel = false}) == Form::blocks);
  REQUIRE(form({.reduces = true, .has_totals = true}) == Form::elements);

  // Along an axis the target also advances from point to point.
  const Plan axis = gather_plan(50, 100, 64);
  const Job along(axis, {}, Direction::scatter);
  const auto axis_form = [&](cpu::ScatterForm scatter) {
    return cpu::form_of_scatter(axis, along.prepared.job, scatter);
  };
  REQUIRE(axis_form({}) == Form::elements);
  REQUIRE(axis_form({.owns_all = false}) == Form::blocks);
  REQUIRE(axis_form({.reduces = true, .has_totals = true}) == Form::blocks);

  const Plan rows = take_plan(1000, 100);
  const Job blocks(rows, {}, Direction::scatter);
  REQUIRE(cpu::form_of_scatter(rows, blocks.prepared.job, {}) == Form::blocks);
}

TEST_CASE("a form has one name, except for blocks, which the kind of the plan names") {
  REQUIRE(cpu::form_name(take_plan(10), Form::elements) == "elements");
  REQUIRE(cpu::form_name(gather_plan(5, 10, 64), Form::elements) == "axis");
  REQUIRE(cpu::form_name(take_plan(10), Form::vectors) == "vectors");
  REQUIRE(cpu::form_name(take_plan(10), Form::byte_table) == "byte table");
  REQUIRE(cpu::form_name(take_plan(10), Form::short_move) == "short");
  REQUIRE(cpu::form_name(take_plan(10), Form::column_tiles) == "column tiles");
  REQUIRE(cpu::form_name(take_plan(10), Form::blocks) == "blocks");
  REQUIRE(cpu::form_name(take_plan(10, 100), Form::blocks) == "rows");
}
