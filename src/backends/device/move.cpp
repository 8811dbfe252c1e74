// move.cpp: submits the launches of a move, by the form that choose_kernel.h chooses.
#include "backends/device/move.h"

#include <optional>

#include "backends/device/choose_kernel.h"
#include "backends/device/launch.h"
#include "backends/device/sorted_points.h"
#include "backends/device/uploaded_plan.h"

namespace gs::device {
namespace {

// Calls use.operator()<kWord>() with the word size in bytes as a constant.
template <class Use>
void with_word(int word, Use&& use) {
  switch (word) {
    case 1: return use.template operator()<1>();
    case 2: return use.template operator()<2>();
    case 4: return use.template operator()<4>();
    case 8: return use.template operator()<8>();
    default: return use.template operator()<16>();
  }
}

template <int kUnit>
void move_elements(Machine& machine, const Plan& plan, const Buffers& buffers, Status* status) {
  const UploadedPlan table(machine, plan, buffers);
  MoveElements<kUnit> body{*table, status};
  constexpr int64_t kEach = MoveElements<kUnit>::kEach;
  body.row = plan.space.extent(plan.space.rank() - 1);
  body.pieces = (body.row + 2 * (kEach - 1)) / kEach;  // enough for a row that begins anywhere in a word
  body.by_pieces = Divider(body.pieces);
  body.work = table->count / body.row * body.pieces;
  launch(machine, body, body.work);
}

template <int kWord, class Winner>
void move_units(Machine& machine, MoveUnits<kWord, Winner>& body) {
  body.divide(machine.busy_warps());
  constexpr int64_t kParts = MoveUnits<kWord, Winner>::kParts;
  launch(machine, body, (body.work + kParts - 1) / kParts);
}

// Marks of fewer bytes mostly stay in the cache of the GPU, where a second look at the points would cost more than it
// saves. An estimate: about half of the 60 MB of an H200.
constexpr int64_t kCachedMarks = int64_t{1} << 25;

// Most scatters have no duplicates. Where marks are many, that is found out first, by one bit for each slot; the
// launches after that read the answer on the device, so nothing waits for it.
template <class Winner>
void scatter_winners(Machine& machine, const Plan& plan, const Buffers& buffers, Status* status) {
  const UploadedPlan table(machine, plan, buffers);
  const Slots slots = slots_of(plan);
  const int64_t bytes = slots.count * static_cast<int64_t>(sizeof(Winner));
  const int64_t words = bytes > kCachedMarks ? (slots.count + 31) / 32 + 1 : 0;
  std::optional<Temporary> bits;
  uint32_t* repeats = nullptr;
  if (words > 0) {
    bits.emplace(machine, words * static_cast<int64_t>(sizeof(uint32_t)));
    repeats = bits->as<uint32_t>();
    machine.clear(repeats, words * static_cast<int64_t>(sizeof(uint32_t)));
    launch(machine, FindSharedSlots{*table, slots, repeats + 1, repeats, status}, table->count);
    status = nullptr;  // it has reported them
  }
  const Temporary marks(machine, bytes);
  auto* winner = marks.as<Winner>();
  machine.clear(winner, bytes);
  launch(machine, MarkWinners<Winner>{*table, slots, winner, status, repeats}, table->count);
  with_word(common_word(plan, buffers), [&]<int kWord>() {
    MoveUnits<kWord, Winner> body{*table, Direction::scatter};
    body.winner = winner;
    body.slots = slots;
    body.repeats = repeats;
    move_units(machine, body);
  });
}

void scatter_sorted(Machine& machine, const Plan& plan, const Buffers& buffers, Status* status) {
  const SortedPoints points(machine, plan, buffers, status);
  with_word(common_word(plan, buffers), [&]<int kWord>() {
    const int64_t words = plan.unit / kWord;
    const int64_t work = plan.space.count() * words;
    launch(machine, WriteLast<kWord>{points.table(), points.slots(), points.sorted(), words, work, Divider(words)},
           work);
  });
}

}  // namespace

void move(Machine& machine, const Plan& plan, const Buffers& buffers, Direction direction, Status* status) {
  if (buffers.base_bytes > 0) machine.copy(buffers.indexed, buffers.base, buffers.base_bytes);
  if (plan.space.count() == 0) return;
  if (plan.unit == 0) {  // there is nothing to move, but the indices are checked
    const UploadedPlan table(machine, plan, buffers);
    if (status != nullptr) launch(machine, ScanOutside{*table, status}, table->count);
    return;
  }
  const int word = common_word(plan, buffers);
  switch (launch_form(plan, direction)) {
    case LaunchForm::plain: {
      const bool gathers = direction == Direction::gather;
      return machine.copy(gathers ? buffers.dense : buffers.indexed, gathers ? buffers.indexed : buffers.dense,
                          plan.unit);
    }
    case LaunchForm::elements:
      if (word < plan.unit) break;
      return with_word(static_cast<int>(plan.unit),
                       [&]<int kUnit>() { move_elements<kUnit>(machine, plan, buffers, status); });
    case LaunchForm::winners:
      if (plan.space.count() < int64_t{UINT32_MAX}) return scatter_winners<uint32_t>(machine, plan, buffers, status);
      return scatter_winners<uint64_t>(machine, plan, buffers, status);
    case LaunchForm::sorted: return scatter_sorted(machine, plan, buffers, status);
    case LaunchForm::units: break;
  }
  const UploadedPlan table(machine, plan, buffers);
  with_word(word, [&]<int kWord>() {
    MoveUnits<kWord, void> body{*table, direction, status};
    move_units(machine, body);
  });
}

std::string kernel_name(const Plan& plan, Direction direction) {
  switch (launch_form(plan, direction)) {
    case LaunchForm::plain: return "copy";
    case LaunchForm::elements: return MoveElements<4>::kName;
    case LaunchForm::units: return MoveUnits<4, void>::kName;
    case LaunchForm::winners: return MoveUnits<4, uint32_t>::kName;
    case LaunchForm::sorted: return WriteLast<4>::kName;
  }
  return "";
}

}  // namespace gs::device
