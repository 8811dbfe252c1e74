// sharing.h: work of the table operators, shared by the threads of a call.
#pragma once

#include "backends/backend.h"

namespace gs::table {

// A signal handler raised during a call.
struct Interrupted {};

struct Sharing {
  const HostBackend& backend;
  RunOptions options;
};

inline constexpr int64_t kLeastRows = 16 * 1024;  // fewer rows of one column are not worth a second thread

// work(begin, end) for parts of [0, count) that begin at multiples of `grain`; shorter ones than `least` do not pay.
template <class Work>
void parallel_for(const Sharing& sharing, int64_t count, int64_t grain, int64_t least, const Work& work) {
  ParallelWork all;
  all.count = count;
  all.grain = grain;
  all.least = least;
  all.context = const_cast<Work*>(&work);
  all.run = [](void* context, int64_t begin, int64_t end) { (*static_cast<const Work*>(context))(begin, end); };
  if (sharing.backend.parallel_for(all, sharing.options) == Outcome::interrupted) throw Interrupted{};
}

// Asked between blocks of what one thread does alone.
inline void poll(const Sharing& sharing) {
  if (sharing.options.interrupted != nullptr && sharing.options.interrupted()) throw Interrupted{};
}
inline constexpr int64_t kRowsPerPoll = 64 * 1024;

}  // namespace gs::table
