// Page about tuning a plan: iterations, plans that never ran before, sweeps, and the last step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiler/report/report.hpp"
#include "profiler/tuning/autotune.hpp"
#include "profiler/tuning/sweep.hpp"
#include "profiler/tuning/verification.hpp"

namespace sluice::profiler {

struct TuneReport {
  std::string title;
  std::string subtitle;
  std::int64_t tokens = 0;  ///< Number of tokens of a step.
  const TuneOutcome& outcome;
  /// The last plan that ran, predicted with the resulting calibration; set where the kept plan has
  /// not run.
  std::optional<planner::PredictedStep> last_ran{};
  std::optional<Verification> verification{};
  std::vector<SweepCurve> sweeps{};
  std::vector<planner::Elasticity> elasticities{};
  Provenance provenance{};
};

/// The latest measured run of `plan` that is long enough for a page to show its steps; null where
/// there is none.
[[nodiscard]] const MeasuredRun* shown_run(const TuneOutcome& outcome, const planner::Plan& plan);

/// Text of the HTML page: the plan that was kept, as it was predicted last and as it ran. Where it
/// has not run, the page shows the tasks of `last_ran`; without that, the kept plan's predicted
/// tasks alone.
[[nodiscard]] std::string tune_report(const TuneReport& report);

/// Three consecutive steps from the middle of `run`, as a trace of `graph`, which must be the graph
/// of the run's plan.
[[nodiscard]] sim::Trace middle_steps(const planner::StepGraph& graph, const MeasuredRun& run);

}  // namespace sluice::profiler
