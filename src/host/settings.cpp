// settings.cpp: parses environment variables, reads the instruction set level and control group quotas.
#include "host/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace gs::host {
namespace {

// Parses a text that is one decimal number; -1 for any other text.
int64_t whole_number(std::string_view text) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

[[noreturn]] void refuse(const char* variable, const char* text, const std::string& expected) {
  throw std::invalid_argument(std::string(variable) + "=" + text + ": expected " + expected);
}

int64_t positive(const char* variable, const char* text, int64_t otherwise, const char* expected) {
  if (text == nullptr) return otherwise;
  const int64_t value = whole_number(text);
  if (value < 1) refuse(variable, text, expected);
  return value;
}

std::string_view first_word(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  const auto end = text.find_first_of(" \t\n", begin);
  return text.substr(begin, end == std::string_view::npos ? end : end - begin);
}

// Calls visit(folder) for the control group `path` below `base` and for every group above it.
template <class Visit>
void for_each_group(const std::string& base, std::string path, Visit visit) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  for (;;) {
    visit(base + path);
    const auto slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return;
    path.erase(slash);
  }
}

struct ControlGroup {
  std::string controllers;  // empty: version 2
  std::string path;
};

// Parses /proc/self/cgroup, whose lines are number:controllers:path.
std::vector<ControlGroup> groups_of(const std::string& membership) {
  std::vector<ControlGroup> groups;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    groups.push_back({line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return groups;
}

bool has_controller(const std::string& list, std::string_view wanted) {
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == wanted) return true;
  }
  return false;
}

// The smaller of two limits, where 0 means no limit.
int64_t tighter(int64_t a, int64_t b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

// Number of processors that use up a time of `quota` in every `period`, rounded up; 0 for no limit.
int64_t processors_for(int64_t quota, int64_t period) {
  return quota <= 0 || period <= 0 ? 0 : (quota + period - 1) / period;
}

// The lowest limit of all control groups of the process, where v2(folder) and v1(folder) read the limit of one group.
template <class V2, class V1>
int64_t tightest(const std::string& membership, const std::string& root, std::string_view controller, V2 v2, V1 v1) {
  int64_t limit = 0;
  for (const ControlGroup& group : groups_of(membership)) {
    if (group.controllers.empty()) {
      for_each_group(root, group.path, [&](const std::string& folder) { limit = tighter(limit, v2(folder)); });
    } else if (has_controller(group.controllers, controller)) {
      // A hierarchy of version 1 is mounted under the list of its controllers or under one of them. In a container the
      // root folder may be the group itself, so that the groups above the path are read as well.
      for (const std::string& mount : {root + "/" + group.controllers, root + "/" + std::string(controller)}) {
        for_each_group(mount, group.path, [&](const std::string& folder) { limit = tighter(limit, v1(folder)); });
      }
    }
  }
  return limit;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int64_t bytes_setting(const char* variable, const char* text, int64_t otherwise) {
  return positive(variable, text, otherwise, "a number of bytes, at least 1");
}

int64_t points_setting(const char* variable, const char* text, int64_t otherwise) {
  return positive(variable, text, otherwise, "a number of points, at least 1");
}

int threads_setting(const char* variable, const char* text, int otherwise) {
  if (text == nullptr) return otherwise;
  const int64_t value = whole_number(text);
  if (value < 1 || value > kMostThreads) refuse(variable, text, "a number of threads from 1 to 1024");
  return static_cast<int>(value);
}

std::string level_setting(const char* variable, const char* text, const std::string& supported) {
  constexpr std::array<std::string_view, 3> levels = {"baseline", "v3", "v4"};
  if (text == nullptr) return supported;
  const auto wanted = std::find(levels.begin(), levels.end(), text);
  if (wanted == levels.end()) refuse(variable, text, "baseline, v3 or v4");
  if (wanted > std::find(levels.begin(), levels.end(), supported)) {
    refuse(variable, text, "at most " + supported + ", the highest level that this processor supports");
  }
  return text;
}

// Reads cpuid, because not every compiler has a query for the levels.
std::string supported_level() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  const auto has = [](unsigned word, std::initializer_list<int> bits) {
    return std::all_of(bits.begin(), bits.end(), [word](int bit) { return ((word >> bit) & 1U) != 0; });
  };
  // ssse3 fma cx16 sse4.1 sse4.2 movbe popcnt osxsave avx f16c
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !has(c, {9, 12, 13, 19, 20, 22, 23, 27, 28, 29})) return "baseline";
  unsigned state = 0;  // which registers the system saves
  unsigned state_high = 0;
  asm volatile("xgetbv" : "=a"(state), "=d"(state_high) : "c"(0));
  if (!has(state, {1, 2})) return "baseline";
  unsigned extended = 0;
  if (__get_cpuid(0x80000001U, &a, &b, &extended, &d) == 0 || !has(extended, {5})) return "baseline";  // lzcnt
  // bmi1 avx2 bmi2
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || !has(b, {3, 5, 8})) return "baseline";
  // avx512 f dq cd bw vl
  return has(b, {16, 17, 28, 30, 31}) && has(state, {5, 6, 7}) ? "v4" : "v3";
#else
  return "baseline";
#endif
}

bool is_amd() {
#if defined(__x86_64__)
  unsigned highest = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(0, &highest, &b, &c, &d) != 0 && b == signature_AMD_ebx && c == signature_AMD_ecx &&
         d == signature_AMD_edx;
#else
  return false;
#endif
}

bool has_byte_permutations() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && ((c >> 1) & 1U) != 0;
#else
  return false;
#endif
}

std::string processor_model(const std::string& cpuinfo) {
  std::string arm;
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line) && !line.empty();) {  // an empty line ends the first processor
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) return value;
    for (const std::string field : {"implementer", "variant", "part", "revision"}) {
      if (line.starts_with("CPU " + field)) arm += (arm.empty() ? "Arm " : ", ") + field + " " + value;
    }
  }
  return arm.empty() ? "unknown" : arm;
}

int quota_processors(const std::string& membership, const std::string& root) {
  const auto v2 = [](const std::string& folder) {
    const std::string text = read_file(folder + "/cpu.max");  // "quota period" or "max period"
    const std::string_view quota = first_word(text);
    if (quota.empty()) return int64_t{0};
    const auto rest = std::string_view(text).substr(static_cast<size_t>(quota.data() - text.data()) + quota.size());
    return processors_for(whole_number(quota), whole_number(first_word(rest)));
  };
  const auto v1 = [](const std::string& folder) {
    return processors_for(whole_number(first_word(read_file(folder + "/cpu.cfs_quota_us"))),
                          whole_number(first_word(read_file(folder + "/cpu.cfs_period_us"))));
  };
  return static_cast<int>(std::min<int64_t>(tightest(membership, root, "cpu", v2, v1), kMostThreads));
}

int64_t quota_memory(const std::string& membership, const std::string& root) {
  const auto v2 = [](const std::string& folder) {
    return std::max<int64_t>(whole_number(first_word(read_file(folder + "/memory.max"))), 0);
  };
  const auto v1 = [](const std::string& folder) {
    return std::max<int64_t>(whole_number(first_word(read_file(folder + "/memory.limit_in_bytes"))), 0);
  };
  return tightest(membership, root, "memory", v2, v1);
}

}  // namespace gs::host
