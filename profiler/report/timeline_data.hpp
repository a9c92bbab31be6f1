// Tasks of one step as the page's timeline reads them: in columns instead of objects.
#pragma once

#include "profiler/report/step_view.hpp"
#include "sim/json_object.hpp"
#include "sim/trace.hpp"

namespace sluice::profiler {

/// Number of equal parts of a step's period; where a page cannot show every task, a lane's tasks
/// that start within one part are drawn as one block.
inline constexpr int kBlocksOfStep = 2000;
/// Largest number of tasks that a page shows one by one.
inline constexpr std::size_t kMostTasks = 20'000;

/// Whether the step of `trace` has more tasks than a page shows one by one.
[[nodiscard]] bool is_summed_up(const sim::Trace& trace);

/// JSON with the spans around the period from the end of s2/grads (time 0) to the end of s3/grads,
/// a third of a period before it and a sixth after. Where there are more than kMostTasks, the tasks
/// of a lane that start within the same 1/kBlocksOfStep of the period become one block with their
/// number.
[[nodiscard]] sim::Json timeline_json(const StepView& view);

}  // namespace sluice::profiler
