// tuning.h: every measured number that decides how a plan is run on the CPU.
#pragma once

#include <cstdint>

namespace gs::host {
struct HostInfo;
}

namespace gs::cpu {

// ---- threads: below these a second one costs more than it brings (GS_SERIAL_POINTS and so on override)
inline constexpr int64_t kSerialPoints = 16384;         // units up to 16 bytes, table in a cache
inline constexpr int64_t kSerialPointsFar = 4096;       // the same, table in main memory
inline constexpr int64_t kSerialRowBytes = 128 * 1024;  // longer units

// ---- chunks: small enough to share evenly and to look for Ctrl-C, large enough to hide their start
inline constexpr int64_t kChunksPerThread = 8;
inline constexpr int64_t kMinChunkBytes = 32 * 1024;
inline constexpr int64_t kMinChunkPoints = 1024;
inline constexpr int64_t kMaxChunkBytes = 4 * 1024 * 1024;
inline constexpr int64_t kMaxChunkPoints = 128 * 1024;
inline constexpr int64_t kMinScanPoints = 16384;  // indices that are only checked
inline constexpr int64_t kMaxScanPoints = 1024 * 1024;
inline constexpr int64_t kMinPieceBytes = 64 * 1024;  // a unit longer than two of these may be shared by threads

inline constexpr int64_t kMostShares = 64;  // tables: a chunk is at most so many of the shortest that pay

// ---- scatters: all points of one target belong to one thread
inline constexpr int64_t kMinSliceBytes = 4096;  // of an axis that is shared by slices: less is in one line or page
inline constexpr int kSlicesPerThread = 4;
inline constexpr int kMaxElementShares = 8;       // ranges of addresses: more threads would spend their time looking
inline constexpr int64_t kMaxElement = 16;        // longer units, if no two meet, are shared by position
inline constexpr int64_t kApartPoints = 4096;     // so many of them go on after two have met
inline constexpr int64_t kBitmapShare = 16;       // what is moved is so many times longer than the bitmaps that tell
inline constexpr int kSamplesPerShare = 64;       // targets by which the ranges are made equally busy
inline constexpr int64_t kRoundPoints = 1 << 20;  // between two questions for Ctrl-C
inline constexpr int64_t kRoundBytes = 64 * 1024 * 1024;  // the same, longer units
inline constexpr int64_t kSparseSlots = 4;  // running totals for each value, above which most of them stay untouched
inline constexpr int64_t kTotalsWindow = 8 << 20;  // running totals that are kept at a time

// ---- blocks (points whose addresses are known before the first of them is moved)
inline constexpr int kBlock = 256;
inline constexpr int kBlockAhead = 64;         // with prefetch: the distance that it runs ahead
inline constexpr int kRowBlock = 128;          // rows
inline constexpr int64_t kShortRun = 32;       // shorter innermost axes are walked several runs at a time
inline constexpr int64_t kByteRun = 256;       // the same where the whole table is loaded for every run
inline constexpr int64_t kShortVectorRun = 8;  // the same where a register holds them
inline constexpr int kApartBlock = 64;  // rows that threads share by position: the memory idles while one is placed

// ---- what is asked for in advance, in bytes
inline constexpr int64_t kIndexAhead = 8192;    // of indices and values, into L2
inline constexpr int64_t kIndexNear = 1024;     // the same, into L1
inline constexpr int64_t kTableAhead = 4096;    // of units side by side
inline constexpr int64_t kShortRunBytes = 512;  // runs of so few bytes of indices, where they are far apart ..
inline constexpr int64_t kRunsAhead = 4;        // .. are asked for so many of them in advance

// ---- caches
inline constexpr int64_t kFarTablePerL2 = 4;    // prefetch from a table of so many L2 caches on (GS_FAR_TABLE_BYTES)
inline constexpr int64_t kFarVectorsPerL2 = 9;  // the same for 4- and 8-byte units on level v4
// Bypass the caches from a result of so many bytes on (GS_STREAM_BYTES). The last-level cache that a processor reports
// says little: hundreds of processors of other tenants may share it. Only a size that the user gives counts.
inline constexpr int64_t kStreamBytes = 16 * 1024 * 1024;
inline constexpr int64_t kStreamPartOfLlc = 2;  // with GS_LLC_BYTES: from LLC / this on

// ---- slabs: columns of a table packed for a gather along another axis
inline constexpr int64_t kSlabBytes = 128;     // of a packed row; half of it where the table has more rows
inline constexpr int64_t kSlabPartOfL2 = 2;    // a slab fills at most L2 / this
inline constexpr int64_t kSlabRowsPerUse = 2;  // rows of the table for each row of the result, at most
inline constexpr int64_t kPackAhead = 16;      // rows that are asked for before they are packed

inline constexpr int64_t kStreamInside =
    128;  // scattered rows: the same for their inner lines where they begin or end in one

inline constexpr int64_t kFillRowBytes = 4096;  // a fill value is repeated in advance up to this unit

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

// The tuning of this machine: the numbers above, scaled by its caches, and what environment variables say instead.
// Throws std::invalid_argument that names the variable.
Tuning host_tuning(const host::HostInfo& host);

}  // namespace gs::cpu
