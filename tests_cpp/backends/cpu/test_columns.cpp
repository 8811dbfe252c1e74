// test_columns.cpp: gathers of rows of columns on every instruction set level, compared with the bodies for one row.
#include <bit>
#include <random>

#include "backends/column_kernels.h"
#include "cpu_cases.h"
#include "reference.h"

using namespace gs;
using namespace gs::test;

namespace {

using Generator = std::mt19937_64;

// Chunks of different lengths, and row numbers in them.
struct Picked {
  Picked(Generator& random, int chunk_count, int64_t count) {
    std::vector<uint32_t> lengths;
    for (int c = 0; c < chunk_count; ++c) lengths.push_back(static_cast<uint32_t>(1 + random() % 3000));
    for (int64_t i = 0; i < count; ++i) {
      const auto c = static_cast<uint32_t>(random() % static_cast<uint64_t>(chunk_count));
      chunk.push_back(c);
      row.push_back(static_cast<uint32_t>(random() % lengths[c]));
    }
    length = lengths;
  }
  RowNumbers numbers() const { return {row.data(), length.size() > 1 ? chunk.data() : nullptr}; }

  std::vector<uint32_t> row;
  std::vector<uint32_t> chunk;
  std::vector<uint32_t> length;
};

Bytes random_bytes(Generator& random, int64_t count) {
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Sizes near those of the groups that kernels process.
constexpr int64_t kCounts[] = {0, 1, 63, 64, 65, 127, 128, 129, 1000, 4097};

}  // namespace

TEST_CASE("items of every width, from one chunk and from several") {
  Generator random(1);
  for (const std::string& level : levels()) {
    const ColumnKernels kernels = *cpu::kernels_of(level)->columns;
    for (const int64_t width : {1, 2, 3, 4, 5, 8, 12, 16, 17, 32, 64, 100, 300}) {
      for (const int chunks : {1, 2, 7}) {
        for (const int64_t count : kCounts) {
          const Picked picked(random, chunks, count);
          std::vector<Bytes> data;
          std::vector<const std::byte*> items;
          for (const uint32_t length : picked.length) data.push_back(random_bytes(random, length * width));
          for (const Bytes& bytes : data) items.push_back(bytes.data());
          Bytes expected(static_cast<std::size_t>(count * width + 64), std::byte{0x5A});
          for (int64_t i = 0; i < count; ++i) {
            pick_item(items.data(), width, picked.numbers(), i, expected.data() + i * width);
          }
          for (const CopyHints hints : {CopyHints{false, false}, {true, false}, {false, true}, {true, true}}) {
            Bytes found(expected.size(), std::byte{0x5A});
            const int64_t half = count / 2;  // split as for two threads
            kernels.items(items.data(), width, picked.numbers(), half, count, hints, found.data());
            kernels.items(items.data(), width, picked.numbers(), 0, half, hints, found.data());
            INFO(level << ", width " << width << ", " << chunks << " chunks, " << count << " rows, far " << hints.far
                       << ", stream " << hints.stream);
            REQUIRE(found == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("bits, with chunks that have none, and a mask") {
  Generator random(2);
  for (const std::string& level : levels()) {
    const ColumnKernels kernels = *cpu::kernels_of(level)->columns;
    for (const int chunks : {1, 2, 7}) {
      for (const int64_t count : kCounts) {
        for (const int64_t offset : {0, 1, 7, 8, 13}) {
          const Picked picked(random, chunks, count);
          const std::byte ones{0xFF};
          std::vector<Bytes> data;  // exactly as many bytes as needed, so that a sanitizer detects a read beyond them
          std::vector<BitSource> bits;
          for (const uint32_t length : picked.length) data.push_back(random_bytes(random, (offset + length + 7) / 8));
          for (std::size_t c = 0; c < data.size(); ++c) {
            BitSource source;
            source.first = reinterpret_cast<uint64_t>(data[c].data()) * 8 + static_cast<uint64_t>(offset);
            source.end = reinterpret_cast<uint64_t>(data[c].data() + data[c].size());
            if (c % 3 == 2) source = {reinterpret_cast<uint64_t>(&ones) * 8, 0, reinterpret_cast<uint64_t>(&ones) + 1};
            bits.push_back(source);
          }
          const auto words = static_cast<std::size_t>((count + 63) / 64);
          std::vector<uint64_t> mask(words);
          for (uint64_t& word : mask) word = random();
          for (const bool masked : {false, true}) {
            std::vector<uint64_t> expected(words + 1, 0x5A5A);
            int64_t ones_expected = 0;
            for (int64_t i = 0; i < count; i += 64) {
              uint64_t word = pick_bits(bits.data(), picked.numbers(), i, std::min<int64_t>(64, count - i));
              if (masked) word &= mask[static_cast<std::size_t>(i / 64)];
              expected[static_cast<std::size_t>(i / 64)] = word;
              ones_expected += std::popcount(word);
            }
            std::vector<uint64_t> found(words + 1, 0x5A5A);
            const int64_t half = count / 128 * 64;
            const uint64_t* const and_with = masked ? mask.data() : nullptr;
            int64_t set = kernels.bits(bits.data(), picked.numbers(), half, count, and_with, found.data());
            set += kernels.bits(bits.data(), picked.numbers(), 0, half, and_with, found.data());
            INFO(level << ", " << chunks << " chunks, " << count << " rows from bit " << offset);
            REQUIRE(found == expected);
            REQUIRE(set == ones_expected);
          }
        }
      }
    }
  }
}

TEST_CASE("items of some places only") {
  Generator random(3);
  for (const std::string& level : levels()) {
    const ColumnKernels kernels = *cpu::kernels_of(level)->columns;
    const ColumnKernels& bodies = reference::backend().columns();
    for (const int64_t width : {1, 2, 3, 4, 8, 16, 40}) {
      for (const int chunks : {1, 3}) {
        for (const int64_t count : {0, 1, 20, 1000}) {
          const Picked picked(random, chunks, count + 5);
          std::vector<Bytes> data;
          std::vector<const std::byte*> items;
          for (const uint32_t length : picked.length) data.push_back(random_bytes(random, length * width));
          for (const Bytes& bytes : data) items.push_back(bytes.data());
          constexpr int64_t kOrigin = 17;
          std::vector<uint16_t> places(static_cast<std::size_t>(count + 5));
          for (std::size_t k = 0; k < places.size(); ++k) places[k] = static_cast<uint16_t>(kOrigin + 3 * k);
          for (const RowNumbers rows : {picked.numbers(), RowNumbers{}}) {
            Bytes expected(static_cast<std::size_t>((3 * count + 15) * width + 64), std::byte{0x5A});
            Bytes found = expected;
            bodies.put_items(items.data(), width, rows, 3, count + 3, places.data(), kOrigin, expected.data());
            kernels.put_items(items.data(), width, rows, 3, count + 3, places.data(), kOrigin, found.data());
            INFO(level << ", width " << width << ", " << chunks << " chunks, " << count << " places");
            REQUIRE(found == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("bits of some places only") {
  Generator random(4);
  for (const std::string& level : levels()) {
    const ColumnKernels kernels = *cpu::kernels_of(level)->columns;
    const ColumnKernels& bodies = reference::backend().columns();
    for (const int64_t words : {0, 1, 2, 5, 64}) {
      for (const int density : {0, 1, 2, 3}) {
        std::vector<uint64_t> places(static_cast<std::size_t>(words));
        for (uint64_t& word : places) {
          word = density == 0 ? 0 : density == 3 ? ~uint64_t{0} : density == 1 ? random() & random() : random();
        }
        std::vector<uint64_t> packed(static_cast<std::size_t>(words + 2));
        for (uint64_t& word : packed) word = random();
        std::vector<uint64_t> expected(static_cast<std::size_t>(words + 1));
        for (uint64_t& word : expected) word = random();
        std::vector<uint64_t> found = expected;
        const int64_t ones = bodies.expand_bits(packed.data(), places.data(), words, expected.data());
        INFO(level << ", " << words << " words, density " << density);
        REQUIRE(kernels.expand_bits(packed.data(), places.data(), words, found.data()) == ones);
        REQUIRE(found == expected);
      }
    }
  }
}

TEST_CASE("spans of any length, one behind the other, with and without bytes behind them") {
  Generator random(5);
  const Bytes source = random_bytes(random, 200000);
  for (const std::string& level : levels()) {
    const ColumnKernels kernels = *cpu::kernels_of(level)->columns;
    for (const int64_t longest : {1, 30, 64, 65, 300, 5000, 60000}) {
      for (const int64_t begin : {0, 1, 63, 64, 100}) {
        for (const bool stream : {false, true}) {
          Bytes expected(static_cast<std::size_t>(begin), std::byte{0x5A});
          std::vector<SpanGroup> groups(longest > 1000 ? 2 : 5);
          for (SpanGroup& group : groups) {
            group.count = static_cast<int>(1 + random() % SpanGroup::kMost);
            for (int k = 0; k < group.count; ++k) {
              const auto bytes = static_cast<int64_t>(random() % static_cast<uint64_t>(longest + 1));
              const bool is_last = random() % 8 == 0;  // the memory ends behind the span
              const auto all = static_cast<int64_t>(source.size());
              const int64_t from = is_last ? all - bytes : static_cast<int64_t>(random() % 100000);
              group.from[k] = source.data() + from;
              group.bytes[k] = bytes;
              group.is_short[k] = !is_last && bytes <= SpanGroup::kShort;
              expected.insert(expected.end(), source.begin() + from, source.begin() + from + bytes);
            }
          }
          const std::size_t end = expected.size();
          expected.resize(end + 200, std::byte{0x5A});
          // Aligned to cache lines, as results are.
          std::vector<std::byte> memory(expected.size() + 64, std::byte{0x5A});
          std::byte* const found = memory.data() + (-reinterpret_cast<uintptr_t>(memory.data()) & 63);
          SpanStage stage(found + begin, stream);
          for (std::size_t g = 0; g < groups.size(); ++g) {
            const bool has_next = g + 1 < groups.size() && random() % 4 != 0;
            kernels.spans(stage, groups[g], has_next ? &groups[g + 1] : nullptr);
          }
          kernels.finish_spans(stage);
          INFO(level << ", spans of up to " << longest << " bytes from byte " << begin << ", stream " << stream);
          REQUIRE(std::equal(expected.begin(), expected.end(), found));
        }
      }
    }
  }
}

TEST_CASE("the spans of rows from one piece, from two and from several") {
  Generator random(6);
  const auto run = [&]<class Offset>(Offset, int64_t item, int piece_count, bool lists, bool far_out) {
    std::vector<Bytes> memory;
    std::vector<SpanPiece> pieces;
    for (int p = 0; p < piece_count; ++p) {
      const auto reach = static_cast<int64_t>(200 + random() % 300);
      memory.push_back(random_bytes(random, reach * item));
      pieces.push_back({memory.back().data(), reach});
    }
    const ColumnKernels& bodies = reference::backend().columns();
    for (const std::string& level : levels()) {
      const ColumnKernels kernels = *cpu::kernels_of(level)->columns;
      for (const int count : {1, 2, 63, 64}) {
        constexpr int64_t kFirst = 5;
        std::vector<Offset> totals(80);
        std::vector<Offset> starts(80);
        int32_t piece[SpanGroup::kMost] = {};
        OffsetRows rows;
        rows.width = sizeof(Offset);
        rows.item = item;
        rows.starts = reinterpret_cast<const std::byte*>(starts.data());
        rows.pieces = pieces.data();
        if (piece_count == 2 && !lists) rows.second = random();
        if (lists) rows.piece = piece;
        totals[kFirst] = 77;
        for (int k = 0; k < count; ++k) {
          if (lists) piece[k] = static_cast<int32_t>(random() % static_cast<uint64_t>(piece_count));
          const int64_t reach =
              pieces[static_cast<std::size_t>(lists ? piece[k] : ((rows.second >> k) & 1) != 0)].reach;
          const auto items = static_cast<int64_t>(random() % 4 == 0 ? 0 : random() % 100);
          const auto at = static_cast<std::size_t>(kFirst + k);
          starts[at] = static_cast<Offset>(random() % static_cast<uint64_t>(reach - items + 1));
          if (random() % 3 == 0) starts[at] = static_cast<Offset>(reach - items);
          if (items == 0) starts[at] = static_cast<Offset>(random());  // of null rows: anything
          if (far_out && k == count / 2 && items > 0) starts[at] = static_cast<Offset>(reach - items + 1);
          totals[at + 1] = static_cast<Offset>(totals[at] + items);
        }
        std::vector<Offset> expected = totals;
        std::vector<Offset> found = totals;
        SpanGroup wanted;
        SpanGroup group;
        wanted.count = group.count = count;
        rows.offsets = reinterpret_cast<std::byte*>(expected.data());
        const bool is_good = bodies.place_spans(rows, kFirst, 77, 1000, wanted);
        rows.offsets = reinterpret_cast<std::byte*>(found.data());
        INFO(level << ", " << count << " rows, " << piece_count << " pieces, items of " << item << " bytes");
        REQUIRE(kernels.place_spans(rows, kFirst, 77, 1000, group) == is_good);
        if (!is_good) continue;
        REQUIRE(found == expected);
        for (int k = 0; k < count; ++k) {
          REQUIRE(group.bytes[k] == wanted.bytes[k]);
          if (wanted.bytes[k] > 0) REQUIRE(group.from[k] == wanted.from[k]);
          if (group.is_short[k] == 0 || wanted.bytes[k] == 0) continue;
          const int p = lists ? piece[k] : ((rows.second >> k) & 1) != 0;
          const Bytes& bytes = memory[static_cast<std::size_t>(p)];
          REQUIRE(group.bytes[k] <= SpanGroup::kShort);
          REQUIRE(group.from[k] + SpanGroup::kShort <= bytes.data() + bytes.size());
        }
      }
    }
  };
  for (const int64_t item : {1, 3, 8}) {
    for (const int pieces : {1, 2, 5}) {
      for (const bool far_out : {false, true}) {
        for (const bool lists : {false, true}) {
          if (pieces > 2 && !lists) continue;
          run(int32_t{}, item, pieces, lists, far_out);
          run(int64_t{}, item, pieces, lists, far_out);
        }
      }
    }
  }
}
