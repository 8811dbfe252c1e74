// kernel_check.cpp: checks the indices of a plan before anything is moved, and keeps their positions. Compiled once for
// every instruction set level, in a namespace of its own, under the rules that kernel_blocks.cpp states.
#include <type_traits>

#include "backends/cpu/kernels/kernel_place.h"
#include "backends/cpu/kernels/simd.h"

namespace gs::cpu::GS_ISA {
namespace {

inline constexpr int kCheckGroup = 64;                         // points between two prefetches
inline constexpr int64_t kMostAdded = int64_t{1} << 62;        // extents whose sum with a valid index does not wrap
inline constexpr int64_t kMostAddedNarrow = int64_t{1} << 30;  // the same in 32 bits

// Whether a contiguous run has an index outside. An index is inside if neither index + added nor last - index is
// negative, where `added` is the extent if negative values count from the end, otherwise 0. Arithmetic in Lane may
// wrap, but not for an index inside.
template <class Index, class Lane>
bool run_has_outside(const std::byte* source, int64_t count, Lane last, Lane added) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(Index));
  Lane outside = 0;
  int64_t k = 0;
  for (; k + kCheckGroup <= count; k += kCheckGroup) {
    prefetch_checked(source + k * kSize, kCheckGroup * kSize);
    for (int i = 0; i < kCheckGroup; ++i) {
      const auto value = static_cast<Lane>(read<Index>(source + (k + i) * kSize));
      outside |= (value + added) | (last - value);
    }
  }
  for (; k < count; ++k) {
    const auto value = static_cast<Lane>(read<Index>(source + k * kSize));
    outside |= (value + added) | (last - value);
  }
  return outside >> (8 * sizeof(Lane) - 1) != 0;
}

// An unsigned index gets no extent added. If it exceeds the signed range of Lane, its sign bit is set there, so that it
// is outside.
template <class Index>
bool has_outside(const std::byte* source, int64_t count, int64_t extent, int64_t from_end) {
  const int64_t added = std::is_signed_v<Index> ? from_end : 0;
  if (sizeof(Index) <= sizeof(uint32_t) && extent <= kMostAddedNarrow) {
    return run_has_outside<Index>(source, count, static_cast<uint32_t>(extent - 1), static_cast<uint32_t>(added));
  }
  return run_has_outside<Index>(source, count, static_cast<uint64_t>(extent) - 1, static_cast<uint64_t>(added));
}

// Writes the positions of n points. The result is negative if an index lies outside.
template <class Index, class Position, class Count>
inline int64_t write_group(const std::byte* source, Count n, int64_t extent, int64_t added,
                           std::byte* __restrict target) {
  alignas(64) Index value[kCheckGroup];
  for (int i = 0; i < n; ++i) value[i] = read<Index>(source + i * static_cast<int64_t>(sizeof(Index)));
  pin_copy(value);
  int64_t outside = 0;
  for (int i = 0; i < n; ++i) {
    const Lane lane = resolve_lane<Bounds::raise>(widen(value[i]), extent, added);
    outside |= lane.outside;
    const auto position = static_cast<Position>(lane.position);
    __builtin_memcpy(target + i * static_cast<int64_t>(sizeof(Position)), &position, sizeof(Position));
  }
  return outside;
}

struct FullCheckGroup {
  constexpr operator int() const { return kCheckGroup; }
};

// Not IndexSpan::add, which is an inline function of a shared header (kernel_blocks.cpp).
void add_to(IndexSpan& span, int64_t lowest, int64_t highest) {
  span.lowest = lowest < span.lowest ? lowest : span.lowest;
  span.highest = highest > span.highest ? highest : span.highest;
}

// Adds n positions that were written a moment ago.
template <class Position>
void add_written(IndexSpan& span, const std::byte* positions, int64_t n) {
  if (n == 0) return;
  auto lowest = static_cast<Position>(-1);
  Position highest = 0;
  for (int64_t k = 0; k < n; ++k) {
    const auto here = read<Position>(positions + k * static_cast<int64_t>(sizeof(Position)));
    lowest = here < lowest ? here : lowest;
    highest = here > highest ? here : highest;
  }
  add_to(span, lowest, highest);
}

