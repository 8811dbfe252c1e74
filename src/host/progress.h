// progress.h: keeps which share of a call is done, as the calling thread knows it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace gs::host {

// The shares of the current call of a thread. A task works on [begin, end) of the call, of which `done` is known to be
// complete; `done` never decreases.
struct Progress {
  double begin = 0;
  double end = 1;
  double done = 0;

  void reach(double share) { done = std::max(done, begin + (end - begin) * share); }
  static Progress& current() {
    static thread_local Progress progress;
    return progress;
  }
};

// Divides the share of the call that the thread works on into equal parts, and begins the first one. The parts are done
// one after the other; the whole share is restored at the end of the scope.
class ProgressParts {
 public:
  explicit ProgressParts(int64_t parts) : whole_(Progress::current()) {
    width_ = (whole_.end - whole_.begin) / static_cast<double>(std::max<int64_t>(parts, 1));
    Progress::current().end = whole_.begin + width_;
  }
  ProgressParts(const ProgressParts&) = delete;
  ProgressParts& operator=(const ProgressParts&) = delete;
  ~ProgressParts() {
    Progress::current().begin = whole_.begin;
    Progress::current().end = whole_.end;
  }

  void next() {
    Progress& now = Progress::current();
    now.reach(1);
    now.begin += width_;
    now.end += width_;
  }

 private:
  const Progress whole_;
  double width_;
};

}  // namespace gs::host
