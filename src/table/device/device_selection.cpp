// device_selection.cpp: implements device_selection.h.
#include "table/device/device_selection.h"

#include "backends/device/launch.h"
#include "table/bit_source.h"
#include "table/row_errors.h"

namespace gs::table {
namespace {

using device::launch;
using device::RowList;
using device::Temporary;

// Provides maps and masks in memory that the machine reaches. It copies those in host memory to a GPU, without the gaps
// between their values.
class Staged {
 public:
  Staged(const DeviceContext& context, const RowMap& map)
      : context_(context), copies_(map.device == kHost && !context.reaches_host()) {}

  const std::byte* values(const std::byte* data, int64_t& stride, int64_t width, int64_t count) {
    if (!copies_) return data;
    std::vector<std::byte> packed(static_cast<std::size_t>(count * width));
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(packed.data() + i * width, data + i * stride, static_cast<std::size_t>(width));
    }
    stride = width;
    return copy(packed.data(), count * width);
  }

  uint64_t bits(const std::byte* data, int64_t offset, int64_t count) {
    if (!copies_) return bit_address(data) + static_cast<uint64_t>(offset);
    const int64_t first = offset / 8;
    return bit_address(copy(data + first, (offset + count + 7) / 8 - first)) + static_cast<uint64_t>(offset % 8);
  }

  device::Presence presence(const Nulls& nulls, int64_t count) {
    device::Presence present;
    present.stride = nulls.stride;
    if (count > 0 && nulls.bits != nullptr) present.bits = bits(nulls.bits, nulls.offset, count);
    if (nulls.bytes != nullptr) present.bytes = values(nulls.bytes, present.stride, 1, count);
    return present;
  }

 private:
  const std::byte* copy(const std::byte* data, int64_t bytes) {
    held_.push_back(context_.upload(data, bytes).buffer);
    return held_.back().data;
  }

  const DeviceContext& context_;
  const bool copies_;
  std::vector<Buffer> held_;
};

// Launches ResolveMap for each part of a map and reads the nulls and bad indices that the kernels reported.
class Resolver {
 public:
  // `any_row`: a bad index is not an error, so that the call need not wait for a report.
  Resolver(const DeviceContext& context, const RowMap& map, int64_t size, Negative negative, bool any_row)
      : machine_(context.machine()), map_(map.map), staged_(context, map) {
    body_.size = size;
    body_.from_end = negative == Negative::from_end ? size : 0;
    body_.any_row = any_row;
    const auto has_nulls = [](const MapPart& part) {
      return part.nulls.bits != nullptr || part.nulls.bytes != nullptr;
    };
    if (!any_row) body_.bad = bad_.emplace(machine_).status();
    if (std::any_of(map_.begin(), map_.end(), has_nulls)) body_.null = null_.emplace(machine_).status();
  }

  device::ResolveMap& body() { return body_; }

  void run() {
    for (const MapPart& part : map_) {
      body_.type = part.type;
      body_.stride = part.stride;
      body_.map = staged_.values(part.data, body_.stride, index_size(part.type), part.count);
      body_.present = staged_.presence(part.nulls, part.count);
      body_.count = part.count;
      bodies_.push_back(body_);
      launch(machine_, body_, part.count);
      body_.before += part.count;
    }
  }

  // Waits for the kernels and returns the nulls and bad indices that they reported.
  MapFault fault() {
    MapFault fault;
    const device::Status null = null_ ? null_->read() : device::Status();
    const device::Status bad = bad_ ? bad_->read() : device::Status();
    fault.nulls = static_cast<int64_t>(null.count);
    fault.bad = static_cast<int64_t>(bad.count);
    if (fault.nulls > 0) fault.first_null = null.first();
    if (fault.bad > 0) read_bad_index(bad.first(), fault);
    return fault;
  }

 private:
  void read_bad_index(int64_t position, MapFault& fault) {
    fault.first_bad = position;
    for (const device::ResolveMap& part : bodies_) {
      if (position >= part.before + part.count) continue;
      visit_index(part.type, [&]<class Index>() {
        Index value{};
        machine_.read(&value, part.map + (position - part.before) * part.stride, sizeof(Index));
        fault.is_signed = std::is_signed_v<Index>;
        fault.value = std::is_signed_v<Index> ? static_cast<uint64_t>(static_cast<int64_t>(value)) : value;
      });
      return;
    }
  }

  device::Machine& machine_;
  const std::vector<MapPart>& map_;
  Staged staged_;
  std::optional<ReportedStatus> bad_;
  std::optional<ReportedStatus> null_;
  device::ResolveMap body_;
  std::vector<device::ResolveMap> bodies_;
};

}  // namespace

Numbers allocate_numbers(const DeviceContext& context, int64_t count, bool wide) {
  Numbers numbers;
  const NewBuffer fresh = context.allocate(bytes_of_values(count, wide ? 8 : 4));
  numbers.memory = fresh.buffer;
  numbers.list.count = count;
  if (wide) {
    numbers.list.wide = reinterpret_cast<uint64_t*>(fresh.data);
  } else {
    numbers.list.narrow = reinterpret_cast<uint32_t*>(fresh.data);
  }
  return numbers;
}

