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
    const ColumnKernels kernels = cpu::columns_of(cpu::kernels(level));
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
          for (const bool far : {false, true}) {
            Bytes found(expected.size(), std::byte{0x5A});
            const int64_t half = count / 2;  // split as for two threads
            kernels.items(items.data(), width, picked.numbers(), half, count, far, found.data());
            kernels.items(items.data(), width, picked.numbers(), 0, half, far, found.data());
            INFO(level << ", width " << width << ", " << chunks << " chunks, " << count << " rows, far " << far);
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
    const ColumnKernels kernels = cpu::columns_of(cpu::kernels(level));
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

TEST_CASE("items and bits of some places only") {
  Generator random(3);
  for (const std::string& level : levels()) {
    const ColumnKernels kernels = cpu::columns_of(cpu::kernels(level));
    const ColumnKernels& bodies = reference::backend().columns();
    for (const int64_t width : {1, 2, 3, 8, 16, 40}) {
      for (const int chunks : {1, 3}) {
        for (const int64_t count : kCounts) {
          const Picked picked(random, chunks, count + 5);
          std::vector<Bytes> data;
          std::vector<const std::byte*> items;
          std::vector<BitSource> bits;
          for (const uint32_t length : picked.length) data.push_back(random_bytes(random, length * width));
          for (const Bytes& bytes : data) {
            items.push_back(bytes.data());
            bits.push_back({reinterpret_cast<uint64_t>(bytes.data()) * 8, ~uint64_t{0},
                            reinterpret_cast<uint64_t>(bytes.data() + bytes.size())});
          }
          std::vector<uint64_t> places(static_cast<std::size_t>(count / 64 + 1));
          for (uint64_t& word : places) word = random() & random();
          for (const int64_t begin : {int64_t{0}, count / 2, count / 2 / 64 * 64}) {
            Bytes expected(static_cast<std::size_t>(count * width + 64), std::byte{0x5A});
            Bytes found = expected;
            bodies.put_items(items.data(), width, picked.numbers(), 3, places.data(), begin, count, expected.data());
            kernels.put_items(items.data(), width, picked.numbers(), 3, places.data(), begin, count, found.data());
            INFO(level << ", width " << width << ", " << chunks << " chunks, rows " << begin << " to " << count);
            REQUIRE(found == expected);
            std::vector<uint64_t> words_expected(places.size() + 1, 0x5A5A5A5A5A5A5A5A);
            std::vector<uint64_t> words_found = words_expected;
            bodies.put_bits(bits.data(), picked.numbers(), 3, places.data(), begin, count, words_expected.data());
            kernels.put_bits(bits.data(), picked.numbers(), 3, places.data(), begin, count, words_found.data());
            REQUIRE(words_found == words_expected);
          }
        }
      }
    }
  }
}
