// fuzz_input.h: reads numbers and bytes from the input of a fuzz target; past its end, all bytes are 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

namespace gs::fuzz {

class Input {
 public:
  Input(const uint8_t* data, std::size_t size) : at_(data), left_(size) {}

  bool empty() const { return left_ == 0; }

  // The next bytes as a number of this type.
  template <class T>
  T raw() {
    T value{};
    const std::size_t count = std::min(left_, sizeof(T));
    if (count > 0) std::memcpy(&value, at_, count);
    at_ += count;
    left_ -= count;
    return value;
  }
  // A number in [low, high], from one byte.
  int64_t from(int64_t low, int64_t high) { return low + raw<uint8_t>() % (high - low + 1); }
  bool coin() { return (raw<uint8_t>() & 1) != 0; }
  // True for one of `most` bytes, so that rare faults stay rare.
  bool rarely(int most = 32) { return from(0, most - 1) == most - 1; }
  template <class T, std::size_t kCount>
  T pick(const T (&values)[kCount]) {
    return values[static_cast<std::size_t>(from(0, kCount - 1))];
  }
  // An integer of any size; small ones, and those beside powers of two, are frequent.
  int64_t wild() {
    switch (from(0, 3)) {
      case 0: return raw<int8_t>();
      case 1: return raw<int64_t>();
      case 2: return static_cast<int64_t>((uint64_t{1} << from(0, 63)) + static_cast<uint64_t>(from(-2, 2)));
      default: return static_cast<int64_t>(static_cast<uint64_t>(from(-2, 2)) - (uint64_t{1} << from(0, 63)));
    }
  }

 private:
  const uint8_t* at_;
  std::size_t left_;
};

// Ends the process where a promise is broken, which the fuzzer reports with the input.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace gs::fuzz

// What libFuzzer calls for every input; replay.cpp calls it in builds without libFuzzer.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size);
