#include "profiler/ablation/cell_run.hpp"

#include "profiler/tuning/autotune.hpp"
#include "profiler/tuning/measuring_session.hpp"

namespace sluice::profiler {

std::vector<Seconds> run_cell(const PlannedCell& planned, const Experiment& experiment) {
  const planner::PredictedStep& step = *planned.step;
  MeasuringSession session(*planned.predictor, step, experiment.warm_up + experiment.steps + 1);
  const MeasuredRun run = session.run(experiment.warm_up + experiment.steps + 1);
  std::vector<Seconds> times = step_times(step.graph, run);
  times.erase(times.begin(), times.begin() + experiment.warm_up);
  return times;
}

}  // namespace sluice::profiler
