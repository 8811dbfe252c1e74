// test_device_columns.cpp: bodies for rows of tables on the emulated GPU, with blocks in any order, compared with the
// bodies for one row.
#include <random>
#include <vector>

#include "backends/device/launch.h"
#include "backends/reference/host_machine.h"
#include "catch.h"
#include "core/column_point.h"

using namespace gs;
using namespace gs::device;

namespace {

using Generator = std::mt19937_64;
using Bytes = std::vector<std::byte>;

constexpr int64_t kCounts[] = {0, 1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000};

// Few blocks, so that every body strides, in an order that differs between runs.
reference::HostMachine machine_of(uint64_t seed) {
  reference::Settings settings;
  settings.shuffle = seed;
  settings.blocks = 1 + static_cast<int64_t>(seed % 3);
  return reference::HostMachine(settings);
}

Bytes random_bytes(Generator& random, int64_t count) {
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::size_t at(int64_t i) {
  return static_cast<std::size_t>(i);
}

// Pieces, and rows given as numbers over all pieces; some rows are missing.
struct Picked {
  Picked(Generator& random, int piece_count, int64_t count, bool is_wide) {
    int64_t total = 0;
    for (int p = 0; p < piece_count; ++p) {
      begin.push_back(total);
      lengths.push_back(1 + static_cast<int64_t>(random() % 300));
      total += lengths.back();
    }
    for (int64_t i = 0; i < count; ++i) {
      const bool is_missing = random() % 5 == 0;
      number.push_back(is_missing ? kMissingRow : random() % static_cast<uint64_t>(total));
      narrow.push_back(static_cast<uint32_t>(number.back()));
    }
    rows.count = count;
    if (is_wide) {
      rows.wide = number.data();
    } else {
      rows.narrow = narrow.data();
    }
    pieces.count = piece_count;
    if (piece_count == 2) pieces.second = begin[1];
    if (piece_count > 2) pieces.begin = begin.data();
  }

  int piece_of(int64_t i) const {
    int piece = 0;
    for (int p = 1; p < pieces.count; ++p) piece += static_cast<int64_t>(number[at(i)]) >= begin[at(p)];
    return piece;
  }
  int64_t row_of(int64_t i) const { return static_cast<int64_t>(number[at(i)]) - begin[at(piece_of(i))]; }
  bool exists(int64_t i) const { return number[at(i)] != kMissingRow; }

  std::vector<int64_t> begin;
  std::vector<int64_t> lengths;
  std::vector<uint64_t> number;
  std::vector<uint32_t> narrow;
  RowList rows;
  PieceList pieces;
};

// One column in pieces: items (width 0: bits), and validity that begins at any bit.
struct Source {
  Source(Generator& random, const Picked& picked, int64_t item_width, bool nullable) : width(item_width) {
    for (const int64_t length : picked.lengths) {
      items.push_back(random_bytes(random, width == 0 ? length / 8 + 2 : length * width));
      valid.push_back(random_bytes(random, length / 8 + 3));
      shift.push_back(static_cast<int64_t>(random() % 8));
    }
    for (std::size_t p = 0; p < items.size(); ++p) {
      const auto first = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(items[p].data()));
      const auto bits = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(valid[p].data())) * 8;
      pieces.push_back({width == 0 ? first * 8 : first, nullable ? bits + static_cast<uint64_t>(shift[p]) : 0});
    }
  }
  bool is_valid(int piece, int64_t row) const {
    return pieces[at(piece)].valid == 0 || bit(pieces[at(piece)].valid, row);
  }
  bool bit(uint64_t first, int64_t row) const { return BitSource{first}.at(static_cast<uint64_t>(row)) != 0; }

  int64_t width;
  std::vector<Bytes> items;
  std::vector<Bytes> valid;
  std::vector<int64_t> shift;
  std::vector<PieceColumn> pieces;
};

int32_t unit_of(int64_t width) {
  return static_cast<int32_t>(width & -width);
}

}  // namespace

