// measure_gathers.cpp: measures whether gather instructions are faster than single loads. No number that a processor
// reports says so: kinds of the same level differ by a factor of two either way, and microcode updates against leaks of
// data have made gather instructions several times slower.
#include "backends/cpu/measure_gathers.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "backends/cpu/prepare.h"

namespace gs::cpu {
namespace {

constexpr int64_t kPoints = 2048;
constexpr int64_t kExtent = 1024;  // with indices and result less than a first-level cache
constexpr int kRounds = 16;        // the fastest counts: some rounds are interrupted

// A take of 4-byte units by 16-bit indices, whose own cost is small.
Plan take() {
  Plan plan;
  plan.item = plan.unit = sizeof(int32_t);
  plan.space = Space(Dims{kPoints}, kIndex + 1);
  plan.space.stride(kDense, 0) = plan.unit;
  plan.space.stride(kIndex, 0) = index_size(IndexType::u16);
  plan.index.push_back({IndexType::u16, 0, kExtent, plan.unit});
  plan.result_shape = plan.index_shape = Dims{kPoints};
  plan.index_space = plan.space;
  plan.finish();
  return plan;
}

std::chrono::nanoseconds time_of(const Kernels& kernels, const Job& job) {
  const auto start = std::chrono::steady_clock::now();
  kernels.run(job, 0, kPoints);
  return std::chrono::steady_clock::now() - start;
}

}  // namespace

int64_t percent_of_gathers(const Kernels& kernels) {
  std::vector<int32_t> source(kExtent);
  std::vector<uint16_t> index(kPoints);
  std::vector<int32_t> result(kPoints);
  for (int64_t k = 0; k < kPoints; ++k) index[static_cast<size_t>(k)] = static_cast<uint16_t>(k * 389 % kExtent);
  const Plan plan = take();
  Buffers buffers;
  buffers.dense = reinterpret_cast<std::byte*>(result.data());
  buffers.indexed = reinterpret_cast<std::byte*>(source.data());
  buffers.index.push_back(reinterpret_cast<const std::byte*>(index.data()));
  Tuning tuning;
  tuning.vectors = true;
  Prepared prepared;
  prepare(plan, buffers, Direction::gather, tuning, prepared);
  auto single = std::chrono::nanoseconds::max();
  auto gathered = std::chrono::nanoseconds::max();
  for (int round = 0; round < kRounds; ++round) {
    prepared.job.gathers = false;
    single = std::min(single, time_of(kernels, prepared.job));
    prepared.job.gathers = true;
    gathered = std::min(gathered, time_of(kernels, prepared.job));
  }
  return 100 * single.count() / std::max<int64_t>(gathered.count(), 1);
}

}  // namespace gs::cpu
