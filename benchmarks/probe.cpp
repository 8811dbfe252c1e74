// probe.cpp: the machine's own limit: touch every line that an operator needs, stream its index and result bytes.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kSlabLanes = 32;  // columns packed at once, so that extent x slab stays in L2

// Fields and order as limits.py declares them. The index array is outer x inner; index k at (o, i) names the bytes
// [0, touch_bytes) at table + o * outer_step + k * index_step + i * inner_step. Only the writing walks write there.
struct Geometry {
  char* table;
  int64_t extent;
  int64_t outer;
  int64_t inner;
  int64_t outer_step;
  int64_t index_step;
  int64_t inner_step;
  int64_t touch_bytes;
};

enum class Walk : int { points = 0, row_first = 1, slab = 2, write = 3, write_past_caches = 4 };

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  return cpus;
}

void pin(const std::vector<int>& cpus, int thread) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpus[static_cast<size_t>(thread) % cpus.size()], &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// Seconds from the moment when all threads run until the last one is done: starting them is not part of the limit.
template <class Work>
double timed(int threads, const Work& work) {
  using Clock = std::chrono::steady_clock;
  const std::vector<int> cpus = allowed_cpus();
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<uint64_t> sink{0};  // keeps the loads alive
  Clock::time_point start;
  std::vector<Clock::time_point> finish(static_cast<size_t>(threads));
  std::vector<std::thread> team;
  for (int thread = 0; thread < threads; ++thread) {
    team.emplace_back([&, thread] {
      pin(cpus, thread);
      if (ready.fetch_add(1) + 1 == threads) {
        start = Clock::now();
        go.store(true, std::memory_order_release);
      }
      while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
      sink.fetch_xor(work(thread));
      finish[static_cast<size_t>(thread)] = Clock::now();
    });
  }
  for (std::thread& member : team) member.join();
  return std::chrono::duration<double>(*std::max_element(finish.begin(), finish.end()) - start).count();
}

inline uint64_t word(const char* at) {
  return static_cast<unsigned char>(*at);
}

inline uint64_t touch(const char* at, int64_t bytes) {
  if (bytes <= 16) return word(at);  // an aligned element lies in one line
  uint64_t seen = word(at);
  const char* const end = at + bytes;
  for (const char* line = at + kLine - (reinterpret_cast<uintptr_t>(at) % kLine); line < end; line += kLine) {
    seen ^= word(line);
  }
  return seen;
}

template <int kWrite = 0>
inline void prefetch(const char* at, int64_t bytes) {
  __builtin_prefetch(at, kWrite, 2);
  if (bytes <= 16) return;
  for (int64_t line = kLine; line < bytes; line += kLine) __builtin_prefetch(at + line, kWrite, 2);
  __builtin_prefetch(at + bytes - 1, kWrite, 2);  // an unaligned row has one line more
}

// One line past the caches, in the widest store that there is.
inline void stream_line(char* to, const uint64_t* line) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(line));
#elif defined(__AVX__)
  for (int half = 0; half < 2; ++half) {
    const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line + 4 * half));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to) + half, value);
  }
#elif defined(__SSE2__)
  for (int quarter = 0; quarter < 4; ++quarter) {
    const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(line + 2 * quarter));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to) + quarter, value);
  }
#else
  std::memcpy(to, line, kLine);
#endif
}

// Follows the index array point by point without a division per point.
template <class Index>
struct Cursor {
  const Geometry& geometry;
  const Index* index;
  int64_t lane;
  char* base;

  Cursor(const Geometry& g, const Index* all, int64_t point)
      : geometry(g),
        index(all + point),
        lane(point % g.inner),
        base(g.table + (point / g.inner) * g.outer_step + lane * g.inner_step) {}

  char* here() const { return base + static_cast<int64_t>(*index) * geometry.index_step; }

  void advance() {
    ++index;
    base += geometry.inner_step;
    if (++lane == geometry.inner) {
      lane = 0;
      base += geometry.outer_step - geometry.inner * geometry.inner_step;
    }
  }
};

