// View of one step for a page: its tasks, predicted and measured, memory, and where time goes.
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

/// Three consecutive steps, predicted or measured, as a page shows them; the trace is empty where
/// there are none.
struct TracedStep {
  sim::Trace trace;
  std::unordered_set<std::string> critical;  ///< Ids of the tasks on the critical path.
  std::optional<planner::Waterfall> waterfall;
  MemoryUse device, host;
};

/// Time of a task with the machine to itself, and what limits it then: the name of a link, or
/// "itself".
struct TaskLimit {
  Seconds alone{0};
  std::string by;
};

/// Planned use of one memory tier beside its measured peak.
struct TierView {
  std::string tier;
  Bytes predicted{0}, capacity{0};
  Bytes arena{
      0};  ///< Bytes of this tier's arena, all reserved before the first task; in `predicted`.
  std::optional<Bytes> measured;
  std::vector<std::pair<std::string, Bytes>> parts;
};

struct StepView {
  TracedStep predicted;
  TracedStep measured;
  /// Text that names the measured steps and their clock, such as "steps 12 to 14 of the run, timed
  /// by the CPU's clock".
  std::string observed;
  std::unordered_map<std::string, TaskLimit> limits;  ///< Limit of each task, by task id.
  std::vector<TierView> tiers;
  std::vector<planner::Elasticity> elasticities;
  /// Name of the file that holds every task, such as "trace.json", for a page that shows groups of
  /// tasks; else empty.
  std::string every_task;
};

/// View of a predicted step. `predicted` and `measured` are traces of its graph; `measured` may be
/// none. Tiers get planned use only; the caller adds measured peaks.
[[nodiscard]] StepView view_of(const planner::PredictedStep& step, sim::Trace predicted,
                               std::optional<sim::Trace> measured);

/// Whether a page shows groups of tasks of this view instead of single tasks.
[[nodiscard]] bool is_summed_up(const StepView& view);

/// Adds "timeline", "waterfall", "memory", "kinds", "lanes" and "elasticities" to the page's data.
void add_step(sim::Json& page, const StepView& view);

}  // namespace sluice::profiler
