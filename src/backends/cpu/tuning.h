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
// As kSerialRowBytes, in multiples of it, where the source array is in a cache: with 256 KiB one thread takes 0.82 of
// the time of two, with 1 MiB 1.4 to 2.0; 256 KiB from 64 MiB 1.27 (Zen 5; on a Xeon, from memory, 1.06, and 512
// KiB 1.40).
inline constexpr int64_t kSerialNearFactor = 4;

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
// Two threads that scatter to 512 x 512 items of 4 bytes along an axis that is not the fast one take 0.5 of the time of
// slices of at least 4 KiB, for which there were ranges of targets instead (Zen 5).
inline constexpr int64_t kMinSliceBytes = 512;  // of a slice of an axis: shorter ones share cache lines
inline constexpr int kPartsPerThread = 4;       // slices, or ranges of targets in blocks
inline constexpr int64_t kMaxElement = 16;      // bytes; shorter units are not worth a bitmap of targets
// Up to so many threads each read all points and move those of their own targets: dividing the points would cost more,
// 4.4 instead of 3.6 ms for 4 Mi float32 into 4 MiB on two threads and 6.7 instead of 7.2 ms on four (Zen 5, level v4).
inline constexpr int kReadAllThreads = 3;
// Blocks of points whose lowest and highest targets are known, so that threads skip those without a target of their
// own.
inline constexpr int64_t kSpanPoints = 4096;    // of a block
inline constexpr int64_t kLeastSpans = 16;      // in fewer blocks every thread reads all points
inline constexpr int64_t kMostSpans = 1 << 16;  // of longer blocks, so that they need little memory
inline constexpr int64_t kSpanSamples = 32;     // blocks, from most of which the targets must seem to lie together ..
inline constexpr uint64_t kShortSpanPart = 16;  // .. within such a part of the indexed axis ..
inline constexpr int64_t kSampledPiece = 16;    // .. by pieces of so many points; estimates
inline constexpr int64_t kSpanShare = 8;        // the search takes about such a part of the scatter; an estimate
// Most bytes of the bitmaps in which threads mark targets, for each point; an estimate.
inline constexpr int64_t kMarkBytes = 8;
inline constexpr int kVectorRanges = 6;                   // level v4: more ranges are ordered in two steps
inline constexpr int kSamplesPerRange = 128;              // sampled targets for each range, to balance the ranges ..
inline constexpr int64_t kPointsPerSample = 256;          // .. or less, because a sample reads memory out of order
inline constexpr int64_t kJoinedWords = 4096;             // words of bitmaps in a work chunk; an estimate
inline constexpr int64_t kBitmapShare = 16;               // copies with a base: least bytes moved for a byte of bitmap
inline constexpr int64_t kPartitionPoints = 1 << 19;      // points that are divided by targets before any is moved
inline constexpr int64_t kListSharesPerThread = 4;        // work chunks of lists, so that uneven threads even out
inline constexpr int64_t kListPoints = 2048;              // of them, points that are ordered at a time
inline constexpr int64_t kRoundPoints = 1 << 20;          // points between two polls of Ctrl-C
inline constexpr int64_t kRoundBytes = 64 * 1024 * 1024;  // bytes between them, for longer units
inline constexpr int64_t kSparseSlots = 4;         // slots for each value; above, most running totals stay unused
inline constexpr int64_t kTotalsWindow = 8 << 20;  // running totals or counts in memory at a time
inline constexpr int64_t kFlagsWindow = 64 << 20;  // flags of one byte, in as much memory as counts have
inline constexpr int64_t kCountedItems = 8;        // means: rows of so many items have one count each; an estimate
// Elements without the input have records in place of flags where records are at most so many times as long as items,
// and all of them at most so many L2 caches. Zen 5, one and two threads: 0.6 to 0.9 of the time for 64 Ki float32 and
// float64, 0.4 to 0.8 for 1 Mi float32, 0.5 to 0.86 for 512 Ki int64 and complex64, 0.9 to 1.3 for 1 Mi float64; int16
// and int32 at 1 Mi, whose records are longer, 1.1 to 1.7, and 4 Mi of any type on one thread 1.1 to 1.5.
inline constexpr int64_t kRecordItems = 2;
inline constexpr int64_t kNearRecords = 8;
// A search for duplicates marks all targets first if there are at most so many slots for each point; an estimate.
inline constexpr int64_t kSparseMarks = 256;
// Rows without the input: far targets and their flags or counts are prefetched this many rows ahead. Maximum of 1 Mi
// rows of 128 bytes, two threads: 25 ms instead of 30 (Xeon); into 8 MiB it would take 1.12 of the time.
inline constexpr int kRowTargetsAhead = 8;
inline constexpr int64_t kLongestAhead = 4096;  // bytes of such a row; longer ones the processor prefetches by itself