TEST_CASE("columns of every width, from one piece and from several, more than one launch takes") {
  Generator random(1);
  for (const int64_t count : kCounts) {
    for (const int piece_count : {1, 2, 7}) {
      const Picked picked(random, piece_count, count, count % 2 == 0);
      std::vector<Source> sources;
      std::vector<Bytes> targets;
      std::vector<std::vector<uint32_t>> words;
      constexpr int64_t kWidths[] = {0, 1, 2, 3, 4, 6, 8, 12, 16};
      for (int c = 0; c < kColumns; ++c) sources.emplace_back(random, picked, kWidths[c % 9], c % 2 == 0);
      PickColumns body;
      body.rows = picked.rows;
      body.pieces = picked.pieces;
      body.count = kColumns;
      std::vector<PieceColumn> all;
      const int64_t whole = (count + 63) / 64 * 2;
      for (int c = 0; c < kColumns; ++c) {
        targets.emplace_back(at(std::max(count * sources[at(c)].width, whole * 4)), std::byte{0x5A});
        words.emplace_back(at(whole), 0xFFFFFFFFu);
        Column& column = body.column[c];
        for (int p = 0; p < piece_count; ++p) {
          if (p < 2) column.piece[p] = sources[at(c)].pieces[at(p)];
          all.push_back(sources[at(c)].pieces[at(p)]);
        }
        column.target = targets.back().data();
        column.valid = words.back().data();
        column.width = static_cast<int32_t>(sources[at(c)].width);
        column.unit = unit_of(column.width);
      }
      if (piece_count > 2) body.all = all.data();
      auto machine = machine_of(random());
      launch(machine, body, (count + 31) / 32);

      std::vector<uint64_t> nulls(kColumns, 0);
      CountNulls zeros;
      zeros.bits = count;
      zeros.count = kColumns;
      for (int c = 0; c < kColumns; ++c) {
        zeros.words[c] = words[at(c)].data();
        zeros.nulls[c] = &nulls[at(c)];
      }
      launch(machine, zeros, 1 + count / 100);

      for (int c = 0; c < kColumns; ++c) {
        const Source& source = sources[at(c)];
        uint64_t expected_nulls = 0;
        for (int64_t i = 0; i < whole * 32; ++i) {
          const bool exists = i < count && picked.exists(i);
          const int piece = exists ? picked.piece_of(i) : 0;
          const int64_t row = exists ? picked.row_of(i) : 0;
          const bool valid = exists && source.is_valid(piece, row);
          expected_nulls += i < count && !valid;
          REQUIRE((words[at(c)][at(i / 32)] >> (i % 32) & 1) == (valid ? 1u : 0u));
          if (source.width == 0) {
            const bool bit = exists && source.bit(source.pieces[at(piece)].items, row);
            const auto* word = reinterpret_cast<const uint32_t*>(targets[at(c)].data()) + i / 32;
            REQUIRE((*word >> (i % 32) & 1) == (bit ? 1u : 0u));
          } else if (i < count) {
            Bytes expected(at(source.width), std::byte{0});
            std::vector<const std::byte*> items;
            for (const Bytes& bytes : source.items) items.push_back(bytes.data());
            const auto number = static_cast<uint32_t>(row);
            const auto chunk = static_cast<uint32_t>(piece);
            if (exists) pick_item(items.data(), source.width, {&number, &chunk}, 0, expected.data());
            REQUIRE(std::equal(expected.begin(), expected.end(), targets[at(c)].begin() + i * source.width));
          }
        }
        REQUIRE(nulls[at(c)] == expected_nulls);
      }
    }
  }
}

TEST_CASE("long items, unit by unit") {
  Generator random(2);
  for (const int64_t width : {17, 24, 40, 64, 96, 1000}) {
    const Picked picked(random, 2, 300, false);
    const Source source(random, picked, width, false);
    Bytes target(at(300 * width));
    PickLong body;
    body.rows = picked.rows;
    body.pieces = picked.pieces;
    for (int p = 0; p < 2; ++p) body.piece[p] = source.pieces[at(p)];
    body.target = target.data();
    body.width = width;
    body.unit = std::min(unit_of(width), 16);
    body.units = width / body.unit;
    body.by_units = Divider(body.units);
    auto machine = machine_of(random());
    launch(machine, body, 300 * (width / body.unit));
    for (int64_t i = 0; i < 300; ++i) {
      for (int64_t b = 0; b < width; ++b) {
        const std::byte expected =
            picked.exists(i) ? source.items[at(picked.piece_of(i))][at(picked.row_of(i) * width + b)] : std::byte{0};
        REQUIRE(target[at(i * width + b)] == expected);
      }
    }
  }
}

