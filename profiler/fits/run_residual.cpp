#include "profiler/fits/run_residual.hpp"

#include <algorithm>
#include <cmath>

#include "planner/costs/cost_model.hpp"
#include "planner/costs/launch_delay.hpp"
#include "profiler/traces/simulated_keys.hpp"

namespace sluice::profiler {

RunResidual residual(planner::StepGraph& graph, const MeasuredRun& run,
                     const MeasuredKeys& measured) {
  const SimulatedKeys simulated = simulated_keys(graph);
  RunResidual result;
  result.predicted = simulated.step;
  std::vector<double> times;
  for (const Seconds time : step_times(graph, run)) times.push_back(time.count());
  result.measured = Seconds(median(times));
  for (const auto& [key, steps] : measured.steps) {
    result.keys.push_back({key, Seconds(simulated.keys.at(key).seconds), Seconds(median(steps))});
  }
  std::stable_sort(result.keys.begin(), result.keys.end(),
                   [](const KeyResidual& a, const KeyResidual& b) {
                     return std::abs(a.miss().count()) > std::abs(b.miss().count());
                   });
  return result;
}

std::vector<planner::StepGraph> build_graphs(const planner::Job& job,
                                             const planner::MachineProfile& profile,
                                             const planner::Calibration& calibration,
                                             std::span<const MeasuredRun> runs) {
  const planner::ProfileCostModel model(profile,
                                        planner::with_launch_delays(job, profile, calibration));
  std::vector<planner::StepGraph> graphs;
  graphs.reserve(runs.size());
  for (const MeasuredRun& run : runs) {
    graphs.push_back(planner::build_step_graph(job, run.plan, model));
  }
  return graphs;
}

RunResidual residual(const planner::Job& job, const planner::MachineProfile& profile,
                     const planner::Calibration& calibration, const MeasuredRun& run) {
  auto graphs = build_graphs(job, profile, calibration, std::span(&run, 1));
  return residual(graphs.front(), run, measured_keys(graphs.front(), profile, run));
}

}  // namespace sluice::profiler
