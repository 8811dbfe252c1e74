// table_tuning.h: the measured numbers that decide how table operators run on the host.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gs {

// The thresholds that a backend may set for its machine.
struct TableTuning {
  int64_t far_column_bytes = 2 << 20;     // larger columns are far and are prefetched (GS_FAR_TABLE_BYTES)
  int64_t stream_column_bytes = 2 << 20;  // columns of results of at least so many bytes get streaming stores
};

namespace table {

// ---- threads
inline constexpr int64_t kLeastRows = 16 * 1024;       // rows of one column in a work chunk; fewer run on one thread
inline constexpr int64_t kLeastMaskRows = 256 * 1024;  // rows of a mask in a work chunk; fewer are read on one thread
inline constexpr int64_t kLeastBytes = 128 * 1024;     // smaller columns of results run on one thread
inline constexpr int64_t kLeastViews = 64 * 1024;      // fewer views are adjusted on one thread
inline constexpr int64_t kBlockRows = 4096;            // a block of rows, whose lengths one thread sums
inline constexpr int64_t kLeastBlocks = 2;             // so many blocks of rows, or fewer, run on one thread
inline constexpr int64_t kRowsPerPoll = 64 * 1024;     // Ctrl-C is polled every so many rows

// ---- forms of a selection
inline constexpr int64_t kLongRun =
    16;  // a mask is stored as ranges if its runs of true rows are at least so long on average
inline constexpr int64_t kMostNumbered = 8;  // lists of at most so many rows on average: their rows get numbers

// ---- copies and prefetches
inline constexpr int64_t kMostJoinedRows = 4;           // pieces are joined for a gather of one row of so many, or more
inline constexpr int64_t kLeastJoinedRows = 64 * 1024;  // fewer rows of pieces are joined on one thread
inline constexpr int64_t kMostBitsPerRow = 32;          // most bits that are copied for each row of the result
inline constexpr int64_t kMostAhead = 4096;             // most bytes that are prefetched for an item or a range
inline constexpr int64_t kRangesAhead = 16;             // ranges are prefetched this many ranges ahead
inline constexpr int64_t kGroup = 64;                   // rows whose offsets are prefetched at once ..
inline constexpr int64_t kOffsetsAhead = 256;           // .. so many rows ahead
inline constexpr int64_t kStageBytes = 16 * 1024;  // rows of an overlay that are put together before they are streamed
inline constexpr int64_t kStreamedRange = 1024;    // shorter ranges of rows get ordinary stores

// ---- merged dictionaries
inline constexpr std::size_t kDictionariesAtOnce = 16;  // dictionaries whose values are looked up at once
inline constexpr int64_t kLeastValues = 1024;           // fewer values are looked up on one thread

// ---- run-end encoded columns
inline constexpr int64_t kBucketsPerRun = 4;    // buckets of the lookup table of runs
inline constexpr int64_t kRunsPerSearch = 8;    // a table is made if there are at most so many runs for each search
inline constexpr int64_t kMostDecodedRows = 4;  // runs are written down for at most so many rows for each search
inline constexpr int64_t kMostRunParts = 256;   // parts of a result whose runs are found at once

// ---- small tables, whose call keeps the interpreter lock
inline constexpr int64_t kFewRows = 1024;
inline constexpr int64_t kShortRow = 4096;  // most bytes or values of a short row
inline constexpr std::size_t kFewChunks = 8;

// ---- memory
inline constexpr int64_t kMostShared = 64 * 1024;  // one allocation holds so many bytes and their reference count
// A gather of ten rows of 32 columns takes 6 us less with buffers cut from common blocks (Xeon).
inline constexpr int64_t kMostCut = 512;    // most bytes of such a buffer
inline constexpr int64_t kBlockLines = 32;  // cache lines of a common block

}  // namespace table
}  // namespace gs
