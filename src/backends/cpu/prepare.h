// prepare.h: turns an accepted plan and its memory into a job for the kernels, and decides how it is run.
#pragma once

#include <cstdint>

#include "backends/cpu/job.h"
#include "backends/cpu/thresholds.h"
#include "backends/threads.h"

namespace gs::cpu {

// What the decisions depend on besides the plan. Tests set it to reach every path with little data.
struct Tuning {
  int64_t l2_bytes = 1 << 20;
  int64_t far_bytes = 4 << 20;         // an indexed side from here on comes from main memory
  int64_t far_vector_bytes = 4 << 20;  // the same where `vectors` do it
  int64_t stream_bytes = 16 << 20;     // a result from here on bypasses the caches
  bool general = false;                // the general path for everything
  bool vectors = false;                // there are registers of sixteen positions (level v4)
  bool byte_tables = false;            // there are permutations of bytes (AVX-512 VBMI)
  int64_t min_chunk_bytes = kMinChunkBytes;
  int64_t min_chunk_points = kMinChunkPoints;
  int64_t byte_run = kByteRun;
  int64_t min_piece_bytes = kMinPieceBytes;
  int64_t serial_points = kSerialPoints;
  int64_t serial_points_far = kSerialPointsFar;
  int64_t serial_row_bytes = kSerialRowBytes;
  int64_t round_points = kRoundPoints;
  int64_t min_slice_bytes = kMinSliceBytes;
  int64_t totals_window = kTotalsWindow;
  int64_t bitmap_share = kBitmapShare;
  int64_t short_counts = UINT32_MAX;  // points that are counted in 32 bits
};

// A job with the tables that it points to. Not copied, because of those pointers.
struct Prepared {
  Job job;
  SmallVector<JobIndex, 4> index;
  SmallVector<bool, 12> flat;
  SmallVector<int64_t, 12> no_strides;            // of a space without axes
  alignas(64) std::byte fill_row[kFillRowBytes];  // written only where the fill value is shorter than the unit

  Prepared() {}  // fill_row stays uninitialised
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
};

void prepare(const Plan& plan, const Buffers& buffers, Direction direction, const Tuning& tuning, Prepared& prepared);

// True if the indexed side is so large that its elements come from main memory.
bool is_far(const Plan& plan, const Tuning& tuning);

// How the work is cut: chunks of several points, or several pieces of one long unit.
struct Cut {
  int threads = 1;
  int64_t chunks = 1;
  int64_t points = 0;  // of a chunk; the last one may have fewer
  int64_t pieces = 1;  // of a unit
  int64_t piece = 0;   // bytes of a piece
};

Cut cut(const Plan& plan, const Tuning& tuning, const Threads& threads);

}  // namespace gs::cpu
