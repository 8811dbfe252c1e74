// run_again.h: runs a hidden test case of this program in a process with another environment.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gs::test {

// A program for another processor is run by the emulator that runs this one.
#ifndef GS_TEST_EMULATOR
#define GS_TEST_EMULATOR ""
#endif

// Exit status of this program when it runs again with a setting and one hidden test case.
inline int run_again(const std::string& setting, const std::string& name) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      "env " + setting + " " GS_TEST_EMULATOR " '" + program + "' '" + name + "' > /dev/null 2>&1";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace gs::test
