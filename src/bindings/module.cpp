// module.cpp: defines the extension module `gatherscatter._core`.
#define GS_IMPORTS_NUMPY
#include "bindings/numpy_api.h"
// NumPy's header first
#include <pybind11/pybind11.h>

#include "backends/backend.h"
#include "bindings/arguments/dlpack.h"
#include "bindings/arguments/keywords.h"
#include "bindings/arguments/number_lists.h"
#include "bindings/devices/device_module.h"
#include "bindings/devices/offer.h"
#include "bindings/operators/call_object.h"
#include "bindings/operators/callable.h"
#include "bindings/operators/foreign_call.h"
#include "bindings/operators/fresh_arrays.h"
#include "bindings/operators/gradient_parts.h"
#include "bindings/operators/grouping.h"
#include "bindings/operators/operators.h"
#include "bindings/operators/plan_object.h"
#include "bindings/progress_reports.h"
#include "bindings/tables/arrow_table.h"
#include "bindings/tables/pyarrow_batches.h"
#include "bindings/tables/pyarrow_gather.h"
#include "bindings/thread_limits.h"
#include "core/error.h"
#include "host/host_info.h"
#include "host/memory_pool.h"
#include "host/saved_tuning.h"

namespace py = pybind11;

namespace {

py::dict config() {
  const gs::host::HostInfo& host = gs::host::info();
  const gs::host::PoolState pool = gs::host::pool_state();
  py::dict facts;
  facts["backend"] = gs::host_backend().name();
  facts["isa"] = host.isa;
  facts["isa_supported"] = host.isa_supported;
  facts["cpu_model"] = host.cpu_model;
  facts["processors"] = gs::host::processors();
  facts["threads"] = int{gs::thread_count()};
  facts["l2_bytes"] = host.l2_bytes;
  facts["llc_bytes"] = host.llc_bytes;
  // The thresholds of the CPU backend, even if another backend is chosen: they show what environment variables have
  // set.
  for (const auto& [name, value] : gs::cpu::backend().thresholds()) facts[name] = value;
  facts["pool_enabled"] = pool.enabled;
  facts["pool_cached_bytes"] = pool.cached_bytes;
  facts["pool_used_bytes"] = pool.used_bytes;
  facts["pool_limit_bytes"] = pool.limit_bytes;
  return facts;
}

// The file of saved thresholds: its path, its key, what was read of it, and why not.
py::dict saved_tuning() {
  const gs::host::SavedTuning& saved = gs::host::saved_tuning();
  py::dict facts;
  facts["path"] = saved.path;
  facts["key"] = gs::host::tuning_key();
  facts["problem"] = saved.problem;
  py::dict values;
  for (const auto& [variable, value] : saved.values) values[py::str(variable)] = value;
  facts["values"] = values;
  return facts;
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  if (PyArray_ImportNumPyAPI() < 0) throw py::error_already_set();
  try {  // the settings in environment variables are read here, once
    gs::host::info();
    gs::host::pool_state();
    gs::cpu::backend();
    gs::host_backend();
  } catch (const std::invalid_argument& error) {
    throw py::import_error(error.what());
  }
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const gs::ExchangeError& e) {
      PyErr_SetString(PyExc_BufferError, e.what());
    } catch (const gs::FileError& e) {
      PyErr_SetString(PyExc_OSError, e.what());
    } catch (const gs::DTypeError& e) {
      PyErr_SetString(PyExc_TypeError, e.what());
    }
  });
  gs::load_reference();
  gs::bind_offer(module);
  gs::bind_operators(module);
  gs::bind_calls(module);
  gs::bind_callables(module);
  gs::bind_fresh_arrays(module);
  gs::bind_grouping(module);
  gs::bind_words(module);
  gs::bind_number_lists(module);
  gs::bind_gradient_parts(module);
  gs::bind_plan(module);
  gs::dlpack::bind_array(module);
  gs::bind_table(module);
  gs::bind_pyarrow_batches(module);
  gs::bind_pyarrow_gather(module);
  gs::bind_selection(module);
  gs::bind_device(module);
  module.attr("foreign_calls") = py::capsule(&gs::foreign_calls(), gs::kForeignCallsName);
  module.def("config", &config);
  module.def("saved_tuning", &saved_tuning);
  module.def("get_num_threads", [] { return int{gs::thread_count()}; });
  module.def("set_num_threads", &gs::set_thread_count, py::arg("count"));
  module.attr("thread_limits") = gs::thread_limits();
  module.attr("progress_blocks") = gs::progress_blocks();
  module.def("progress_has_begun", &gs::progress_has_begun);
  module.def("progress_is_hidden", &gs::progress_is_hidden);
  module.def("progress_silence", &gs::progress_silence);
  module.def("set_progress_silence", &gs::set_progress_silence, py::arg("milliseconds"));
  module.def("trim", [] { return gs::host::trim(); });
}