template <class Index>
uint64_t walk_points(const Geometry& g, const Index* index, int64_t begin, int64_t end, int64_t distance) {
  uint64_t seen = 0;
  const int64_t bytes = g.touch_bytes;
  if (g.outer == 1 && g.inner_step == 0) {  // the common case, in the tightest loop
    int64_t point = begin;
    if (distance > 0) {
      for (; point < end - distance; ++point) {
        prefetch(g.table + static_cast<int64_t>(index[point + distance]) * g.index_step, bytes);
        seen ^= touch(g.table + static_cast<int64_t>(index[point]) * g.index_step, bytes);
      }
    }
    for (; point < end; ++point) seen ^= touch(g.table + static_cast<int64_t>(index[point]) * g.index_step, bytes);
    return seen;
  }
  Cursor<Index> here(g, index, begin);
  if (distance > 0 && end - begin > distance) {
    Cursor<Index> ahead(g, index, begin + distance);
    for (int64_t left = end - begin - distance; left > 0; --left) {
      prefetch(ahead.here(), bytes);
      ahead.advance();
      seen ^= touch(here.here(), bytes);
      here.advance();
    }
    begin = end - distance;
  }
  for (; begin < end; ++begin) {
    seen ^= touch(here.here(), bytes);
    here.advance();
  }
  return seen;
}

// One byte of every line, or with kPastCaches every line as a whole (rows of whole, aligned lines only). Threads may
// meet at a line, so a byte is an atomic store, which costs the same.
template <bool kPastCaches>
inline void write_unit(char* at, int64_t bytes, const uint64_t* line) {
  for (int64_t byte = 0; byte < bytes; byte += kLine) {
    if constexpr (kPastCaches) {
      stream_line(at + byte, line);
    } else {
      __atomic_store_n(at + byte, static_cast<char>(line[0]), __ATOMIC_RELAXED);
    }
  }
}

// What a scatter does at least: the target's lines are written in the order of the indices.
template <bool kPastCaches, class Index>
uint64_t walk_write(const Geometry& g, const Index* index, int64_t begin, int64_t end, int64_t distance) {
  uint64_t line[kLine / 8];
  uint64_t seed = static_cast<uint64_t>(begin) + 1;
  for (uint64_t& lane : line) lane = seed = seed * 6364136223846793005u + 1442695040888963407u;
  Cursor<Index> here(g, index, begin);
  if (distance > 0 && end - begin > distance) {
    Cursor<Index> ahead(g, index, begin + distance);
    for (int64_t left = end - begin - distance; left > 0; --left) {
      prefetch<1>(ahead.here(), g.touch_bytes);
      ahead.advance();
      write_unit<kPastCaches>(here.here(), g.touch_bytes, line);
      here.advance();
    }
    begin = end - distance;
  }
  for (; begin < end; ++begin) {
    write_unit<kPastCaches>(here.here(), g.touch_bytes, line);
    here.advance();
  }
#ifdef __SSE2__
  if (kPastCaches) _mm_sfence();
#endif
  return seed;
}

// Last axis: reading the whole row in order first turns random misses into a stream.
template <class Index>
uint64_t walk_row_first(const Geometry& g, const Index* index, int64_t outer_begin, int64_t outer_end) {
  uint64_t seen = 0;
  for (int64_t o = outer_begin; o < outer_end; ++o) {
    const char* const row = g.table + o * g.outer_step;
    for (int64_t byte = 0; byte < g.extent * g.index_step; byte += kLine) seen ^= word(row + byte);
    const Index* const wanted = index + o * g.inner;
    for (int64_t i = 0; i < g.inner; ++i) {
      seen ^= word(row + static_cast<int64_t>(wanted[i]) * g.index_step + i * g.inner_step);
    }
  }
  return seen;
}

