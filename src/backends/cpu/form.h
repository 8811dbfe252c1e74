// form.h: decides in which form a kernel moves the points of a job. schedule.h decides it for a call as a whole.
#pragma once

#include <string>

#include "backends/cpu/kernels/job.h"
#include "backends/cpu/tuning.h"

namespace gs::cpu {

inline constexpr int64_t kShortVectorRun = 8;  // points of the shortest run of the `vectors` path

// The form of a job whose layout, rule and operands are set; `prepare` uses it.
Form form_of_job(const Plan& plan, const Tuning& tuning, const Job& job);

// Whether a job has small units, one contiguous index array, offsets that are products of two 32-bit numbers, and one
// fill value for all points.
bool has_elements_form(const Plan& plan, const Job& job);

// Whether the targets of the plan are numbers of 32 bits, in steps of its only index array.
bool has_slots(const Plan& plan);

// What decides the form of a scatter besides its job.
struct ScatterForm {
  bool owns_all = true;     // the thread writes every target, not a range of addresses
  bool in_pieces = false;   // threads share the bytes of each unit
  bool reduces = false;     // values are combined with their targets
  bool has_totals = false;  // with running totals, or counts or flags of the targets
  bool has_kernel = true;   // the reduction has a kernel for elements
};
Form form_of_scatter(const Plan& plan, const Job& job, const ScatterForm& scatter);

// What explain calls the form.
std::string form_name(const Plan& plan, Form form);

}  // namespace gs::cpu
