// tuning.h: defines the measured numbers by which the CPU backend decides, and its tuning of one host.
#pragma once

#include <cstdint>

#include "backends/table_tuning.h"

namespace gs::host {
struct HostInfo;
}

namespace gs::cpu {

// ---- threads: below these a second thread costs more than it gains (GS_SERIAL_POINTS and so on override)
inline constexpr int64_t kSerialPoints = 16384;         // units up to 16 bytes, source array in a cache
inline constexpr int64_t kSerialPointsFar = 4096;       // units up to 16 bytes, source array in main memory
inline constexpr int64_t kSerialRowBytes = 128 * 1024;  // bytes moved, longer units

// ---- work chunks: small enough for an even division and for polls of Ctrl-C, large enough to hide the cost of a claim
inline constexpr int64_t kChunksPerThread = 8;
inline constexpr int64_t kMinChunkBytes = 32 * 1024;
inline constexpr int64_t kMinChunkPoints = 1024;
inline constexpr int64_t kMaxChunkBytes = 4 * 1024 * 1024;
inline constexpr int64_t kMaxChunkPoints = 128 * 1024;
inline constexpr int64_t kMinScanPoints = 16384;  // indices that are checked in a pass of their own
inline constexpr int64_t kMaxScanPoints = 1024 * 1024;
inline constexpr int64_t kScanGrain = 64;  // work chunks of positions begin at a cache line
// Gathers into fresh memory look at some or all indices before the first write.
inline constexpr int64_t kSampledLines = 128;       // more than 100: a hundredth of all indices in a row is always met
inline constexpr int64_t kSampledPoints = 1 << 17;  // fewer points move in less than thirty times that time
inline constexpr int64_t kEarlyUnit = 256;          // bytes; the move of a longer unit takes thirty times as long
inline constexpr int64_t kEarlyFar = 16;            // .. and from a source array of so many times `far_bytes`
// Positions of 2 or 4 bytes that a check keeps for the move: at most half as many bytes as the indices.
inline constexpr int64_t kResolvePoints = 16384;      // fewer indices are read again
inline constexpr int64_t kResolveIndexBytes = 8;      // fewer bytes of indices for each point are read again
inline constexpr int64_t kMinPieceBytes = 64 * 1024;  // threads may share a unit of at least two of these

inline constexpr int64_t kMostShares = 64;  // parallel_for: longest work chunk, in multiples of the shortest that pays

// ---- scatters: all points of one target belong to one thread
inline constexpr int64_t kMinSliceBytes = 4096;  // of a slice of an axis: shorter ones share a cache line or page
inline constexpr int kSlicesPerThread = 4;
inline constexpr int kMaxElementShares = 8;               // address ranges of small units: each thread reads all points
inline constexpr int64_t kMaxElement = 16;                // bytes; longer units are first tried as disjoint rows
inline constexpr int64_t kApartPoints = 4096;             // disjoint rows: points between two checks for duplicates
inline constexpr int64_t kBitmapShare = 16;               // disjoint rows: least bytes moved for each byte of bitmaps
inline constexpr int kSamplesPerShare = 64;               // sampled targets for each range, to balance the ranges
inline constexpr int64_t kRoundPoints = 1 << 20;          // points between two polls of Ctrl-C
inline constexpr int64_t kRoundBytes = 64 * 1024 * 1024;  // bytes between them, for longer units
inline constexpr int64_t kSparseSlots = 4;         // slots for each value; above, most running totals stay unused
inline constexpr int64_t kTotalsWindow = 8 << 20;  // running totals in memory at a time

// ---- blocks: points whose addresses a kernel computes before it moves the first of them
inline constexpr int kBlock = 256;
inline constexpr int kBlockAhead = 64;         // gathers with prefetch, which is one block ahead
inline constexpr int kRowBlock = 128;          // units of other sizes than 1, 2, 4, 8 and 16 bytes
inline constexpr int64_t kShortRun = 32;       // a block spans several runs if the innermost axis is shorter
inline constexpr int64_t kByteRun = 256;       // shortest run for a lookup table, which every run loads into registers
inline constexpr int64_t kShortVectorRun = 8;  // shortest run of the `vectors` path
inline constexpr int kApartBlock = 64;         // disjoint rows: the memory is idle while a block is placed

// ---- prefetch distances, in bytes
inline constexpr int64_t kIndexAhead = 8192;    // indices and values, into L2
inline constexpr int64_t kIndexNear = 1024;     // indices and values, into L1
inline constexpr int64_t kCheckAhead = 2048;    // indices of a check, into L1
inline constexpr int64_t kTableAhead = 4096;    // contiguous units of the source array
inline constexpr int64_t kShortRunBytes = 512;  // index runs of fewer bytes that are not contiguous ..
inline constexpr int64_t kRunsAhead = 4;        // .. are prefetched so many runs ahead

// ---- prefetches inside of kernels
inline constexpr int64_t kAheadBytes = 16384;  // rows are prefetched this many bytes ahead
inline constexpr int kValuesAhead = 12;        // values are prefetched this many units ahead
inline constexpr int kTargetsAhead = 16;       // far targets are prefetched this many units ahead
inline constexpr int64_t kSourceAhead = 2048;  // values that lie in order are prefetched this many bytes ahead
inline constexpr int64_t kLongRow = 2048;      // longer rows are prefetched as they are copied, in steps of kStep bytes
inline constexpr int64_t kLongAhead = 4096;  // so many bytes ahead, in the same row or at the beginning of the next one
inline constexpr int64_t kStep = 512;
inline constexpr int64_t kPutsAhead = 16;  // items are prefetched this many places ahead

// ---- caches
inline constexpr int64_t kFarTablePerL2 = 4;    // a source array of so many L2 caches is far (GS_FAR_TABLE_BYTES)
inline constexpr int64_t kFarColumnsPerL2 = 2;  // as kFarTablePerL2, for the columns of tables
inline constexpr int64_t kFarVectorsPerL2 = 9;  // on the `vectors` path (level v4, units of 4 and 8 bytes)
// Results of at least so many bytes get streaming stores (GS_STREAM_BYTES). The size of the last-level cache that a
// processor reports is no guide, because hundreds of processors of other tenants may share the cache. Only a size that
// the user sets (GS_LLC_BYTES) has an effect.
inline constexpr int64_t kStreamBytes = 16 * 1024 * 1024;
inline constexpr int64_t kStreamPartOfLlc = 2;  // with GS_LLC_BYTES: results of at least LLC / this

// ---- tiles: packed columns of a source array, for a gather along an axis that is not the last one
inline constexpr int64_t kTileRowBytes = 128;  // bytes of a packed row; half of it if the source array has more rows
inline constexpr int64_t kTilePartOfL2 = 2;    // a tile fills at most L2 / this
inline constexpr int64_t kTileRowsPerUse = 2;  // rows of the source array for each row of the result, at most
inline constexpr int64_t kPackAhead = 16;      // rows between the prefetch of a row and its copy

// Scattered units of at least so many bytes get streaming stores for their whole cache lines, even if they begin or end
// within a line.
inline constexpr int64_t kStreamInside = 128;

inline constexpr int64_t kFillRowBytes = 4096;  // the longest unit for which the fill value is repeated in advance

// The thresholds of one backend. Tests set them to reach every path with little data.
struct Tuning {
  int64_t l2_bytes = 1 << 20;
  int64_t far_bytes = 4 << 20;          // an indexed side of at least so many bytes is far
  int64_t far_vector_bytes = 4 << 20;   // far_bytes of the `vectors` path
  int64_t stream_bytes = kStreamBytes;  // a result of at least so many bytes gets streaming stores
  bool general = false;                 // run everything on the general path
  bool vectors = false;                 // the kernels have registers of sixteen positions (level v4)
  bool byte_tables = false;             // the processor has byte permutations (AVX-512 VBMI)
  TableTuning table;
  int64_t min_chunk_bytes = kMinChunkBytes;
  int64_t min_chunk_points = kMinChunkPoints;
  int64_t byte_run = kByteRun;
  int64_t min_piece_bytes = kMinPieceBytes;
  int64_t serial_points = kSerialPoints;
  int64_t serial_points_far = kSerialPointsFar;
  int64_t serial_row_bytes = kSerialRowBytes;
  int64_t round_points = kRoundPoints;
  int64_t resolve_points = kResolvePoints;
  int64_t resolve_index_bytes = kResolveIndexBytes;
  int64_t min_slice_bytes = kMinSliceBytes;
  int64_t totals_window = kTotalsWindow;
  int64_t bitmap_share = kBitmapShare;
  int64_t short_counts = UINT32_MAX;  // the most points that a 32-bit count of a mean holds
};

// The tuning of the host: the numbers above, scaled by its caches, or the values of environment variables. Throws
// std::invalid_argument with the name of the variable for an invalid value.
Tuning host_tuning(const host::HostInfo& host);

}  // namespace gs::cpu
