// run_arrays.h: run-end encoded arrays of given run ends, and the numbers of threads that tests read them with.
#pragma once

#include <memory>
#include <vector>

#include "reference.h"
#include "table/arrow_names.h"
#include "table/sharing.h"

namespace gs::test {

inline std::vector<table::Sharing> run_sharings() {
  std::vector<table::Sharing> all;
  for (const int threads : {1, 3}) {
    RunOptions options;
    options.threads = threads;
    all.push_back({cpu::backend(), options});
  }
  return all;
}

// A run-end encoded array with these run ends, behind `skipped` others.
template <class End>
table::Array encoded_runs(const std::vector<End>& ends, int64_t skipped) {
  std::vector<End> data(static_cast<std::size_t>(skipped), End{1});
  data.insert(data.end(), ends.begin(), ends.end());
  const auto owner = std::make_shared<std::vector<End>>(std::move(data));
  table::Array array;
  table::Array child;
  child.length = static_cast<int64_t>(ends.size());
  child.offset = skipped;
  child.first = {owner, reinterpret_cast<const std::byte*>(owner->data())};
  array.children.push_back(std::move(child));
  return array;
}

}  // namespace gs::test
