#include "profiler/study/study.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/backend.hpp"
#include "engine/ledger.hpp"
#include "planner/catalogue.hpp"
#include "planner/units_text.hpp"
#include "profiler/calibration_fit.hpp"
#include "profiler/measuring_session.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using planner::CostSwitches;
using planner::PredictedStep;
using planner::Predictor;

constexpr std::array<bool CostSwitches::*, kStudyTerms.size()> kSwitches = {
    &CostSwitches::contention, &CostSwitches::dispatch, &CostSwitches::latency,
    &CostSwitches::interference};

class Study {
 public:
  explicit Study(const StudySettings& settings) : settings_(settings) {}

  /// Refuses what no run can be made of, before anything is measured.
  void examine(const StudyRun& run) { static_cast<void>(planning_of(run)); }

  void calibrate(const StudyRun& run) {
    const planner::RunPlanning planning = planning_of(run);
    const Predictor predictor = with_calibration(planning);
    const PredictedStep step = planned(run, planning, predictor);
    MeasuringSession session(predictor, step, settings_.steps);
    std::vector<MeasuredRun> bursts;
    for (std::int64_t i = 0; i < settings_.bursts; ++i)
      bursts.push_back(session.run(settings_.steps));
    const auto& profile = predictor.machine().profile;
    const Seconds before = to_seconds(step.prediction.step);
    calibration_ = fit_calibration(predictor.job(), profile, calibration_, bursts).calibration;
    const Seconds measured = median_step(step.graph, bursts);
    settings_.say(fmt::format("calibrated on {}: {} predicted, {} measured ({:+.1f} %)", run.name,
                              planner::format_seconds(before), planner::format_seconds(measured),
                              100 * (before / measured - 1)));
  }

  void promise(const StudyRun& run, engine::Ledger& ledger) {
    const planner::RunPlanning planning = planning_of(run);
    Predictor predictor = with_calibration(planning);
    PredictedStep step = planned(run, planning, predictor);
    const planner::Prediction& p = step.prediction;
    StudyResult result;
    result.name = run.name;
    result.plan_hash = p.plan_hash;
    result.point = {
        .job = p.job_hash, .predicted = to_seconds(p.step), .low = p.step_low, .high = p.step_high};
    result.measured_share = p.evidence.measured;
    for (std::size_t i = 0; i < kSwitches.size(); ++i) {
      CostSwitches switches;
      switches.*kSwitches[i] = false;
      const Predictor other(predictor.job(), predictor.machine(), calibration_,
                            predictor.residency(), switches);
      result.without[i] = to_seconds(other.predict(p.plan).prediction.step);
    }
    result.ledger_line = ledger.append(engine::LedgerPrediction{
        .job_hash = p.job_hash,
        .plan_hash = p.plan_hash,
        .cost_model_hash = p.cost_model_hash,
        .numerics_id = engine::numerics_id(predictor.job(), predictor.machine()),
        .commit = settings_.commit,
        .step = result.point.predicted,
        .step_low = result.point.low,
        .step_high = result.point.high});
    settings_.say(
        fmt::format("predicted {}: {}", run.name, planner::format_seconds(result.point.predicted)));
    promised_.push_back({std::move(predictor), std::move(step), std::move(result)});
  }

  std::vector<StudyResult> run_promised(engine::Ledger& ledger) {
    std::vector<StudyResult> results;
    for (Promised& each : promised_) {
      std::vector<MeasuredRun> bursts;
      {
        MeasuringSession session(each.predictor, each.step, settings_.steps);
        for (std::int64_t i = 0; i < settings_.bursts; ++i) {
          bursts.push_back(session.run(settings_.steps));
        }
      }
      StudyResult& result = each.result;
      result.point.measured = median_step(each.step.graph, bursts);
      for (const MeasuredRun& burst : bursts)
        result.steps += step_times(each.step.graph, burst).size();
      ledger.append(engine::LedgerMeasurement{.prediction = result.ledger_line,
                                              .steps = static_cast<std::int64_t>(result.steps),
                                              .median_step = result.point.measured});
      settings_.say(fmt::format("ran {}: {} predicted, {} measured ({:+.1f} %)", result.name,
                                planner::format_seconds(result.point.predicted),
                                planner::format_seconds(result.point.measured),
                                100 * result.point.error()));
      results.push_back(result);
    }
    return results;
  }

 private:
  struct Promised {
    Predictor predictor;
    PredictedStep step;
    StudyResult result;
  };

  planner::RunPlanning planning_of(const StudyRun& run) {
    planner::RunPlanning planning = [&run] {
      try {
        return planner::planning_of(run.config);
      } catch (const BadRequest& error) {
        throw BadRequest(run.name + ": " + error.what());
      }
    }();
    engine::require_backend(planning.predictor.machine().profile.device);
    const std::string& profile = planning.predictor.machine().calibration_hash;
    if (!started_) {
      calibration_ = planning.calibration;
      profile_ = profile;
      started_ = true;
    } else if (profile != profile_) {
      throw BadRequest(run.name +
                       ": machine: all runs of a study are of one profile; limit it by "
                       "--hbm, --host and --threads");
    }
    return planning;
  }

  [[nodiscard]] Predictor with_calibration(const planner::RunPlanning& planning) const {
    const Predictor& p = planning.predictor;
    return {p.job(), p.machine(), calibration_, p.residency()};
  }

  static PredictedStep planned(const StudyRun& run, const planner::RunPlanning& planning,
                               const Predictor& predictor) {
    auto found = planner::search(predictor, planning.search);
    if (const auto* none = std::get_if<planner::Infeasible>(&found)) {
      throw Error(ExitCode::does_not_fit, run.name + ": " + to_string(none->tier) +
                                              " is short by " +
                                              planner::format_bytes(none->short_by));
    }
    return std::move(std::get<planner::Planned>(found).best);
  }

  const StudySettings& settings_;
  planner::Calibration calibration_;
  std::string profile_;
  bool started_ = false;
  std::vector<Promised> promised_;
};

}  // namespace

std::vector<StudyResult> run_study(const std::vector<StudyRun>& runs,
                                   const StudySettings& settings) {
  const bool here = std::any_of(runs.begin(), runs.end(),
                                [](const StudyRun& run) { return run.config.machine == "here"; });
  const planner::Store store = planner::Store::of_user();
  if (here && !store.newest_profile(planner::DeviceKind::host)) {
    // What is learnt is keyed by the profile, and an estimate made anew would be another one.
    store.save(planner::here_estimate());
  }
  engine::Ledger ledger(settings.ledger);
  Study study(settings);
  for (const StudyRun& run : runs) study.examine(run);
  for (const StudyRun& run : runs) {
    if (run.calibrates) study.calibrate(run);
  }
  for (const StudyRun& run : runs) {
    if (!run.calibrates) study.promise(run, ledger);
  }
  return study.run_promised(ledger);
}

}  // namespace sluice::profiler
