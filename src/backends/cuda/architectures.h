// architectures.h: decides whether the kernels of this build run on a GPU.
#pragma once

#include <charconv>
#include <string_view>

namespace gs::cuda {

// `list` is the value of GS_CUDA_ARCHITECTURES, such as "80-real,90-virtual,120". Machine code ("real") runs on GPUs of
// its major version from its minor version on. The driver compiles intermediate code ("virtual") for any newer GPU. A
// plain number stands for both.
inline bool serves(std::string_view list, int major, int minor) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(item.size() < list.size() ? item.size() + 1 : item.size());
    int number = 0;
    const char* end = item.data() + item.size();
    const char* rest = std::from_chars(item.data(), end, number).ptr;
    const std::string_view kind(rest, static_cast<std::size_t>(end - rest));
    const bool same = number / 10 == major && number % 10 <= minor;
    if ((kind != "-virtual" && same) || (kind != "-real" && number <= 10 * major + minor)) return true;
  }
  return false;
}

}  // namespace gs::cuda
