// test_interrupt_poller.cpp: how often a poller calls its function, and that a stop is final.
#include <thread>

#include "catch.h"
#include "host/interrupt_poller.h"

using gs::host::InterruptPoller;

namespace {

int polls = 0;
int stop_at = 0;  // the number of the poll that reports an interrupt; 0 for none

bool interrupted() {
  return ++polls == stop_at;
}

}  // namespace

TEST_CASE("a poller waits between two polls") {
  polls = stop_at = 0;
  InterruptPoller patient(interrupted, std::chrono::hours(1));
  for (int i = 0; i < 100; ++i) REQUIRE(patient.proceed());
  REQUIRE(polls == 0);

  InterruptPoller poller(interrupted, std::chrono::milliseconds(20));
  REQUIRE(poller.proceed());
  REQUIRE(polls == 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(25));
  REQUIRE(poller.proceed());
  REQUIRE(polls == 1);
}

TEST_CASE("a poller without a function never stops") {
  InterruptPoller silent(nullptr, {});
  for (int i = 0; i < 100; ++i) REQUIRE(silent.proceed());
  REQUIRE_FALSE(silent.stopped());
}

TEST_CASE("a poller that is stopped stays stopped, and polls no more") {
  polls = 0;
  stop_at = 3;  // reported once: the fourth poll would report none
  InterruptPoller poller(interrupted, {});
  REQUIRE(poller.proceed());
  REQUIRE(poller.proceed());
  REQUIRE_FALSE(poller.stopped());
  for (int i = 0; i < 5; ++i) REQUIRE_FALSE(poller.proceed());
  REQUIRE(poller.stopped());
  REQUIRE(polls == 3);
}
