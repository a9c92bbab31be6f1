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

using planner::Planned;

/// Of the usual: beside what a round's steps take, a search that comes from two sides costs little.
constexpr std::int64_t kTimesEffort = 2;

/// The newest measurement of each plan stands for it: earlier ones were of a colder machine.
void replace_run(std::vector<MeasuredRun>& runs, MeasuredRun run) {
  const auto same = std::find_if(runs.begin(), runs.end(),
                                 [&](const MeasuredRun& known) { return known.plan == run.plan; });
  if (same != runs.end()) {
    *same = std::move(run);
  } else {
    runs.push_back(std::move(run));
  }
}

/// The quickest of what the search found and the plans that ran: a search need not find again what
/// another calibration led it to.
void keep_quickest(planner::PredictedStep& found, const planner::Predictor& predictor,
                   const std::vector<MeasuredRun>& runs) {
  for (const MeasuredRun& run : runs) {
    if (predictor.score(run.plan).step >= found.prediction.step) continue;
    found = predictor.predict(run.plan);
  }
}

planner::Predictor with_calibration(const planner::Predictor& predictor,
                                    const planner::Calibration& calibration) {
  return {predictor.job(), predictor.machine(), calibration, predictor.residency()};
}

/// The best plan with what is known by now, or the given one with what it takes now.
std::variant<Planned, planner::Infeasible> planned_with(const planner::Predictor& predictor,
                                                        const planner::Calibration& calibration,
                                                        const planner::SearchSettings& search,
                                                        const TuneOptions& options) {
  if (!options.given) return planner::search_or_remedy(predictor, calibration, search);
  Planned planned{.best = predictor.predict(options.given->plan)};
  const planner::Memory& memory = planned.best.prediction.memory;
  if (const auto lack = planner::shortage_of(memory)) {
    return planner::Infeasible{
        .tier = lack->first,
        .short_by = lack->second,
        .memory = memory,
        .remedies = remedies_for_given(*options.given, memory, predictor, calibration, search)};
  }
  return planned;
}

}  // namespace

std::variant<TuneOutcome, planner::Infeasible> autotune(const planner::RunPlanning& run,
                                                        const TuneOptions& options) {
  const planner::Deadline deadline = planner::Deadline::in(options.budget);
  const planner::Job& job = run.predictor.job();
  const planner::MachineProfile& profile = run.predictor.machine().profile;
  TuneOutcome outcome;
  outcome.calibration = run.calibration;
  planner::SearchSettings search = run.search;
  search.effort = kTimesEffort * (search.effort > 0 ? search.effort : planner::kUsualEffort);
  auto found = planned_with(run.predictor, run.calibration, search, options);
  for (int number = 1;; ++number) {
    if (auto* infeasible = std::get_if<planner::Infeasible>(&found)) return std::move(*infeasible);
    outcome.step = std::move(std::get<Planned>(found).best);
    const std::string planned_hash = outcome.step.prediction.plan_hash;

    TuneRound round;
    round.number = number;
    round.plan = outcome.step.prediction.plan;
    round.plan_hash = planned_hash;
    round.predicted = to_seconds(outcome.step.prediction.step);
    {
      const planner::Predictor predictor = with_calibration(run.predictor, outcome.calibration);
      MeasuringSession session(predictor, outcome.step, options.steps, options.collector);
      const Measurement measured = session.measure(options.steps);
      round.measured = median_step(outcome.step.graph, std::span(&measured.untraced, 1));
      round.refusal = measured.refusal;
      const RunResidual missed = residual(job, profile, outcome.calibration, measured.to_fit());
      if (!missed.keys.empty()) round.largest_miss = missed.keys.front();
      replace_run(outcome.runs, measured.to_fit());
    }
    outcome.rounds.push_back(round);
    if (options.round_done) options.round_done(round);

    outcome.calibration =
        fit_calibration(job, profile, outcome.calibration, outcome.runs).calibration;
    const planner::Predictor better = with_calibration(run.predictor, outcome.calibration);
    found = planned_with(better, outcome.calibration, search, options);
    auto* planned = std::get_if<Planned>(&found);
    if (planned && !options.given) keep_quickest(planned->best, better, outcome.runs);
    const bool unchanged = planned && planned->best.prediction.plan_hash == planned_hash;
    outcome.holds = unchanged && std::abs(round.error()) <= options.tolerance;
    if (outcome.holds || deadline.is_late()) {
      if (planned) outcome.step = std::move(std::get<Planned>(found).best);
      return outcome;
    }
  }
}

std::optional<std::filesystem::path> keep(const TuneOutcome& outcome,
                                          const planner::RunConfig& config,
                                          const planner::Predictor& predictor,
                                          const planner::Store& store) {
  const std::string& hash = predictor.machine().calibration_hash;
  const planner::Calibration own = planner::rescaled(
      outcome.calibration, predictor.machine().profile, planner::as_probed(config).profile);
  std::vector<planner::CalibrationSample> samples;
  for (const auto& [key, sample] : own) {
    samples.push_back(sample);
    samples.back().profile_hash = hash;
  }
  // The fit started from what was known, so it replaces it.
  planner::reset_calibration(store.calibration_file(hash), hash);
  planner::append_calibration(store.calibration_file(hash), samples);
  if (config.plan || config.policy) return std::nullopt;
  planner::PlanFile file = planner::to_plan_file(outcome.step.prediction);
  file.numerics_id = engine::numerics_id(predictor.job(), predictor.machine());
  return store.save(file);
}

}  // namespace sluice::profiler
