// test_affinity.cpp: affinity masks compared with those of the system, and how often they are read.
#include <cstdint>

#include "host/affinity.h"
#include "processors.h"

using namespace gs::test;

TEST_CASE("a mask holds the processors that the system reports") {
  const std::vector<int> here = processors_here();
  gs::host::Affinity mask = gs::host::Affinity::of_caller();
  REQUIRE(mask.count() == static_cast<int>(here.size()));
  for (int i = -1; i < 2 * CPU_SETSIZE; ++i) REQUIRE(mask.has(i) == (std::count(here.begin(), here.end(), i) == 1));
  REQUIRE_FALSE((mask.has(1 << 20) || mask.has(INT32_MIN)));
  const gs::host::Affinity before = mask;
  REQUIRE(mask == before);
  for (const int none : {-1, 1 << 20}) mask.remove(none);
  REQUIRE(mask == before);
  mask.remove(here.back());
  REQUIRE_FALSE(mask == before);
  REQUIRE((mask.count() == before.count() - 1 && !mask.has(here.back())));
}

TEST_CASE("each call reads the mask, but within an AffinityScope only the first one does") {
  using gs::host::Affinity;
  on_own_thread([](const std::vector<int>& all) {
    if (all.size() < 2) {
      WARN("skipped: needs two processors");
      return;
    }
    const int both = Affinity::of_caller().count();
    {
      const gs::host::AffinityScope look;  // has not queried the mask yet
      allow_here({all.back()});
      REQUIRE(Affinity::of_caller().count() == 1);
      allow_here(all);
      REQUIRE(Affinity::of_caller().count() == 1);
      {
        const gs::host::AffinityScope inner;
        REQUIRE(Affinity::of_caller().count() == both);
        allow_here({all.back()});
      }
      REQUIRE(Affinity::of_caller().count() == 1);
      allow_here(all);
    }
    REQUIRE(Affinity::of_caller().count() == both);
    allow_here({all.back()});
    REQUIRE(Affinity::of_caller().count() == 1);
  });
}

TEST_CASE("a thread that is given a mask runs on its processors") {
  on_own_thread([](const std::vector<int>& all) {
    if (all.size() < 2) {
      WARN("skipped: needs two processors");
      return;
    }
    gs::host::Affinity mask = gs::host::Affinity::of_caller();
    mask.remove(all.front());
    mask.give_to(pthread_self());
    REQUIRE(processors_here() == std::vector<int>(all.begin() + 1, all.end()));
    for (const int processor : all) mask.remove(processor);
    REQUIRE(mask.count() == 0);
    mask.give_to(pthread_self());  // the system rejects an empty mask
    REQUIRE(processors_here() == std::vector<int>(all.begin() + 1, all.end()));
  });
}
