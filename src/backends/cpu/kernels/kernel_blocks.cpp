// kernel_blocks.cpp: runs the indexed move, block by block. Compiled once for every instruction set level, in a
// namespace of its own.
//
// A block of points is placed first: its indices are read once into private memory, checked there, and turned into
// addresses. Then the block is moved from those addresses, so that a thread that writes to the index array meanwhile
// cannot lead a move outside of the indexed side. While one row is moved, rows some way ahead are prefetched into L2 if
// the source array does not fit into the caches.
//
// The sources in this folder that are compiled for every level may use only templates in anonymous namespaces,
// built-ins and intrinsics. The linker could pick this level's copy of an inline function of a shared header for the
// whole program, and processors of lower levels would crash in it (tests_cpp/backends/cpu/check_isa_leaks.sh checks
// this rule).
#include "backends/cpu/kernels/kernel_elements.h"
#include "backends/cpu/kernels/kernel_partition.h"
#include "backends/cpu/kernels/kernel_rows.h"
#include "backends/cpu/kernels/kernel_scatter.h"
#include "backends/cpu/kernels/kernel_scatter_elements.h"
#include "backends/cpu/kernels/wide_forms.h"

namespace gs::cpu::GS_ISA {
namespace {

struct BlockArrays {
  PlacementScratch placement;
  PointBlock blocks[2];
  Stages stages;         // of gathers
  OwnPoints own_points;  // of scatters
};

void move(const Job& job, PointBlock& block, const PointBlock* next, BlockArrays& arrays) {
  if (job.unit == 0) return;
  if (job.scatter) {
    scatter(job, block, arrays.own_points);
  } else {
    gather(job, block, next, arrays.stages);
  }
}

bool run_blocks(const Job& job, int64_t first, int64_t last) {
  Walk walk;
  seek(job, walk, first);
  auto& arrays = in_scratch<BlockArrays>();
  PlacementScratch& scratch = arrays.placement;
  PointBlock* const blocks = arrays.blocks;
  int64_t left = last - first;
  bool accepted = true;
  if (job.ahead != Ahead::points) {
    while (accepted && left > 0) {
      const int n = next_size(job, walk, left);
      accepted = place(job, walk, n, scratch, blocks[0]);
      if (accepted) move(job, blocks[0], nullptr, arrays);
      advance(job, walk, n);
      left -= n;
    }
  } else {
    PointBlock* waiting = nullptr;
    for (int turn = 0; accepted && left > 0; turn ^= 1) {
      const int n = next_size(job, walk, left);
      accepted = place(job, walk, n, scratch, blocks[turn]);
      if (accepted && waiting == nullptr) fetch_first(job, blocks[turn]);
      if (accepted && waiting != nullptr) move(job, *waiting, &blocks[turn], arrays);
      waiting = &blocks[turn];
      advance(job, walk, n);
      left -= n;
    }
    if (accepted && waiting != nullptr) move(job, *waiting, nullptr, arrays);
  }
  send_all(arrays.stages.rows);
  return accepted;
}

}  // namespace

bool run(const Job& job, int64_t first, int64_t last) {
  if (job.to.base != nullptr) {
    copy_unmarked(job, first, last);
    if (job.stream) Simd::finish_streaming();
    return true;
  }
  if (job.step != JobStep::move) return run_step(job, first, last);
  const bool accepted = job.form == Form::byte_table ? run_byte_table(job, first, last)
                        : job.form == Form::vectors  ? run_vectors(job, first, last)
                        : job.form != Form::elements ? run_blocks(job, first, last)
                        : job.scatter                ? scatter_elements(job, first, last)
                                                     : run_elements(job, first, last);
  if (job.stream) Simd::finish_streaming();
  return accepted;
}

}  // namespace gs::cpu::GS_ISA
