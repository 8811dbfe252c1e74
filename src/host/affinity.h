// affinity.h: provides the affinity masks of threads, for any number of processors.
#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>

namespace gs::host {

class Affinity {
 public:
  // The mask of the calling thread, empty if the system call fails. The reference is valid until the thread calls
  // of_caller() again. Within an AffinityScope only the first call reads the mask.
  static const Affinity& of_caller();
  int count() const;
  bool has(int processor) const;
  void remove(int processor);
  void give_to(pthread_t thread) const;  // if the system rejects the mask, the thread keeps its own
  bool operator==(const Affinity& other) const;

 private:
  using MaskWord = unsigned long;
  static constexpr std::size_t kWordBits = 8 * sizeof(MaskWord);
  static constexpr std::size_t kWords = 8192 / kWordBits;  // the most processors that Linux supports
  std::array<MaskWord, kWords> words_ = {};
  std::size_t used_ = 0;  // words that the system fills
};

// While one exists, its thread reads its mask only once. One call reads it for several purposes: to count the
// processors and, in each of its tasks, to place helpers on them.
class AffinityScope {
 public:
  AffinityScope();
  AffinityScope(const AffinityScope&) = delete;
  AffinityScope& operator=(const AffinityScope&) = delete;
  ~AffinityScope();

 private:
  bool outer_;
};

}  // namespace gs::host
