#include "cli/shown/autotune_report.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "planner/catalogue/store.hpp"
#include "planner/explanation/plan_report.hpp"
#include "sim/version.hpp"

namespace sluice::cli {

std::filesystem::path report_file(const planner::Store& store, const planner::Prediction& of) {
  return store.root() / "reports" /
         ("autotune-" + of.job_hash.substr(0, 8) + "-" + of.profile_hash.substr(0, 8) + ".html");
}

profiler::TuneReport report_of(const planner::RunPlanning& run,
                               const profiler::TuneOutcome& outcome,
                               std::optional<profiler::Verification> verification,
                               std::vector<profiler::SweepCurve> sweeps) {
  const planner::Job& job = run.predictor.job();
  const planner::Prediction& prediction = outcome.step.prediction;
  const planner::Predictor tuned(job, run.predictor.machine(), outcome.calibration,
                                 run.predictor.residency());
  std::optional<planner::PredictedStep> last_ran;
  if (profiler::shown_run(outcome, prediction.plan) == nullptr) {
    last_ran = tuned.predict(outcome.iterations.back().plan);
  }
  const planner::Plan shown = last_ran ? last_ran->prediction.plan : prediction.plan;
  return {.title = "Tuning " + job.model.name + " on " + run.predictor.machine().profile.name,
          .subtitle = fmt::format(
              "{} sequences of {} tokens a step, {} iteration{}; {}", job.batch_size, job.seq_len,
              outcome.iterations.size(), outcome.iterations.size() == 1 ? "" : "s",
              outcome.holds ? "the prediction holds" : "the prediction does not hold yet"),
          .tokens = job.tokens(),
          .outcome = outcome,
          .last_ran = std::move(last_ran),
          .verification = std::move(verification),
          .sweeps = std::move(sweeps),
          .elasticities = planner::elasticities(tuned, outcome.calibration, shown),
          .provenance = {{"program", std::string(version())},
                         {"commit", std::string(commit())},
                         {"written", planner::utc_now()},
                         {"job", prediction.job_hash},
                         {"plan", prediction.plan_hash},
                         {"profile", prediction.profile_hash},
                         {"cost model", prediction.cost_model_hash}}};
}

}  // namespace sluice::cli