// ---- blocks: points whose addresses a kernel computes before it moves the first of them
inline constexpr int kBlock = 256;
inline constexpr int kBlockAhead = 64;         // gathers with prefetch, which is one block ahead
inline constexpr int kRowBlock = 128;          // units of other sizes than 1, 2, 4, 8 and 16 bytes
inline constexpr int64_t kShortRun = 32;       // a block spans several runs if the innermost axis is shorter
inline constexpr int64_t kByteRun = 256;       // shortest run for a lookup table, which every run loads into registers
inline constexpr int64_t kShortVectorRun = 8;  // shortest run of the `vectors` path
// Gather instructions load units where single loads take at least so many percent of their time, which is measured at
// import: about 140 on a Xeon (takes of 4 bytes 0.63 to 0.95 of the time). On Zen 4 gather instructions took 1.4 of it.
inline constexpr int64_t kGatherPercent = 110;
// The same for rows of a far array of which at most half of the units are wanted: 0.56 to 0.9 of the time of single
// loads with 2 to 32 points in 64 units of rows of 4 to 64 KiB, where the measured percentage is 80 (Zen 5).
inline constexpr int64_t kGatherPercentSparse = 55;
inline constexpr int64_t kLeastSparseRun = 4096;  // bytes: from rows of 1 KiB 0.98 to 1.17
inline constexpr int kStreamedBlock = 64;  // rows streamed to targets: the memory is idle while a block is placed

// ---- prefetch distances, in bytes
inline constexpr int64_t kIndexAhead = 8192;  // indices and values, into L2
inline constexpr int64_t kIndexNear = 1024;   // indices and values, into L1
inline constexpr int64_t kCheckAhead = 2048;  // indices of a check, into L1
inline constexpr int64_t kTableAhead = 4096;  // contiguous units of the source array
// Points that ascend by less than so many bytes on average are not prefetched. Takes of 4 bytes in steps of 8, 16 and
// 32 bytes take 0.9, 0.82 and 0.85 of the time, of 64 bytes with prefetch 0.9; scatters in steps of 8 and 16 bytes 0.85
// and 0.95, of 32 bytes with prefetch 0.9 (Zen 5, one thread).
inline constexpr int64_t kCloseSources = 48;
inline constexpr int64_t kNearTargets = 24;
inline constexpr int64_t kCloseTargets = 48;    // of fewer bytes, groups are scattered one by one
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
inline constexpr int64_t kPutsAhead = 64;  // items are prefetched this many places ahead; an estimate

