// tuning.h: the limits by which the CPU backend decides that depend on the host, that users set, or that tests set to
// reach every path with little data. Other numbers stand beside the decision that uses them, most prefetch distances in
// kernels/prefetch_distances.h; what was measured for them is in benchmarks/notes/2026-11-thresholds.md.
#pragma once

#include <cstdint>

#include "backends/table_tuning.h"

namespace gs::host {
struct HostInfo;
}

namespace gs::cpu {

struct Tuning {
  // Of the host, from its caches and its instruction set.
  int64_t l2_bytes = 1 << 20;
  int64_t far_bytes = 4 << 20;          // an indexed side of at least so many bytes is far
  int64_t far_vector_bytes = 4 << 20;   // far_bytes of the `vectors` path
  int64_t far_target_bytes = 16 << 20;  // far_bytes of scatters, for their prefetches
  int64_t far_element_bytes = 1 << 20;  // .. of units up to 16 bytes
  bool vectors = false;                 // the kernels have registers of sixteen positions (level v4)
  bool byte_tables = false;             // the processor has byte permutations (AVX-512 VBMI)
  int64_t measured_percent = 0;         // time of single loads, in percent of that of gather instructions
  TableTuning table;

  // A result of a gather, or a target of a scatter, of at least so many bytes gets streaming stores. The last-level
  // cache that a system reports is no guide, because many tenants may share it.
  int64_t stream_bytes = 16 * 1024 * 1024;
  int64_t stream_late_bytes = 32 * 1024 * 1024;  // .. of rows from a near source array

  // Measured percentage from which gather instructions load units: about 140 on a Xeon, 70 on a Zen 4.
  int64_t gather_percent = 110;
  int64_t gather_percent_sparse = 55;  // .. for sparse rows of a far array

  // Threads: below these a second one costs more than it gains (Zen 5, Xeon).
  int64_t serial_points = 16384;           // units up to 16 bytes, source array in a cache
  int64_t serial_points_far = 4096;        // units up to 16 bytes, source array in main memory
  int64_t serial_row_bytes = 128 * 1024;   // bytes moved, longer units
  int64_t serial_near_bytes = 512 * 1024;  // .. from a source array in a cache

  // Work chunks: small enough for an even division and for polls of Ctrl-C, large enough to hide the cost of a claim.
  int64_t min_chunk_bytes = 32 * 1024;
  int64_t min_chunk_points = 1024;
  int64_t min_piece_bytes = 64 * 1024;  // threads may share a unit of at least two of these
  int64_t min_slice_bytes = 512;        // of a slice of an axis of targets: shorter ones share cache lines
  int64_t round_points = 1 << 20;       // of a scatter between two polls of Ctrl-C
  int64_t partition_points = 1 << 19;   // that are divided by targets before any is moved
  int64_t list_points = 2048;           // of them, those that are ordered at a time
  int64_t span_points = 4096;           // of a block whose lowest and highest target are known
  int64_t resolve_points = 16384;       // fewer indices are read again, and not kept as positions by a check ..
  int64_t resolve_index_bytes = 8;      // .. nor fewer bytes of indices for each point
  int64_t byte_run = 256;               // shortest run for a lookup table, which every run loads into registers

  // Walks and tiles.
  int64_t walk_points = 1024;      // fewer points are walked in C order
  int64_t tile_bytes = 48 * 1024;  // packed bytes of a tile; 16 to 256 KiB take 0.9 to 1.2 of the time (Xeon)
  int64_t far_tile_unit = 2;       // the longest unit that is copied to far targets by column tiles
  int64_t target_tile_rows = 64;   // least rows of a tile of a target: 16 0.9 of the time, 2 6.5 (Zen 5)

  // Totals: records, counts or flags of a window of the targets, in memory at a time.
  int64_t totals_window = 8 << 20;
  int64_t flags_window = 64 << 20;    // flags of one byte, in as much memory as counts have
  int64_t bitmap_share = 16;          // copies with a base: least bytes moved for a byte of the bitmap of targets
  int64_t short_counts = UINT32_MAX;  // the most points that a 32-bit count of a mean holds

  bool general = false;  // run everything on the general path
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
