// kernels.cpp: the indexed move, block by block. Compiled once for every instruction set level, in a namespace of its own.
//
// A block of points is placed first: its indices are read once into private memory, judged there, and turned into addresses.
// Then it is moved from those addresses, so that nobody who writes into the index array can lead a move outside. While one
// block is moved, the targets of the next one are on their way into the L2 cache, if the table is too large for the caches.
//
// Only templates in anonymous namespaces, built-ins and intrinsics here: an inline function of a shared header would carry
// this level's instructions into the whole program (tests_cpp/check_isa_leaks.sh looks for that).
#include "backends/cpu/kernel_move.h"

namespace gs::cpu::GS_ISA {
namespace {

int next_size(const Job& job, const Walk& walk, int64_t left) {
  int64_t n = left < job.block ? left : job.block;
  if (!job.short_runs) {
    const int last = job.rank - 1;
    const int64_t in_run = job.extent[last] - walk.at[last];
    n = n < in_run ? n : in_run;
  }
  return static_cast<int>(n);
}

// Prefetches the share of the next run's table that corresponds to this block's share of its own run.
void prefetch_run(const Job& job, const Walk& walk, int n) {
  keep_prefetches();
  const int last = job.rank - 1;
  const int64_t begin = walk.at[last];
  Walk other = walk;
  advance(job, other, job.extent[last] - begin);
  const Address base = address_of(job.indexed) + static_cast<uint64_t>(offset_at(job, other, kIndexed));
  const int64_t lines = (job.run_span + kLine - 1) / kLine;
  const int64_t blocks = (job.extent[last] + n - 1) / n;
  const int64_t share = (lines + blocks - 1) / blocks;
  const int64_t first = begin / n * share;
  const int64_t end = first + share < lines ? first + share : lines;
  for (int64_t line = first; line < end; ++line) prefetch(base + static_cast<uint64_t>(line * kLine));
}

void move(const Job& job, const Block& block, const Block* next) {
  if (job.unit == 0) return;
  if (job.scatter) {
    scatter(job, block);
  } else {
    gather(job, block, next);
  }
}

}  // namespace

bool run(const Job& job, int64_t first, int64_t last) {
  Walk walk;
  seek(job, walk, first);
  Scratch scratch;
  Block blocks[2];
  int64_t left = last - first;
  bool accepted = true;
  if (job.ahead != Ahead::points) {
    while (accepted && left > 0) {
      const int n = next_size(job, walk, left);
      if (job.ahead == Ahead::runs) prefetch_run(job, walk, n);
      accepted = place(job, walk, n, scratch, blocks[0]);
      if (accepted) move(job, blocks[0], nullptr);
      advance(job, walk, n);
      left -= n;
    }
  } else {
    const Block* waiting = nullptr;
    for (int turn = 0; accepted && left > 0; turn ^= 1) {
      const int n = next_size(job, walk, left);
      accepted = place(job, walk, n, scratch, blocks[turn]);
      if (accepted && waiting != nullptr) move(job, *waiting, &blocks[turn]);
      waiting = &blocks[turn];
      advance(job, walk, n);
      left -= n;
    }
    if (accepted && waiting != nullptr) move(job, *waiting, nullptr);
  }
  if (job.stream) finish_streaming();
  return accepted;
}

}  // namespace gs::cpu::GS_ISA
