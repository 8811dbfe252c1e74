// test_host_machine.cpp: the CPU in place of a GPU fulfils the contract of machines, for any order of blocks.
#include "backends/reference/host_machine.h"
#include "machine_contract.h"

using namespace gs;
using namespace gs::test;

TEST_CASE("the machine of the CPU keeps the contract", "[machine]") {
  reference::Settings settings;
  settings.blocks = GENERATE(1, 64);
  if (GENERATE(false, true)) settings.shuffle = 1;
  settings.is_hidden = GENERATE(false, true);
  reference::HostMachine machine(settings);
  SECTION("memory") {
    check_memory(machine);
  }
  SECTION("sort") {
    check_sort(machine);
  }
  SECTION("sum") {
    check_sum(machine);
  }
}

TEST_CASE("the machine of the CPU reports bad indices", "[machine]") {
  reference::Settings settings;
  settings.blocks = 4;
  settings.shuffle = 1;
  settings.is_hidden = GENERATE(false, true);
  reference::HostMachine machine(settings);
  check_status(machine);
}
