// affinity.cpp: reads, edits and sets the affinity masks of threads.
#include "host/affinity.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

namespace gs::host {
namespace {

struct CachedMask {
  bool keep = false;   // an AffinityScope exists
  bool valid = false;  // `mask` was read within it
  Affinity mask;
};
thread_local constinit CachedMask cached;

}  // namespace

// Uses the system call itself, because the C library does not return how many bytes of the mask were filled: usually
// one word or two.
const Affinity& Affinity::of_caller() {
  if (cached.keep && cached.valid) return cached.mask;
  Affinity& mask = cached.mask;
  const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask.words_), mask.words_.data());
  mask.used_ = bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof(MaskWord) : 0;
  cached.valid = true;
  return mask;
}

AffinityScope::AffinityScope() : outer_(cached.keep) {
  cached.keep = true;
  cached.valid = false;
}

AffinityScope::~AffinityScope() {
  cached.keep = outer_;
  cached.valid = false;
}

int Affinity::count() const {
  int sum = 0;
  for (std::size_t i = 0; i < used_; ++i) sum += std::popcount(words_[i]);
  return sum;
}

bool Affinity::has(int processor) const {
  const auto bit = static_cast<std::size_t>(processor);
  return processor >= 0 && bit < used_ * kWordBits && ((words_[bit / kWordBits] >> (bit % kWordBits)) & 1U) != 0;
}

void Affinity::remove(int processor) {
  const auto bit = static_cast<std::size_t>(processor);
  if (has(processor)) words_[bit / kWordBits] &= ~(MaskWord{1} << (bit % kWordBits));
}

void Affinity::give_to(pthread_t thread) const {
  pthread_setaffinity_np(thread, used_ * sizeof(MaskWord), reinterpret_cast<const cpu_set_t*>(words_.data()));
}

bool Affinity::operator==(const Affinity& other) const {
  return used_ == other.used_ &&
         std::equal(words_.begin(), words_.begin() + static_cast<long>(used_), other.words_.begin());
}

}  // namespace gs::host
