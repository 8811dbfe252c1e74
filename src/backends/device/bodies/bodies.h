// bodies.h: lists all kernel bodies; the order of the list gives the bodies their numbers, in the core and in the
// modules that run them.
//
// A module makes the kernels of a family like this (one source file for each family, so that they build in parallel):
//   template <class Body> __global__ void run(const __grid_constant__ Body body);  // body(Thread) or body(Warp)
//   a table of void (*)(int64_t blocks, const void* body, stream), filled from for_each_body(Family(), ..)
// A family's first number is first_number(Family()). To add a body, write its struct with kName and kVariant and put it
// into the list of its family. No other list names the body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backends/device/bodies/column_bodies.h"
#include "backends/device/bodies/elements.h"
#include "backends/device/bodies/reduce_bodies.h"
#include "backends/device/bodies/row_bodies.h"
#include "backends/device/bodies/scan_outside.h"
#include "backends/device/bodies/scatter_bodies.h"
#include "backends/device/bodies/units.h"

namespace gs::device {

template <class... Body>
struct BodyList {
  static constexpr int kCount = static_cast<int>(sizeof...(Body));
};

using MoveBodies =
    BodyList<MoveElements<1>, MoveElements<2>, MoveElements<4>, MoveElements<8>, MoveElements<16>, MoveUnits<1, void>,
             MoveUnits<2, void>, MoveUnits<4, void>, MoveUnits<8, void>, MoveUnits<16, void>, ScanOutside>;
using ScatterBodies = BodyList<FindSharedSlots, MarkWinners<uint32_t>, MarkWinners<uint64_t>, MoveUnits<1, uint32_t>,
                               MoveUnits<2, uint32_t>, MoveUnits<4, uint32_t>, MoveUnits<8, uint32_t>,
                               MoveUnits<16, uint32_t>, MoveUnits<1, uint64_t>, MoveUnits<2, uint64_t>,
                               MoveUnits<4, uint64_t>, MoveUnits<8, uint64_t>, MoveUnits<16, uint64_t>, MakeKeys,
                               WriteLast<1>, WriteLast<2>, WriteLast<4>, WriteLast<8>, WriteLast<16>, FindRepeats>;
template <class... T>
using RunsOf = BodyList<CombineRuns<T>...>;
using AtomicBodies = BodyList<CombineAtomically<int32_t>, CombineAtomically<int64_t>, CombineAtomically<uint32_t>,
                              CombineAtomically<uint64_t>>;
using IntegerRuns = RunsOf<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using FloatRuns = RunsOf<float, double, Complex<float>, Complex<double>, F16, BF16>;
using ByteFloatRuns = RunsOf<F8E4M3FN, F8E4M3FNUZ, F8E4M3B11FNUZ, F8E4M3, F8E3M4, F8E5M2, F8E5M2FNUZ>;
using ColumnBodies = BodyList<ResolveMap, ReplaceRows, PackMask, CountWords, MaskRows, ElementRows, PickColumns,
                              PickLong, CountNulls, FindSpans, NarrowOffsets, CopySpans, SpanRows>;

template <class... List>
struct Joined;
template <class... A>
struct Joined<BodyList<A...>> {
  using type = BodyList<A...>;
};
template <class... A, class... B, class... Rest>
struct Joined<BodyList<A...>, BodyList<B...>, Rest...> {
  using type = typename Joined<BodyList<A..., B...>, Rest...>::type;
};
using RunBodies = Joined<IntegerRuns, FloatRuns, ByteFloatRuns>::type;
using AllBodies = Joined<MoveBodies, ScatterBodies, AtomicBodies, RunBodies, ColumnBodies>::type;
inline constexpr int kBodies = AllBodies::kCount;

// The bytes that every GPU accepts as parameters of a kernel.
inline constexpr std::size_t kMostBytes = 4096;

// Calls use.operator()<Body>(number) for every body of a list, numbered from `first` on.
template <class... Body, class Use>
constexpr void for_each_body(BodyList<Body...>, int first, Use&& use) {
  int number = first;
  (use.template operator()<Body>(number++), ...);
}

template <class Body, class... All>
constexpr int number_in(BodyList<All...>) {
  int number = 0;
  int found = -1;
  ((found = std::is_same_v<Body, All> ? number : found, ++number), ...);
  return found;
}

template <class Body>
constexpr int kernel_number() {
  constexpr int kNumber = number_in<Body>(AllBodies());
  static_assert(kNumber >= 0, "a body that is in no list");
  return kNumber;
}

// The number of the first body of a family.
template <class First, class... Rest>
constexpr int first_number(BodyList<First, Rest...>) {
  return kernel_number<First>();
}
constexpr int first_number(BodyList<>) {
  return 0;
}

// True for a body that is run by whole warps.
template <class Body>
inline constexpr bool kByWarps = std::is_invocable_v<const Body&, Warp>;

// A checksum that is equal in two modules built from the same list.
constexpr uint64_t bodies_checksum() {
  uint64_t sum = 0xCBF29CE484222325u;
  const auto mix = [&](uint64_t value) { sum = (sum ^ value) * 0x100000001B3u; };
  for_each_body(AllBodies(), 0, [&]<class Body>(int number) {
    mix(static_cast<uint64_t>(number));
    mix(sizeof(Body));
    mix(Body::kVariant);
    for (const char* c = Body::kName; *c != 0; ++c) mix(static_cast<unsigned char>(*c));
  });
  return sum;
}

}  // namespace gs::device
