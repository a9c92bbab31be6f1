#include "profiler/study/study_misses.hpp"

#include <fmt/format.h>

#include "planner/costs/job_calibration.hpp"
#include "planner/layout/laid_out.hpp"
#include "profiler/fits/calibration_fit.hpp"
#include "profiler/study/study_passes.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {

void say_missed(const StudySettings& settings, const StudyCosts& costs, const char* done,
                const StudiedRun& run, Seconds predicted) {
  const planner::Predictor& predictor = run.predictor;
  const std::string& name = run.run->name;
  const Seconds took = median_step(run.planned.step.graph, run.bursts);
  settings.say(fmt::format("{} {}: {} predicted, {} measured ({:+.1f} %)", done, name,
                           planner::format_seconds(predicted), planner::format_seconds(took),
                           100 * (predicted / took - 1)));
  const MeasuredRun& last = run.bursts.back();
  const planner::MachineProfile& profile = predictor.machine().profile;
  if (!settings.passes.empty()) {
    append_passes(settings.passes, name,
                  planner::build_step_graph(predictor.job(), last.plan, predictor.costs()), profile,
                  last);
  }
  if (settings.misses == 0) return;
  const planner::Calibration calibration =
      planner::job_calibration(predictor.job(), profile, costs.calibration(predictor));
  const RunResidual missed = residual(predictor.job(), profile, calibration, last);
  for (std::size_t i = 0; i < missed.keys.size() && i < static_cast<std::size_t>(settings.misses);
       ++i) {
    const KeyResidual& key = missed.keys[i];
    settings.say(fmt::format("    {:<52}{:>12} predicted{:>12} measured", key.key.name(),
                             planner::format_seconds(key.predicted),
                             planner::format_seconds(key.measured)));
  }
}

}  // namespace sluice::profiler
