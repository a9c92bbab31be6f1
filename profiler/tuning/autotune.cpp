#include "profiler/tuning/autotune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/backends/backend.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/requests/prediction_json.hpp"
#include "profiler/tuning/measuring_session.hpp"

namespace sluice::profiler {
namespace {

/// Effort of a search in autotune over the usual one; a longer search costs little beside an
/// iteration's steps.
constexpr std::int64_t kTimesEffort = 2;

/// Keeps the newest measurement of each plan; earlier ones were of a colder machine.
void replace_run(std::vector<MeasuredRun>& runs, MeasuredRun run) {
  const auto same = std::find_if(runs.begin(), runs.end(),
                                 [&](const MeasuredRun& known) { return known.plan == run.plan; });
  if (same != runs.end()) {
    *same = std::move(run);
  } else {
    runs.push_back(std::move(run));
  }
}

/// Replaces the found plan by the fastest of those that ran, if that is faster: a search need not
/// find again what another calibration led it to.
void keep_quickest(planner::PredictedStep& found, const planner::Predictor& predictor,
                   const std::vector<MeasuredRun>& runs) {
  for (const MeasuredRun& run : runs) {
    if (predictor.score(run.plan).step >= found.prediction.step) continue;
    found = predictor.predict(run.plan);
  }
}

/// The best plan by the current calibration, or the given one predicted with it.
std::variant<planner::ChosenPlan, planner::Infeasible> planned_with(const planner::Request& run,
                                                                    const TuneOptions& options) {
  return options.given ? choose_given(*options.given, run) : choose_plan(run);
}

}  // namespace

std::variant<TuneOutcome, planner::Infeasible> autotune(const planner::Request& run,
                                                        const TuneOptions& options) {
  const planner::Deadline deadline = planner::Deadline::in(options.budget);
  const planner::Job& job = run.predictor.job();
  const planner::MachineProfile& profile = run.predictor.machine().profile;
  TuneOutcome outcome;
  outcome.calibration = run.calibration;
  planner::Request known = run;
  const std::int64_t usual = run.search.effort > 0 ? run.search.effort : planner::kUsualEffort;
  known.search.effort = kTimesEffort * usual;
  auto found = planned_with(known, options);
  for (int number = 1;; ++number) {
    if (auto* infeasible = std::get_if<planner::Infeasible>(&found)) return std::move(*infeasible);
    outcome.step = std::move(std::get<planner::ChosenPlan>(found).step());
    const std::string planned_hash = outcome.step.prediction.plan_hash;

    TuneIteration iteration;
    iteration.number = number;
    iteration.plan = outcome.step.prediction.plan;
    iteration.plan_hash = planned_hash;
    iteration.predicted = to_seconds(outcome.step.prediction.step);
    {
      MeasuringSession session(known.predictor, outcome.step, options.steps, options.collector);
      const Measurement measured = session.measure(options.steps);
      iteration.measured = median_step(outcome.step.graph, std::span(&measured.untraced, 1));
      iteration.refusal = measured.refusal;
      const RunResidual missed = residual(job, profile, outcome.calibration, measured.to_fit());
      if (!missed.keys.empty()) iteration.largest_miss = missed.keys.front();
      replace_run(outcome.runs, measured.to_fit());
    }
    outcome.iterations.push_back(iteration);
    if (options.iteration_done) options.iteration_done(iteration);

    outcome.calibration =
        fit_calibration(job, profile, outcome.calibration, outcome.runs).calibration;
    known = known.with_calibration(outcome.calibration);
    found = planned_with(known, options);
    auto* planned = std::get_if<planner::ChosenPlan>(&found);
    if (planned && !options.given) keep_quickest(planned->step(), known.predictor, outcome.runs);
    const bool unchanged = planned && planned->step().prediction.plan_hash == planned_hash;
    outcome.holds = unchanged && std::abs(iteration.error()) <= options.tolerance;
    if (outcome.holds || deadline.is_late()) {
      if (planned) outcome.step = std::move(planned->step());
      return outcome;
    }
  }
}

std::optional<std::filesystem::path> keep(const TuneOutcome& outcome, const planner::Request& run) {
  const std::string& hash = run.machine().calibration_hash;
  const planner::Calibration own = planner::rescaled(outcome.calibration, run.machine().profile,
                                                     planner::as_probed(run.config).profile);
  std::vector<planner::CalibrationSample> samples;
  for (const auto& [key, sample] : own) {
    samples.push_back(sample);
    samples.back().profile_hash = hash;
  }
  // The fit started from the known calibration, so it replaces it.
  planner::reset_calibration(run.store.calibration_file(hash), hash);
  planner::append_calibration(run.store.calibration_file(hash), samples);
  if (run.config.plan || run.config.policy) return std::nullopt;
  planner::PlanFile file = planner::to_plan_file(outcome.step.prediction);
  file.numerics_id = engine::numerics_id(run.job(), run.machine());
  return run.store.save(file);
}

}  // namespace sluice::profiler
