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

/// One execution of three steps, predicted or measured; without spans there was none.
struct TracedStep {
  sim::Trace trace;
  std::unordered_set<std::string> critical;  ///< Ids on the critical path.
  std::optional<planner::Waterfall> waterfall;
  MemoryUse device, host;
};

/// How long a task takes alone, and what holds it to that: a link's name, or "itself".
struct TaskLimit {
  Seconds alone{0};
  std::string by;
};

/// A tier's plan and its measured peak.
struct TierView {
  std::string tier;
  Bytes predicted{0}, capacity{0};
  Bytes arena{0};  ///< Of `predicted`: reserved before the first task.
  std::optional<Bytes> measured;
  std::vector<std::pair<std::string, Bytes>> parts;
};

struct StepView {
  TracedStep predicted;
  TracedStep measured;
  std::string observed;  ///< "steps 12 to 14 of the run, timed by the CPU's clock"
  std::unordered_map<std::string, TaskLimit> limits;  ///< By task id.
  std::vector<TierView> tiers;
  std::vector<planner::Elasticity> elasticities;
  /// Where every task is, if the page sums some up: "trace.json".
  std::string every_task;
};

/// `measured` holds the graph's tasks, or nothing. Of tiers, only plans: measured peaks are the
/// caller's.
[[nodiscard]] StepView view_of(const planner::PredictedStep& step, sim::Trace predicted,
                               std::optional<sim::Trace> measured);

/// Whether a page would show groups of tasks in place of tasks.
[[nodiscard]] bool is_summed_up(const StepView& view);

/// "timeline", "waterfall", "memory", "kinds", "lanes", "elasticities" of the page's data.
void add_step(sim::Json& page, const StepView& view);

}  // namespace sluice::profiler