DeviceSelection::DeviceSelection(const DeviceContext& context, const RowRequest& request, const RowMap& map)
    : lengths_(request.lengths()) {
  request.check(map);
  if (map.stream) context.machine().wait_for(*map.stream);
  switch (request.kind) {
    case SelectionKind::gather: gather(context, request, map); break;
    case SelectionKind::scatter: scatter(context, request, map); break;
    case SelectionKind::mask_scatter:
    case SelectionKind::filter:
    case SelectionKind::choose: choose_by(context, request, map); break;
  }
  if (map.stream) context.machine().go_before(*map.stream);
}

void DeviceSelection::gather(const DeviceContext& context, const RowRequest& request, const RowMap& map) {
  const int64_t total = row_count(lengths_);
  const int64_t count = map.count();
  numbers_ = allocate_numbers(context, count, total >= wide_rows);
  Resolver resolver(context, map, total, request.rule.negative, request.rule.bounds == Bounds::unchecked && total > 0);
  resolver.body().rows = numbers_.list;
  resolver.run();
  MapFault fault = resolver.fault();
  fault.from_end = request.rule.negative == Negative::from_end;
  if (!request.rule.fills()) fault.report(total, count);
  missing_ = fault.nulls + fault.bad;
}

void DeviceSelection::scatter(const DeviceContext& context, const RowRequest& request, const RowMap& map) {
  const int64_t rows = row_count(request.first);
  const int64_t count = map.count();
  const bool wide = std::max(row_count(lengths_), count + 1) >= wide_rows;
  numbers_ = allocate_numbers(context, rows, wide);
  context.machine().clear(const_cast<std::byte*>(numbers_.memory.data), rows * (wide ? 8 : 4));
  Resolver resolver(context, map, rows, request.rule.negative, false);
  resolver.body().winner = numbers_.list;
  resolver.body().to_winner = true;
  resolver.run();
  MapFault fault = resolver.fault();
  fault.from_end = request.rule.negative == Negative::from_end;
  if (!request.rule.fills()) fault.report(rows, count);
  device::ReplaceRows body;
  body.rows = numbers_.list;
  body.first_new = static_cast<uint64_t>(rows);
  body.one_row = request.one_row;
  launch(context.machine(), body, rows);
}

namespace {

device::MaskRows::MaskUse use_of(const RowRequest& request) {
  using Use = device::MaskRows::MaskUse;
  if (request.kind == SelectionKind::filter) return Use::filter;
  if (request.kind == SelectionKind::choose) return Use::choose;
  return request.one_row ? Use::scalar : Use::scatter;
}

}  // namespace

void DeviceSelection::choose_by(const DeviceContext& context, const RowRequest& request, const RowMap& map) {
  const int64_t rows = row_count(request.first);
  device::MaskRows body;
  body.kind = use_of(request);
  body.second = static_cast<uint64_t>(rows);
  device::Machine& machine = context.machine();
  const int64_t words = (rows + device::kLanes - 1) / device::kLanes;
  const Temporary bits(machine, words * 4 + 4);
  machine.clear(bits.data(), words * 4);
  Staged staged(context, map);
  device::PackMask part_words;
  part_words.words = bits.as<uint32_t>();
  part_words.wanted = request.named == Named::true_rows;
  part_words.nulls = request.named == Named::other_rows;
  for (const MaskPart& part : map.mask) {
    if (part.count == 0) continue;
    part_words.value = {};
    part_words.value.stride = part.stride;
    if (part.is_bits) {
      part_words.value.bits = staged.bits(part.data, part.offset, part.count);
    } else {
      part_words.value.bytes = staged.values(part.data, part_words.value.stride, 1, part.count);
    }
    part_words.present = staged.presence(part.nulls, part.count);
    part_words.count = part.count;
    launch(machine, part_words, part.count / device::kLanes + 2);
    part_words.before += part.count;
  }

  const bool counts = body.kind == device::MaskRows::MaskUse::filter || body.kind == device::MaskRows::MaskUse::scatter;
  const Temporary before(machine, counts ? (words + 1) * 8 : 8);
  int64_t ones = 0;
  if (counts) {
    device::CountWords count;
    count.words = bits.as<uint32_t>();
    count.ones = before.as<int64_t>();
    count.count = words;
    launch(machine, count, words);
    machine.exclusive_sum(count.ones, words);
    machine.read(&ones, count.ones + words, 8);
  }
  if (request.kind == SelectionKind::mask_scatter) request.check_true_rows(ones);
  numbers_ = allocate_numbers(context, body.kind == device::MaskRows::MaskUse::filter ? ones : rows,
                              row_count(lengths_) >= wide_rows);
  body.words = bits.as<uint32_t>();
  body.before = before.as<int64_t>();
  body.count = rows;
  body.rows = numbers_.list;
  launch(machine, body, rows);
}

std::vector<int64_t> DeviceSelection::numbers(const DeviceContext& context) const {
  const device::RowList& list = numbers_.list;
  std::vector<int64_t> out(static_cast<std::size_t>(list.count));
  if (list.count == 0) return out;
  if (list.wide != nullptr) {  // the 64-bit mark of a missing row equals -1
    context.machine().read(out.data(), list.wide, list.count * 8);
    return out;
  }
  std::vector<uint32_t> narrow(out.size());
  context.machine().read(narrow.data(), list.narrow, list.count * 4);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = narrow[i] == UINT32_MAX ? -1 : int64_t{narrow[i]};
  return out;
}

}  // namespace gs::table