TEST_CASE("maps of all types: numbers, faults, and the last of several") {
  Generator random(3);
  for (const int64_t count : kCounts) {
    for (const bool is_signed : {true, false}) {
      const int64_t size = 100;
      std::vector<int16_t> map(at(count));
      Bytes valid = random_bytes(random, count / 8 + 1);
      for (int16_t& value : map) value = static_cast<int16_t>(static_cast<int64_t>(random() % 230) - 115);
      std::vector<uint32_t> numbers(at(count));
      std::vector<uint64_t> winners(at(size), 0);
      Status bad;
      Status null;
      ResolveMap body;
      body.map = reinterpret_cast<const std::byte*>(map.data());
      body.stride = 2;
      body.present.bits = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(valid.data())) * 8;
      body.count = count;
      body.size = size;
      body.from_end = size;
      body.rows.narrow = numbers.data();
      body.winner.wide = winners.data();
      body.bad = &bad;
      body.null = &null;
      body.type = is_signed ? IndexType::i16 : IndexType::u16;
      auto machine = machine_of(random());
      launch(machine, body, count);
      body.to_winner = true;
      launch(machine, body, count);
      std::vector<uint64_t> last(at(size), 0);
      int64_t first_bad = -1;
      int64_t first_null = -1;
      uint64_t outside = 0;
      uint64_t nulls = 0;
      for (int64_t i = 0; i < count; ++i) {
        int64_t row = is_signed ? map[at(i)] : static_cast<uint16_t>(map[at(i)]);
        if (is_signed && row < 0) row += size;
        const bool is_null = !bit_of(body.present.bits + static_cast<uint64_t>(i));
        const bool is_inside_table = row >= 0 && row < size;
        if (is_null && nulls++ == 0) first_null = i;
        if (!is_null && !is_inside_table && outside++ == 0) first_bad = i;
        const bool exists = !is_null && is_inside_table;
        REQUIRE(numbers[at(i)] == (exists ? static_cast<uint32_t>(row) : UINT32_MAX));
        if (exists) last[at(row)] = static_cast<uint64_t>(i + 1);
      }
      REQUIRE(winners == last);
      REQUIRE(bad.count == 2 * outside);  // two launches count them
      REQUIRE(null.count == 2 * nulls);
      if (outside > 0) REQUIRE(bad.first() == first_bad);
      if (nulls > 0) REQUIRE(null.first() == first_null);
    }
  }
}

TEST_CASE("masks in parts: words, and the rows of every operator") {
  using MaskUse = MaskRows::MaskUse;
  Generator random(4);
  for (const int64_t count : kCounts) {
    const int64_t split = count / 3;
    Bytes bits = random_bytes(random, count / 8 + 2);
    Bytes bytes = random_bytes(random, count * 2 + 1);
    for (std::byte& byte : bytes) byte &= std::byte{1};
    const int64_t word_count = (count + 31) / 32;
    std::vector<uint32_t> words(at(word_count + 1), 0);
    auto machine = machine_of(random());
    PackMask part;
    part.words = words.data();
    part.value.bits = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(bits.data())) * 8 + 3;
    part.count = split;
    if (split > 0) launch(machine, part, 3 + split / 64);
    part.value = {};
    part.value.bytes = bytes.data();
    part.value.stride = 2;
    part.before = split;
    part.count = count - split;
    if (count > split) launch(machine, part, 3 + count / 64);
    const auto is_true = [&](int64_t i) {
      return i < split ? BitSource{static_cast<uint64_t>(reinterpret_cast<uintptr_t>(bits.data())) * 8 + 3}.at(
                             static_cast<uint64_t>(i)) != 0
                       : bytes[at((i - split) * 2)] != std::byte{0};
    };
    std::vector<int64_t> before(at(word_count + 1));
    CountWords ones;
    ones.words = words.data();
    ones.ones = before.data();
    ones.count = word_count;
    launch(machine, ones, word_count);
    machine.exclusive_sum(before.data(), word_count);
    std::vector<int64_t> chosen;
    for (int64_t i = 0; i < count; ++i) {
      if (is_true(i)) chosen.push_back(i);
    }
    REQUIRE(before[at(word_count)] == static_cast<int64_t>(chosen.size()));
    for (const MaskUse kind : {MaskUse::filter, MaskUse::scatter, MaskUse::scalar, MaskUse::choose}) {
      std::vector<uint32_t> numbers(at(count + 1), 7);
      MaskRows body;
      body.words = words.data();
      body.before = before.data();
      body.count = count;
      body.rows.narrow = numbers.data();
      body.rows.count = count;
      body.second = 5000;
      body.kind = kind;
      launch(machine, body, count);
      uint32_t order = 0;
      for (int64_t i = 0; i < count; ++i) {
        const auto own = static_cast<uint32_t>(i);
        if (kind == MaskUse::filter) {
          if (i < static_cast<int64_t>(chosen.size())) REQUIRE(numbers[at(i)] == static_cast<uint32_t>(chosen[at(i)]));
          continue;
        }
        uint32_t expected = own;
        if (kind == MaskUse::choose && !is_true(i)) expected = 5000 + own;
        if (kind == MaskUse::scalar && is_true(i)) expected = 5000;
        if (kind == MaskUse::scatter && is_true(i)) expected = 5000 + order++;
        REQUIRE(numbers[at(i)] == expected);
      }
    }
  }
}