// ---- caches
inline constexpr int64_t kFarTablePerL2 = 4;    // a source array of so many L2 caches is far (GS_FAR_TABLE_BYTES)
inline constexpr int64_t kFarColumnsPerL2 = 2;  // as kFarTablePerL2, for the columns of tables
inline constexpr int64_t kFarVectorsPerL2 = 9;  // on the `vectors` path (level v4, units of 4 and 8 bytes)
// As kFarTablePerL2, for the targets of scatters. Unique rows of 128 bytes, 4 MiB into 4 MiB: 0.74 of the time without
// prefetch, into 64 MiB 1.0 to 1.15 (Zen 5); 4 MiB with prefetch 1.12, into 64 MiB without 0.96 to 1.02 (Xeon). Sums
// and maxima of elements, with prefetch: 1.0 to 1.2 into 1 MiB, 0.7 to 1.2 into 8 MiB, 0.5 to 1.05 (once 1.27) into 16
// MiB, 0.4 to 0.9 into 32 MiB and more (Zen 5 alone).
inline constexpr int64_t kFarTargetsPerL2 = 16;
// As kFarTargetsPerL2, for units up to 16 bytes that are copied. 4 Mi float32 into 4 MiB, one thread: 11.5 ms instead
// of 20.8, zipf 9.4 instead of 12.2; a permutation of 16 MiB 16.1 instead of 21.4 (Xeon, L2 2 MiB).
inline constexpr int64_t kFarElementsPerL2 = 1;
// The same for processors of AMD (seen on Zen 4), whose last-level cache is nearer: without it 0.78 to 0.92 into 1 and
// 4 MiB with one thread, zipf into 4 MiB 0.92 with one and 0.89 with two, 0.91 to 1.24 from 8 MiB on.
inline constexpr int64_t kFarElementsPerL2OfAmd = 8;
// Results of gathers, and targets of scatters, of at least so many bytes get streaming stores (GS_STREAM_BYTES). The
// size of the last-level cache that a processor reports is no guide, because hundreds of processors of other tenants
// may share the cache. Only a size that the user sets (GS_LLC_BYTES) has an effect. A scatter of few rows into a large
// target must read every line that it does not stream: rows of 128 bytes into 64 MiB take 0.58 of the time if 64 KiB
// are streamed, 0.68 with 4 MiB; into 16 MiB 0.90, into 4 MiB 1.25 (Zen 5). Without streaming, 16 to 1024 MiB take 1.3
// to 4.2; 4 MiB into 4 MiB with it 0.85 (Xeon).
inline constexpr int64_t kStreamBytes = 16 * 1024 * 1024;
// As kStreamBytes, in multiples of it, for rows from a source array of fewer bytes: 16 MiB of rows of 256 bytes from
// 256 KiB take 0.53 of the time without streaming stores, 64 MiB 1.28 (Zen 5); 16 MiB with them 1.15, 64 MiB without
// them 2.0 to 2.2 (Xeon).
inline constexpr int64_t kStreamLateFactor = 2;
// In a table of at least stream_bytes, columns of at least stream_bytes / this get streaming stores: others follow.
// Seen on a Xeon only: most tables take 0.6 to 0.95 of the time, one column in 64 chunks 1.16.
inline constexpr int64_t kStreamColumnPart = 8;
inline constexpr int64_t kStreamPartOfLlc = 2;  // with GS_LLC_BYTES: results of at least LLC / this

// ---- tiles: packed columns of a source array, for a gather along an axis that is not the last one
inline constexpr int64_t kTileRowBytes = 128;  // bytes of a packed row; half of it if the source array has more rows
inline constexpr int64_t kTilePartOfL2 = 2;    // a tile fills at most L2 / this
inline constexpr int64_t kTileRowsPerUse = 2;  // rows of the source array for each row of the result, at most
inline constexpr int64_t kPackAhead = 16;      // rows between the prefetch of a row and its copy
// Near sources get tiles too if at least kCrowdedBytes / d of their columns lie a multiple of d bytes apart, d being
// the largest power of two up to a page: 512 x 512 items of 4 bytes take 0.5 of the time, 256 x 256 0.8, 1024 x 256
// 0.3, 2048 x 1000 of 2 bytes 0.1 to 0.3, 448 x 448 of 4 bytes 0.9; where these numbers forbid it, 64 x 512 would
// take 1.2, 1024 x 32 1.0 to 1.25, 700 x 2048 1.07 (Zen 5 only).
inline constexpr int64_t kPageOfSets = 4096;
inline constexpr int64_t kCrowdedBytes = 64 * 1024;
inline constexpr int64_t kCrowdingPitch = 256;
inline constexpr int64_t kCrowdingStep = 1024;
inline constexpr int64_t kCrowdingColumns = 64;
inline constexpr int64_t kCrowdingPoints = 32 * 1024;
// Scatters and reductions by tiles (Zen 5, one and two threads). Across crowded columns: 512 x 512 of 4 bytes 0.22, a
// quarter of them 0.45; 1024 x 1024 0.17, 8192 x 2048 0.33. To far targets along columns: sums of 4096 x 4096 of 4
// bytes 0.28 to 0.37, of 3000 x 3000 0.36, of 3000 x 2000 of 8 bytes 0.6; copies of 4096 x 4096 of 4 bytes 0.55, of 1
// byte 0.25, of 3000 x 3000 of 2 bytes 0.85. Nearer targets, and copies where the numbers below forbid tiles, took up
// to 6 times as long.
// A tile of a target has at least so many rows: sums along an axis of 2 take 6.5 times as long by tiles, of 16 0.9, of
// 64 0.25 (Zen 5).
inline constexpr int64_t kTargetTileRows = 64;
inline constexpr int64_t kMostTileParts = 4096;   // work chunks of a scatter by tiles; an estimate
inline constexpr int64_t kSampledPairs = 64;      // neighbours whose indices are compared; an estimate
inline constexpr int64_t kCrowdedRowsPerUse = 8;  // as kTileRowsPerUse, for scatters across crowded columns
inline constexpr int64_t kFarTileUnit = 2;        // the longest unit that is copied to far targets by tiles
inline constexpr int64_t kCrowdedTileUnit = 4;    // the same, if columns lie whole pages apart