// Axis 0: a slab of columns is packed into L2 once and then read from there.
template <class Index>
uint64_t walk_slab(const Geometry& g, const Index* index, int64_t lane_begin, int64_t lane_end) {
  uint64_t seen = 0;
  std::vector<char> slab(static_cast<size_t>(g.extent * kSlabLanes * g.inner_step));
  for (int64_t first = lane_begin; first < lane_end; first += kSlabLanes) {
    const int64_t lanes = std::min(kSlabLanes, lane_end - first);
    const int64_t stride = kSlabLanes * g.inner_step;
    for (int64_t k = 0; k < g.extent; ++k) {
      std::memcpy(slab.data() + k * stride, g.table + k * g.index_step + first * g.inner_step,
                  static_cast<size_t>(lanes * g.inner_step));
    }
    for (int64_t o = 0; o < g.outer; ++o) {
      const Index* const wanted = index + o * g.inner + first;
      for (int64_t lane = 0; lane < lanes; lane += static_cast<int64_t>(kLine / sizeof(Index))) {
        __builtin_prefetch(wanted + 4 * g.inner + lane, 0, 2);
      }
      for (int64_t lane = 0; lane < lanes; ++lane) {
        seen ^= word(slab.data() + static_cast<int64_t>(wanted[lane]) * stride + lane * g.inner_step);
      }
    }
  }
  return seen;
}

// The part of `total` that belongs to one thread, cut at multiples of `grain`.
std::pair<int64_t, int64_t> part(int64_t total, int threads, int thread, int64_t grain) {
  const int64_t grains = (total + grain - 1) / grain;
  return {std::min(total, grains * thread / threads * grain), std::min(total, grains * (thread + 1) / threads * grain)};
}

template <class Index>
double probe(const Geometry& g, const void* const* sets, int count, int first, int calls, Walk walk, int64_t distance,
             int threads) {
  return timed(threads, [&](int thread) {
    uint64_t seen = 0;
    for (int call = 0; call < calls; ++call) {
      const Index* const index = static_cast<const Index*>(sets[(first + call) % count]);
      if (walk == Walk::row_first) {
        const auto [begin, end] = part(g.outer, threads, thread, 1);
        seen ^= walk_row_first(g, index, begin, end);
      } else if (walk == Walk::slab) {
        const auto [begin, end] = part(g.inner, threads, thread, kSlabLanes);
        seen ^= walk_slab(g, index, begin, end);
      } else {
        const auto [begin, end] = part(g.outer * g.inner, threads, thread, 16);
        seen ^= walk == Walk::write               ? walk_write<false>(g, index, begin, end, distance)
                : walk == Walk::write_past_caches ? walk_write<true>(g, index, begin, end, distance)
                                                  : walk_points(g, index, begin, end, distance);
      }
    }
    return seen;
  });
}

// A column of a table as table_limits.py declares it: fixed-width values, or text with offsets; validity may be null.
struct Column {
  const char* values;
  int64_t width;
  const int32_t* offsets;  // null: values are `width` bytes each
  const unsigned char* validity;
};

uint64_t walk_column(const Column& column, const uint32_t* index, int64_t begin, int64_t end, int64_t distance) {
  uint64_t seen = 0;
  const auto value = [&](int64_t point) { return column.values + int64_t{index[point]} * column.width; };
  const auto bits = [&](int64_t point) { return column.validity[index[point] >> 3]; };
  int64_t point = begin;
  if (distance > 0) {
    for (; point < end - distance; ++point) {
      prefetch(value(point + distance), 1);
      seen ^= word(value(point));
    }
  }
  for (; point < end; ++point) seen ^= word(value(point));
  if (column.validity != nullptr) {
    for (point = begin; point < end; ++point) seen ^= bits(point);
  }
  return seen;
}

// Text is two steps away: offsets are prefetched twice as far ahead as the bytes that they lead to.
uint64_t walk_text(const Column& column, const uint32_t* index, int64_t begin, int64_t end, int64_t distance) {
  uint64_t seen = 0;
  const auto text = [&](int64_t point) { return column.values + column.offsets[index[point]]; };
  const auto bytes = [&](int64_t point) {
    const int32_t* const here = column.offsets + index[point];
    return int64_t{here[1]} - here[0];
  };
  int64_t point = begin;
  if (distance > 0) {
    for (; point < end - 2 * distance; ++point) {
      prefetch(reinterpret_cast<const char*>(column.offsets + index[point + 2 * distance]), 1);
      prefetch(text(point + distance), bytes(point + distance));
      if (bytes(point) > 0) seen ^= touch(text(point), bytes(point));
    }
  }
  for (; point < end; ++point) {
    if (bytes(point) > 0) seen ^= touch(text(point), bytes(point));
  }
  return seen;
}

