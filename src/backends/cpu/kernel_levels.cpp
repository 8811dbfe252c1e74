// kernel_levels.cpp: finds the kernels of a level, in the object files that were compiled for it.
#include "backends/cpu/kernel_levels.h"

namespace gs::cpu {

Run kernels(std::string_view level) {
  if (level == "baseline") return baseline::run;
#ifdef GS_HAVE_X86_LEVELS
  if (level == "v3") return v3::run;
  if (level == "v4") return v4::run;
#endif
  return nullptr;
}

const char* level_of(Run run) {
#ifdef GS_HAVE_X86_LEVELS
  if (run == v3::run) return v3::level();
  if (run == v4::run) return v4::level();
#endif
  return run == baseline::run ? baseline::level() : "";
}

Appliers appliers_of([[maybe_unused]] Run run) {
#ifdef GS_HAVE_X86_LEVELS
  if (run == v3::run) return {v3::applier, v3::element_applier, v3::sweeper, v3::record_bytes, v3::counted_units};
  if (run == v4::run) return {v4::applier, v4::element_applier, v4::sweeper, v4::record_bytes, v4::counted_units};
#endif
  return {baseline::applier, baseline::element_applier, baseline::sweeper, baseline::record_bytes,
          baseline::counted_units};
}

CheckIndices check_of([[maybe_unused]] Run run) {
#ifdef GS_HAVE_X86_LEVELS
  if (run == v3::run) return v3::check;
  if (run == v4::run) return v4::check;
#endif
  return baseline::check;
}

WriteChanged write_changed_of([[maybe_unused]] Run run) {
#ifdef GS_HAVE_X86_LEVELS
  if (run == v3::run) return v3::write_changed;
  if (run == v4::run) return v4::write_changed;
#endif
  return baseline::write_changed;
}

FindIndexSpan index_span_of([[maybe_unused]] Run run) {
#ifdef GS_HAVE_X86_LEVELS
  if (run == v3::run) return v3::index_span;
  if (run == v4::run) return v4::index_span;
#endif
  return baseline::index_span;
}

ColumnKernels columns_of([[maybe_unused]] Run run) {
#ifdef GS_HAVE_X86_LEVELS
  if (run == v3::run) return v3::columns();
  if (run == v4::run) return v4::columns();
#endif
  return baseline::columns();
}

ShortMove short_move_of([[maybe_unused]] Run run, IndexType type, int64_t unit) {
#ifdef GS_HAVE_X86_LEVELS
  if (run == v3::run) return v3::short_move(type, unit);
  if (run == v4::run) return v4::short_move(type, unit);
#endif
  return baseline::short_move(type, unit);
}

}  // namespace gs::cpu