// ---- walks in another order than C order, and the tiles of their packed operands; numbers without a figure are
// estimates
inline constexpr int64_t kWalkPoints = 1024;  // fewer points are walked in C order
inline constexpr int64_t kShortWalk = 8;      // a walk does not end with a shorter axis, unless C order does
inline constexpr int64_t kTileBytes =
    48 * 1024;                             // packed bytes of a tile; 16 to 256 KiB take 0.9 to 1.2 of the time (Xeon)
inline constexpr int64_t kLineBytes = 64;  // strides of at least so many bytes use an item of each cache line
// Least bytes of a tile along the fast axis of a packed operand: with 128, takes by 4 Mi transposed indices take 1.15
// of the time, with 64 1.2 (Xeon).
inline constexpr int64_t kTileLineBytes = 256;
inline constexpr int64_t kTileGrain = 16;  // tiles end at multiples of so many points along an axis

// Scattered units of at least so many bytes get streaming stores for their whole cache lines, even if they begin or end
// within a line.
inline constexpr int64_t kStreamInside = 128;

inline constexpr int64_t kFillRowBytes = 4096;  // the longest unit for which the fill value is repeated in advance

// The thresholds of one backend. Tests set them to reach every path with little data.
struct Tuning {
  int64_t l2_bytes = 1 << 20;
  int64_t far_bytes = 4 << 20;          // an indexed side of at least so many bytes is far
  int64_t far_vector_bytes = 4 << 20;   // far_bytes of the `vectors` path
  int64_t far_target_bytes = 16 << 20;  // far_bytes of scatters, for their prefetches
  int64_t far_element_bytes = 1 << 20;  // .. of units up to 16 bytes
  int64_t stream_bytes = kStreamBytes;  // a result or target of at least so many bytes gets streaming stores
  int64_t stream_late_bytes = kStreamLateFactor * kStreamBytes;  // where streaming stores pay later
  bool general = false;                                          // run everything on the general path
  bool vectors = false;                     // the kernels have registers of sixteen positions (level v4)
  bool byte_tables = false;                 // the processor has byte permutations (AVX-512 VBMI)
  int64_t gather_percent = kGatherPercent;  // measured percentage from which gather instructions load units
  int64_t gather_percent_sparse = kGatherPercentSparse;  // the same for sparse runs of a far array
  int64_t measured_percent = 0;  // time of single loads, in percent of that of gather instructions
  TableTuning table;
  int64_t min_chunk_bytes = kMinChunkBytes;
  int64_t min_chunk_points = kMinChunkPoints;
  int64_t byte_run = kByteRun;
  int64_t min_piece_bytes = kMinPieceBytes;
  int64_t serial_points = kSerialPoints;
  int64_t serial_points_far = kSerialPointsFar;
  int64_t serial_row_bytes = kSerialRowBytes;
  int64_t serial_near_bytes = kSerialNearFactor * kSerialRowBytes;
  int64_t round_points = kRoundPoints;
  int64_t partition_points = kPartitionPoints;
  int64_t list_points = kListPoints;
  int64_t span_points = kSpanPoints;
  int64_t resolve_points = kResolvePoints;
  int64_t resolve_index_bytes = kResolveIndexBytes;
  int64_t min_slice_bytes = kMinSliceBytes;
  int64_t walk_points = kWalkPoints;
  int64_t tile_bytes = kTileBytes;
  int64_t far_tile_unit = kFarTileUnit;
  int64_t target_tile_rows = kTargetTileRows;
  int64_t totals_window = kTotalsWindow;
  int64_t flags_window = kFlagsWindow;
  int64_t bitmap_share = kBitmapShare;
  int64_t short_counts = UINT32_MAX;  // the most points that a 32-bit count of a mean holds
};

// A comparison with a threshold, which decides how a plan is run. Calls act on it, and explain shows it.
struct Comparison {
  const char* quantity;  // what is compared
  int64_t amount;
  const char* threshold;  // its name in show_config
  int64_t value;
  bool is_met() const { return amount >= value; }
};

// The tuning of the host: the numbers above, scaled by its caches, or the values of environment variables. Throws
// std::invalid_argument with the name of the variable for an invalid value.
Tuning host_tuning(const host::HostInfo& host);

}  // namespace gs::cpu
