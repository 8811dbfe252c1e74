// device_selection.cpp: implements device_selection.h.
#include "table/device/device_selection.h"

#include "backends/device/launch.h"
#include "table/bit_source.h"

namespace gs::table {
namespace {

using device::launch;
using device::RowList;
using device::Temporary;

int64_t sum(const ChunkLengths& lengths) {
  int64_t total = 0;
  for (const int64_t length : lengths) total += length;
  return total;
}

ChunkLengths both(const ChunkLengths& first, const ChunkLengths& second) {
  ChunkLengths lengths = first;
  lengths.insert(lengths.end(), second.begin(), second.end());
  return lengths;
}

template <class Parts>
int64_t count_of(const Parts& parts) {
  int64_t count = 0;
  for (const auto& part : parts) count = checked_add(count, part.count);
  return count;
}

// Provides maps and masks in memory that the machine reaches. It copies those in host memory to a GPU, without the gaps
// between their values.
class Staged {
 public:
  Staged(const DeviceContext& context, bool on_host) : context_(context), copies_(on_host && !context.reaches_host()) {}

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
  Resolver(const DeviceContext& context, const std::vector<MapPart>& map, bool on_host, int64_t size, Negative negative,
           bool any_row)
      : machine_(context.machine()), map_(map), staged_(context, on_host) {
    body_.size = size;
    body_.from_end = negative == Negative::from_end ? size : 0;
    body_.any_row = any_row;
    const auto has_nulls = [](const MapPart& part) {
      return part.nulls.bits != nullptr || part.nulls.bytes != nullptr;
    };
    if (!any_row) body_.bad = bad_.emplace(machine_).status();
    if (std::any_of(map.begin(), map.end(), has_nulls)) body_.null = null_.emplace(machine_).status();
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
  Fault fault() {
    Fault fault;
    const device::Status null = null_ ? null_->read() : device::Status();
    const device::Status bad = bad_ ? bad_->read() : device::Status();
    fault.nulls = static_cast<int64_t>(null.count);
    fault.bad = static_cast<int64_t>(bad.count);
    if (fault.nulls > 0) fault.first_null = null.first();
    if (fault.bad > 0) read_bad_index(bad.first(), fault);
    return fault;
  }

 private:
  void read_bad_index(int64_t position, Fault& fault) {
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

DeviceSelection DeviceSelection::gather(const DeviceContext& context, const std::vector<MapPart>& map, bool on_host,
                                        const ChunkLengths& lengths, RowBounds bounds, Negative negative) {
  DeviceSelection self(context, lengths);
  const int64_t total = sum(lengths);
  const int64_t count = count_of(map);
  self.numbers_ = allocate_numbers(context, count, total >= wide_rows);
  Resolver resolver(context, map, on_host, total, negative, bounds == RowBounds::unchecked && total > 0);
  resolver.body().rows = self.numbers_.list;
  resolver.run();
  Fault fault = resolver.fault();
  fault.from_end = negative == Negative::from_end;
  if (bounds != RowBounds::nullify) fault.report(total, count);
  self.missing_ = fault.nulls + fault.bad;
  return self;
}

DeviceSelection DeviceSelection::scatter(const DeviceContext& context, const std::vector<MapPart>& map, bool on_host,
                                         const ChunkLengths& target, const ChunkLengths& source, bool one_row) {
  const int64_t rows = sum(target);
  const int64_t count = count_of(map);
  if (!one_row && count > sum(source)) {
    throw InvalidArgument("the map has " + std::to_string(count) + " rows, the source only " +
                          std::to_string(sum(source)));
  }
  DeviceSelection self(context, both(target, source));
  const bool wide = std::max(rows + sum(source), count + 1) >= wide_rows;
  self.numbers_ = allocate_numbers(context, rows, wide);
  context.machine().clear(const_cast<std::byte*>(self.numbers_.memory.data), rows * (wide ? 8 : 4));
  Resolver resolver(context, map, on_host, rows, Negative::from_end, false);
  resolver.body().winner = self.numbers_.list;
  resolver.body().to_winner = true;
  resolver.run();
  Fault fault = resolver.fault();
  fault.from_end = true;
  fault.report(rows, count);
  device::ReplaceRows body;
  body.rows = self.numbers_.list;
  body.first_new = static_cast<uint64_t>(rows);
  body.one_row = one_row;
  launch(context.machine(), body, rows);
  return self;
}

// Sets the row numbers by a mask, which must have `rows` rows; error texts name `side` as the table with these rows.
// A negative `source_rows` allows any number of true rows.
void DeviceSelection::choose_by(const DeviceContext& context, const std::vector<MaskPart>& mask, bool on_host,
                                int64_t rows, const char* side, device::MaskRows body, int64_t source_rows) {
  if (count_of(mask) != rows) {
    throw InvalidArgument("the mask has length " + std::to_string(count_of(mask)) + ", " + side + " has length " +
                          std::to_string(rows));
  }
  device::Machine& machine = context.machine();
  const int64_t words = (rows + device::kLanes - 1) / device::kLanes;
  const Temporary bits(machine, words * 4 + 4);
  machine.clear(bits.data(), words * 4);
  Staged staged(context, on_host);
  device::PackMask part_words;
  part_words.words = bits.as<uint32_t>();
  for (const MaskPart& part : mask) {
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

  const bool counts = body.kind == device::MaskRows::MaskUse::filter || source_rows >= 0;
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
  if (source_rows >= 0 && ones > source_rows) {
    throw InvalidArgument("the mask has " + std::to_string(ones) + " true rows, the source only " +
                          std::to_string(source_rows) + " rows");
  }
  numbers_ = allocate_numbers(context, body.kind == device::MaskRows::MaskUse::filter ? ones : rows,
                              sum(lengths_) >= wide_rows);
  body.words = bits.as<uint32_t>();
  body.before = before.as<int64_t>();
  body.count = rows;
  body.rows = numbers_.list;
  launch(machine, body, rows);
}

DeviceSelection DeviceSelection::mask_scatter(const DeviceContext& context, const std::vector<MaskPart>& mask,
                                              bool on_host, const ChunkLengths& target, const ChunkLengths& source,
                                              bool one_row) {
  DeviceSelection self(context, both(target, source));
  device::MaskRows body;
  body.kind = one_row ? device::MaskRows::MaskUse::scalar : device::MaskRows::MaskUse::scatter;
  body.second = static_cast<uint64_t>(sum(target));
  self.choose_by(context, mask, on_host, sum(target), "the target", body, one_row ? -1 : sum(source));
  return self;
}

DeviceSelection DeviceSelection::filter(const DeviceContext& context, const std::vector<MaskPart>& mask, bool on_host,
                                        const ChunkLengths& lengths) {
  DeviceSelection self(context, lengths);
  self.choose_by(context, mask, on_host, sum(lengths), "the table", {}, -1);
  return self;
}

DeviceSelection DeviceSelection::choose(const DeviceContext& context, const std::vector<MaskPart>& mask, bool on_host,
                                        const ChunkLengths& when_true, const ChunkLengths& when_false) {
  const int64_t rows = sum(when_true);
  if (sum(when_false) != rows) {
    throw InvalidArgument("the two sides have " + std::to_string(rows) + " and " + std::to_string(sum(when_false)) +
                          " rows");
  }
  DeviceSelection self(context, both(when_true, when_false));
  device::MaskRows body;
  body.kind = device::MaskRows::MaskUse::choose;
  body.second = static_cast<uint64_t>(rows);
  self.choose_by(context, mask, on_host, rows, "each side", body, -1);
  return self;
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
