// sharing.h: distributes the work of a table operator over the threads of a call.
#pragma once

#include "backends/backend.h"

namespace gs::table {

// Thrown when a signal handler has raised an exception during a call.
struct CallInterrupted {};

// The backend and the options of a call.
struct Sharing {
  const HostBackend& backend;
  RunOptions options;
};

// Calls work(begin, end) for work chunks of [0, count) that begin at multiples of `grain` and have about `least`
// elements or more, because the overhead of a thread exceeds the gain for fewer. Throws CallInterrupted.
template <class Work>
void parallel_for(const Sharing& sharing, int64_t count, int64_t grain, int64_t least, const Work& work) {
  ParallelWork all;
  all.count = count;
  all.grain = grain;
  all.least = least;
  all.context = const_cast<Work*>(&work);
  all.run = [](void* context, int64_t begin, int64_t end) { (*static_cast<const Work*>(context))(begin, end); };
  if (sharing.backend.parallel_for(all, sharing.options) == Outcome::interrupted) throw CallInterrupted{};
}

// Throws CallInterrupted if a signal handler has raised. Single-threaded loops call it every kRowsPerPoll rows.
inline void poll(const Sharing& sharing) {
  if (sharing.options.interrupted != nullptr && sharing.options.interrupted()) throw CallInterrupted{};
}

}  // namespace gs::table
