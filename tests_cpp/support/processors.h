// processors.h: reads and sets the affinity mask of a thread by the system's own functions.
#pragma once

#include <sched.h>

#include <exception>
#include <thread>
#include <vector>

#include "catch.h"

namespace gs::test {

// The processors that this thread may use, in ascending order.
inline std::vector<int> processors_here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  std::vector<int> found;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<size_t>(i), &set)) found.push_back(i);
  }
  return found;
}

inline void allow_here(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int i : processors) CPU_SET(static_cast<size_t>(i), &set);
  REQUIRE(sched_setaffinity(0, sizeof(set), &set) == 0);
}

// Runs check(processors) on a separate thread, whose mask may be changed.
template <class Check>
void on_own_thread(Check check) {
  const std::vector<int> processors = processors_here();
  std::exception_ptr failed;
  std::thread([&] {
    try {
      check(processors);
    } catch (...) {
      failed = std::current_exception();
    }
  }).join();
  if (failed) std::rethrow_exception(failed);
}

}  // namespace gs::test
