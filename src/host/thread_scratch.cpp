// thread_scratch.cpp: implements thread_scratch.h.
#include "host/thread_scratch.h"

#include <new>

namespace gs::host {
namespace {

constexpr std::align_val_t kAlignment{64};

thread_local std::byte* scratch = nullptr;

// Frees the scratch when the thread ends. A destructor that runs later and calls a kernel gets a new one, which stays.
struct Release {
  ~Release() {
    ::operator delete(scratch, kAlignment);
    scratch = nullptr;
  }
};

std::byte* allocate_scratch() {
  static thread_local Release release;
  scratch = static_cast<std::byte*>(::operator new(kScratchBytes, kAlignment));
  return scratch;
}

}  // namespace

std::byte* thread_scratch() {
  std::byte* const mine = scratch;
  return mine != nullptr ? mine : allocate_scratch();
}

}  // namespace gs::host