// Writes the positions of a contiguous run, and with kSpans adds them to `span`. Returns false if an index lies
// outside.
template <class Index, class Position, bool kSpans>
bool write_positions(const std::byte* source, int64_t count, int64_t extent, int64_t added, std::byte* target,
                     [[maybe_unused]] bool stream, IndexSpan* span) {
  constexpr auto kFrom = static_cast<int64_t>(sizeof(Index));
  constexpr auto kTo = static_cast<int64_t>(sizeof(Position));
  int64_t outside = 0;
  int64_t k = 0;
  int64_t in_span = 0;  // the points before it are in `span`
  if constexpr (sizeof(Index) == 8) {
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    k = Simd::write_positions<Position, kSpans>(source, count, std::is_signed_v<Index> ? added : 0, target, stream,
                                                least, most);
    if (k > 0) {
      outside = resolve_lane<Bounds::raise>(static_cast<int64_t>(most), extent, 0).outside;
      if (kSpans) add_to(*span, static_cast<int64_t>(least), static_cast<int64_t>(most));
    }
    in_span = k;
  }
  for (; k + kCheckGroup <= count; k += kCheckGroup) {
    prefetch_checked(source + k * kFrom, kCheckGroup * kFrom);
    outside |= write_group<Index, Position>(source + k * kFrom, FullCheckGroup{}, extent, added, target + k * kTo);
  }
  const auto rest = static_cast<int>(count - k);
  outside |= write_group<Index, Position>(source + k * kFrom, rest, extent, added, target + k * kTo);
  if constexpr (kSpans) add_written<Position>(*span, target + in_span * kTo, count - in_span);
  return outside >= 0;
}

template <class Index>
bool check_run(const std::byte* source, int64_t count, int64_t extent, int64_t added, std::byte* target, int bytes,
               bool stream, IndexSpan* span) {
  if (target == nullptr) return !has_outside<Index>(source, count, extent, added);
  const auto write = [&]<class Position>(Position) {
    return span != nullptr
               ? write_positions<Index, Position, true>(source, count, extent, added, target, stream, span)
               : write_positions<Index, Position, false>(source, count, extent, added, target, stream, nullptr);
  };
  return bytes == 2 ? write(uint16_t{}) : write(uint32_t{});
}

using CheckRun = bool (*)(const std::byte*, int64_t, int64_t, int64_t, std::byte*, int, bool, IndexSpan*);
constexpr CheckRun kCheckRun[] = {check_run<int8_t>,  check_run<int16_t>,  check_run<int32_t>,  check_run<int64_t>,
                                  check_run<uint8_t>, check_run<uint16_t>, check_run<uint32_t>, check_run<uint64_t>};

// One index array whose runs are contiguous.
bool has_index_runs(const Job& job) {
  if (job.indices != 1 || job.masked || job.folds > 0 || job.general || job.short_runs) return false;
  if (job.rule.bounds != Bounds::raise && job.rule.bounds != Bounds::deferred) return false;
  const JobIndex& index = job.index[0];
  if (index.extent == 0 || index.extent > kMostAdded) return false;
  return job.count == 1 || stride_of(job, kIndex, job.rank - 1) == index_size(index.type);
}

template <class Position>
void narrow(const Address* __restrict address, int n, std::byte* __restrict target) {
  for (int k = 0; k < n; ++k) {
    const auto position = static_cast<Position>(address[k]);
    __builtin_memcpy(target + k * static_cast<int64_t>(sizeof(Position)), &position, sizeof(Position));
  }
}

struct CheckArrays {
  PlacementScratch placement;
  PointBlock block;
};

bool check_blocks(const Job& job, int64_t first, int64_t last, std::byte* target, int bytes, IndexSpan* span) {
  Walk walk;
  seek(job, walk, first);
  auto& [scratch, block] = in_scratch<CheckArrays>();
  for (int64_t flat = first; flat < last;) {
    int64_t n = last - flat < kBlock ? last - flat : kBlock;
    if (!job.short_runs) {
      const int64_t in_run = job.extent[job.rank - 1] - walk.at[job.rank - 1];
      n = n < in_run ? n : in_run;
    }
    if (!place(job, walk, static_cast<int>(n), scratch, block)) return false;
    if (bytes == 2) narrow<uint16_t>(block.address, block.n, target + flat * 2);
    if (bytes == 4) narrow<uint32_t>(block.address, block.n, target + flat * 4);
    if (span != nullptr && bytes == 2) add_written<uint16_t>(*span, target + flat * 2, block.n);
    if (span != nullptr && bytes == 4) add_written<uint32_t>(*span, target + flat * 4, block.n);
    advance(job, walk, n);
    flat += n;
  }
  return true;
}

}  // namespace

bool check(const Job& job, int64_t first, int64_t last, std::byte* positions, int bytes, IndexSpan* span) {
  if (!has_index_runs(job)) return check_blocks(job, first, last, positions, bytes, span);
  const JobIndex& index = job.index[0];
  const int64_t added = added_to_negative(index.extent, job.rule.negative);
  const CheckRun check_it = kCheckRun[static_cast<int>(index.type)];
  Walk walk;
  seek(job, walk, first);
  for (int64_t flat = first; flat < last;) {
    const int64_t in_run = job.extent[job.rank - 1] - walk.at[job.rank - 1];
    const int64_t n = last - flat < in_run ? last - flat : in_run;
    const std::byte* const source = index.data + offset_at(job, walk, kIndex);
    std::byte* const target = positions == nullptr ? nullptr : positions + flat * bytes;
    if (!check_it(source, n, index.extent, added, target, bytes, job.stream, span)) return false;
    advance(job, walk, n);
    flat += n;
  }
  return true;
}

}  // namespace gs::cpu::GS_ISA
