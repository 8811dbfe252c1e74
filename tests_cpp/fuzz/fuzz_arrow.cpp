// fuzz_arrow.cpp: fuzzes the importer of Arrow arrays, and the table operators on what it accepts.
#include <optional>
#include <stdexcept>

#include "arrow_input.h"
#include "core/error.h"
#include "reference.h"
#include "table/row_errors.h"
#include "table/take_frame.h"

namespace {

using namespace gs;
using namespace gs::arrow;
using namespace gs::table;
using fuzz::Input;
using fuzz::require;

// Imports an array. Empty if it is refused; then it has been released.
std::optional<Array> imported(fixture::Column& column, const Type& type, Check check) {
  try {
    return import_array(&column.it, type, check);
  } catch (const ExchangeError&) {
    require(column.settled(), "an array that is refused is released once");
    return std::nullopt;
  }
}

// A map with values of one type, most of them in bounds.
struct Map {
  std::vector<std::byte> bytes;
  RowMap view;

  Map(Input& input, int64_t rows) {
    const auto type = static_cast<IndexType>(input.from(0, 7));
    const int64_t count = input.from(0, 20);
    bytes.resize(static_cast<std::size_t>(count * index_size(type)));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t value = input.rarely() ? input.wild() : input.from(-1, std::max<int64_t>(rows - 1, 0));
      std::memcpy(bytes.data() + i * index_size(type), &value, static_cast<std::size_t>(index_size(type)));
    }
    view.map.push_back({bytes.data(), index_size(type), type, count, {}});
  }
};

struct Mask {
  std::vector<std::byte> bytes;
  RowMap view;

  Mask(Input& input, int64_t rows) {
    bytes.resize(static_cast<std::size_t>(rows));
    for (std::byte& byte : bytes) byte = std::byte{input.coin()};
    view.mask.push_back({bytes.data(), false, 0, 1, rows, {}});
  }
};

Frame run(Input& input, const Frame& frame) {
  const Sharing sharing{reference::backend(), {}};
  ChunkLengths lengths;
  for (const Array& chunk : frame.data.chunks) lengths.push_back(chunk.length);
  const int64_t rows = row_count(lengths);
  const bool nullable = input.coin();
  switch (input.from(0, 4)) {
    case 0: {
      const auto bounds = input.coin() ? Bounds::fill : Bounds::raise;
      const Map map(input, rows);
      const HostSelection selection(sharing, RowRequest::gather(lengths, bounds), map.view);
      return take_rows(sharing, selection, frame, nullptr, nullable || bounds == Bounds::fill);
    }
    case 1: {
      const Map map(input, rows);
      const HostSelection selection(sharing, RowRequest::scatter(lengths, lengths, false), map.view);
      return take_rows(sharing, selection, frame, &frame, nullable);
    }
    case 2: {
      const Mask mask(input, rows);
      return take_rows(sharing, {sharing, RowRequest::filter(lengths), mask.view}, frame, nullptr, nullable);
    }
    case 3: {
      const Mask mask(input, rows);
      return take_rows(sharing, {sharing, RowRequest::choose(lengths, lengths), mask.view}, frame, &frame, nullable);
    }
    default: {
      const Mask mask(input, rows);
      const HostSelection selection(sharing, RowRequest::mask_scatter(lengths, lengths, false), mask.view);
      return take_rows(sharing, selection, frame, &frame, nullable);
    }
  }
}

// What the operators made of an array without faults has no faults either.
void check_result(const Frame& result) {
  ArrowSchema schema{};
  export_type(*result.data.type, &schema);
  const Type type = import_type(&schema);
  for (const Array& chunk : result.data.chunks) {
    ArrowArray array{};
    export_array(chunk, *result.data.type, &array);
    require(import_array(&array, type, Check::full).length == chunk.length, "a result is well-formed");
  }
}

void run_and_check(Input& input, const std::shared_ptr<const Type>& type, std::vector<Array> chunks, Check check) {
  try {
    const Frame frame = to_frame({type, std::move(chunks)}, std::nullopt);
    const Frame result = run(input, frame);
    if (check == Check::full) check_result(result);
  } catch (const ShapeError&) {
  } catch (const table::InvalidArgument&) {
  } catch (const table::DataTypeError&) {
  } catch (const BadRow&) {
  } catch (const NullRow&) {
  } catch (const ExchangeError& error) {
    // An array that contradicts itself is found out when it is followed, but not one that was checked.
    const bool is_refused_as_table = std::strstr(error.what(), "null") != nullptr;
    if (check == Check::full && !is_refused_as_table) std::fprintf(stderr, "%s\n", error.what());
    require(check == Check::structure || is_refused_as_table, "an array that was checked in full has no faults");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  Input input(data, size);
  const fixture::FieldPtr schema = fuzz::make_field(input, 0);
  std::shared_ptr<const Type> type;
  try {
    type = std::make_shared<const Type>(import_type(&schema->it));
  } catch (const ExchangeError&) {
  }
  require(schema->settled(), "a schema is released once");
  if (!type) return 0;

  const Check check = input.coin() ? Check::full : Check::structure;
  std::vector<fixture::ColumnPtr> columns;
  std::vector<Array> chunks;
  for (int64_t i = input.from(1, 2); i > 0; --i) {
    columns.push_back(fuzz::make_column(input, *type, input.from(0, 12)));
    std::optional<Array> chunk = imported(*columns.back(), *type, check);
    if (!chunk) return 0;
    chunks.push_back(std::move(*chunk));
  }
  run_and_check(input, type, std::move(chunks), check);
  for (const fixture::ColumnPtr& column : columns) require(column->settled(), "an array is released once");
  return 0;
}
