// replay.cpp: runs a fuzz target on files of findings and seeds, in builds without libFuzzer.
#include <fstream>
#include <iterator>

#include "fuzz_input.h"

int main(int count, char** paths) {
  if (count < 2) {
    std::fprintf(stderr, "no inputs: a replay without inputs would test nothing\n");
    return 2;
  }
  for (int i = 1; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", paths[i]);
      return 2;
    }
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::fprintf(stderr, "%s\n", paths[i]);  // the last name shows where a target ended
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  return 0;
}