TEST_CASE("the bytes between offsets, for rows of any length, and offsets out of order") {
  Generator random(5);
  for (const int64_t count : kCounts) {
    for (const int64_t item : {1, 3, 8}) {
      for (const int64_t longest : {1, 40, 3000}) {
        const Picked picked(random, 2, count, false);
        std::vector<std::vector<int32_t>> offsets;
        std::vector<Bytes> data;
        SpanColumn column;
        for (int p = 0; p < 2; ++p) {
          std::vector<int32_t>& own = offsets.emplace_back(1, 3);
          for (int64_t i = 0; i < picked.lengths[at(p)]; ++i) {
            own.push_back(own.back() + static_cast<int32_t>(random() % static_cast<uint64_t>(longest)));
          }
          data.push_back(random_bytes(random, own.back() * item));
        }
        for (int p = 0; p < 2; ++p) {
          column.piece[p].offsets = reinterpret_cast<const std::byte*>(offsets[at(p)].data());
          column.piece[p].base = reinterpret_cast<uintptr_t>(data[at(p)].data());
          column.piece[p].reach = p == 0 ? -1 : offsets[at(p)].back();
          column.piece[p].length = picked.lengths[at(p)];
        }
        std::vector<int64_t> sums(at(count + 1));
        std::vector<uint64_t> starts(at(count));
        uint64_t long_rows = 0;
        column.length = sums.data();
        column.start = starts.data();
        column.long_rows = &long_rows;
        column.item = item;
        Status wrong;
        FindSpans body;
        body.rows = picked.rows;
        body.pieces = picked.pieces;
        body.wrong = &wrong;
        body.most = 2990;
        body.count = 1;
        body.column[0] = column;
        auto machine = machine_of(random());
        launch(machine, body, count);
        REQUIRE(wrong.is_clean());
        machine.exclusive_sum(sums.data(), count);

        Bytes expected;
        uint64_t expected_long = 0;
        for (int64_t i = 0; i < count; ++i) {
          REQUIRE(sums[at(i)] * item == static_cast<int64_t>(expected.size()));
          if (!picked.exists(i)) continue;
          const auto p = at(picked.piece_of(i));
          const auto begin = offsets[p][at(picked.row_of(i))];
          const auto end = offsets[p][at(picked.row_of(i) + 1)];
          expected_long += end - begin >= 2990;
          expected.insert(expected.end(), data[p].begin() + begin * item, data[p].begin() + end * item);
        }
        REQUIRE(long_rows == expected_long);
        Bytes found(expected.size() + 8);
        CopySpans copy;
        copy.spans = {sums.data(), starts.data(), count};
        copy.item = item;
        copy.by_item = Divider(item);
        copy.bytes = static_cast<int64_t>(expected.size());
        copy.target = reinterpret_cast<uint64_t*>(found.data());
        launch(machine, copy, (copy.bytes + 7) / 8);
        found.resize(expected.size());
        REQUIRE(found == expected);

        std::vector<int32_t> narrow(at(count + 1));
        NarrowOffsets offsets_of;
        offsets_of.offsets = count + 1;
        offsets_of.count = 1;
        offsets_of.column[0] = {sums.data(), narrow.data()};
        launch(machine, offsets_of, count + 1);
        REQUIRE(std::equal(narrow.begin(), narrow.end(), sums.begin()));

        if (count == 0 || !picked.exists(count - 1)) continue;
        const auto p = at(picked.piece_of(count - 1));
        offsets[p][at(picked.row_of(count - 1))] = offsets[p].back() + 1;  // at least those of the last row
        launch(machine, body, count);
        REQUIRE(!wrong.is_clean());
      }
    }
  }
}