uint64_t read_lines(const char* from, int64_t begin, int64_t end) {
  uint64_t seen = 0;
  for (int64_t byte = begin; byte < end; byte += kLine) {
    uint64_t value;
    std::memcpy(&value, from + byte, sizeof value);
    seen ^= value;
  }
  return seen;
}

// Whole lines of random words: constant pages would flatter the memory.
void write_lines(char* to, int64_t begin, int64_t end, uint64_t seed, bool nontemporal) {
  uint64_t line[kLine / 8];
  for (uint64_t& lane : line) lane = seed = seed * 6364136223846793005u + 1442695040888963407u;
  for (int64_t byte = begin; byte + kLine <= end; byte += kLine) {
    if (nontemporal) {
      stream_line(to + byte, line);
    } else {
      std::memcpy(to + byte, line, kLine);
    }
  }
}

}  // namespace

extern "C" {

// Seconds for `calls` walks over the rotating index sets; negative: no such index size.
double gs_probe(const Geometry* geometry, const void* const* sets, int count, int first, int calls, int index_bytes,
                int walk, int64_t distance, int threads) {
  const Walk kind = static_cast<Walk>(walk);
  switch (index_bytes) {
    case 1: return probe<uint8_t>(*geometry, sets, count, first, calls, kind, distance, threads);
    case 2: return probe<uint16_t>(*geometry, sets, count, first, calls, kind, distance, threads);
    case 4: return probe<uint32_t>(*geometry, sets, count, first, calls, kind, distance, threads);
    case 8: return probe<int64_t>(*geometry, sets, count, first, calls, kind, distance, threads);
    default: return -1.0;
  }
}

// The same for the columns of a table, one column after the other; `points[k]` uint32 indices in set k.
double gs_probe_columns(const Column* columns, int column_count, const uint32_t* const* sets, const int64_t* points,
                        int count, int first, int calls, int64_t distance, int threads) {
  return timed(threads, [&](int thread) {
    uint64_t seen = 0;
    for (int call = 0; call < calls; ++call) {
      const int set = (first + call) % count;
      const auto [begin, end] = part(points[set], threads, thread, 16);
      for (const Column* column = columns; column < columns + column_count; ++column) {
        seen ^= column->offsets == nullptr ? walk_column(*column, sets[set], begin, end, distance)
                                           : walk_text(*column, sets[set], begin, end, distance);
      }
    }
    return seen;
  });
}

// Seconds for reading `bytes_in[k]` bytes of each of `inputs` arrays per set (sets x inputs pointers) and writing
// `bytes_out`, all of them in step, `calls` times. `out` is 64-byte aligned.
double gs_stream(const char* const* sets, int count, int inputs, const int64_t* bytes_in, char* out, int64_t bytes_out,
                 int nontemporal, int first, int calls, int threads) {
  return timed(threads, [&](int thread) {
    uint64_t seen = static_cast<uint64_t>(thread) + 1;
    for (int call = 0; call < calls; ++call) {
      const char* const* const arrays =
          sets + static_cast<size_t>((first + call) % count) * static_cast<size_t>(inputs);
      int64_t longest = bytes_out;
      for (int k = 0; k < inputs; ++k) longest = std::max(longest, bytes_in[k]);
      const int64_t steps = std::max<int64_t>(1, longest / threads / 4096);
      for (int64_t step = 0; step < steps; ++step) {
        const int slice = static_cast<int>(thread * steps + step);
        const int slices = static_cast<int>(threads * steps);
        for (int k = 0; k < inputs; ++k) {
          const auto [begin, end] = part(bytes_in[k], slices, slice, kLine);
          seen ^= read_lines(arrays[k], begin, std::min(end, bytes_in[k] - 8));
        }
        const auto [begin, end] = part(bytes_out, slices, slice, kLine);
        write_lines(out, begin, end, seen, nontemporal != 0);
      }
    }
#ifdef __SSE2__
    _mm_sfence();
#endif
    return seen;
  });
}

}  // extern "C"
