// What a page shows of one step: its tasks, predicted and measured, memory, and where time goes.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "planner/explanation/elasticity.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/predictions/waterfall.hpp"
#include "profiler/report/memory_use.hpp"
#include "sim/json_object.hpp"
#include "sim/trace.hpp"

namespace sluice::profiler {

/// One execution of three steps, predicted or measured; empty where there was none.
struct TracedStep {
  sim::Trace trace;
  std::unordered_set<std::string> critical;  ///< Ids of the tasks on the critical path.
  std::optional<planner::Waterfall> waterfall;
  MemoryUse device, host;
};

/// How long a task takes alone, and what limits it: a link's name, or "itself".
struct TaskLimit {
  Seconds alone{0};
  std::string by;
};

/// A tier's planned use and its measured peak.
struct TierView {
  std::string tier;
  Bytes predicted{0}, capacity{0};
  Bytes arena{0};  ///< Part of `predicted` that is reserved before the first task.
  std::optional<Bytes> measured;
  std::vector<std::pair<std::string, Bytes>> parts;
};

struct StepView {
  TracedStep predicted;
  TracedStep measured;
  /// The measured steps and their clock, such as "steps 12 to 14 of the run, timed by the CPU's
  /// clock".
  std::string observed;
  std::unordered_map<std::string, TaskLimit> limits;  ///< Limits by task id.
  std::vector<TierView> tiers;
  std::vector<planner::Elasticity> elasticities;
  /// The file that holds every task, such as "trace.json", where the page shows groups of tasks.
  std::string every_task;
};

/// The view of a predicted step. `measured` holds the graph's tasks, or is none. Tiers get planned
/// use only; the caller adds measured peaks.
[[nodiscard]] StepView view_of(const planner::PredictedStep& step, sim::Trace predicted,
                               std::optional<sim::Trace> measured);

/// Whether a page would show groups of tasks in place of tasks.
[[nodiscard]] bool is_summed_up(const StepView& view);

/// Adds "timeline", "waterfall", "memory", "kinds", "lanes" and "elasticities" to the page's data.
void add_step(sim::Json& page, const StepView& view);

}  // namespace sluice::profiler
