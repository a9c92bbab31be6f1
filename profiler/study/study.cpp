#include "profiler/study/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/backend.hpp"
#include "engine/ledger.hpp"
#include "planner/catalogue.hpp"
#include "planner/job_calibration.hpp"
#include "planner/parallel_for.hpp"
#include "planner/units_text.hpp"
#include "profiler/boost_fit.hpp"
#include "profiler/calibration_fit.hpp"
#include "profiler/row/driver_memory.hpp"
#include "profiler/study/study_bursts.hpp"
#include "profiler/study/study_costs.hpp"
#include "profiler/study/study_passes.hpp"
#include "profiler/study/study_record.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using planner::CostSwitches;
using planner::Predictor;

class Study {
 public:
  Study(const StudySettings& settings, std::optional<Bytes> hbm_before)
      : settings_(settings),
        costs_(settings.replay.empty() ? StudyCosts::Backend::needed : StudyCosts::Backend::unused),
        bursts_(settings, hbm_before) {}

  /// Refuses what no run can be made of, before anything is measured.
  void examine(const StudyRun& run) { static_cast<void>(costs_.planning_of(run)); }

  void calibrate(const StudyRun& run) {
    const planner::RunPlanning planning = costs_.planning_of(run);
    Predictor predictor = costs_.predictor(planning);
    PlannedRun planned = bursts_.plan(run, planning, predictor);
    taught_.push_back({&run, std::move(predictor), std::move(planned), {}});
    Taught& taught = taught_.back();
    measure(taught);
    // The next one is planned with what this one taught.
    costs_.learn(taught.predictor, taught.bursts);
    say_missed("calibrated on", taught, to_seconds(taught.planned.step.prediction.step));
  }

  /// A burst more of each that has run.
  void calibrate_again() {
    for (Taught& taught : taught_) {
      measure(taught);
      say_missed("calibrated again on", taught, to_seconds(taught.planned.step.prediction.step));
    }
  }

  /// What rest does to the device's clocks, and how lanes slow each other, shows in all teaching
  /// runs together; costs are then learnt again.
  void settle() {
    if (taught_.empty()) return;
    std::vector<planner::StepGraph> graphs;
    std::vector<const MeasuredRun*> bursts;
    std::vector<planner::CostKey> groups;
    std::vector<std::vector<ComputeSpan>> spans;
    for (const Taught& taught : taught_) {
      const Predictor& predictor = taught.predictor;
      for (const MeasuredRun& burst : taught.bursts) {
        graphs.push_back(planner::build_step_graph(predictor.job(), burst.plan, predictor.costs()));
        bursts.push_back(&burst);
        spans.push_back(compute_spans(graphs.back(), predictor.machine().profile, burst, groups));
      }
    }
    std::vector<TimedRun> timed;
    timed.reserve(graphs.size());
    for (std::size_t i = 0; i < graphs.size(); ++i) timed.push_back({graphs[i], *bursts[i]});
    costs_.begin_anew(costs_.lacks_boost() ? boost_of(spans) : std::nullopt, timed);
    for (const Taught& taught : taught_) costs_.learn_costs(taught.predictor, taught.bursts);
  }

  /// Plans and predicts all of `runs`, each search on one core, before the first is promised.
  void promise(const std::vector<const StudyRun*>& runs, engine::Ledger* ledger) {
    std::vector<planner::RunPlanning> plannings;
    plannings.reserve(runs.size());
    for (const StudyRun* run : runs) {
      plannings.push_back(costs_.planning_of(*run));
      plannings.back().search.threads = 1;
    }
    std::vector<std::optional<Promised>> found(runs.size());
    planner::parallel_for(runs.size(), std::thread::hardware_concurrency(),
                          [&](std::size_t i) { found[i] = promised(*runs[i], plannings[i]); });
    for (std::optional<Promised>& each : found) {
      if (ledger != nullptr) append(*each, *ledger);
      settings_.say(fmt::format("predicted {}: {}", each->result.name,
                                planner::format_seconds(each->result.point.predicted)));
      promised_.push_back(std::move(*each));
    }
  }

  /// A burst of each that was promised.
  void run_promised(engine::Ledger* ledger) {
    for (Promised& each : promised_) {
      StudyResult& result = each.result;
      try {
        measure(each);
      } catch (const Error& error) {
        // The others' predictions are worth their runs.
        settings_.say(fmt::format("did not run {}: {}", result.name, error.what()));
        continue;
      }
      if (const auto in_use = bursts_.take_hbm_in_use()) result.hbm_in_use = in_use;
      result.point.measured = median_step(each.planned.step.graph, each.bursts);
      result.steps = 0;
      for (const MeasuredRun& burst : each.bursts)
        result.steps += step_times(each.planned.step.graph, burst).size();
      if (ledger != nullptr) {
        ledger->append(engine::LedgerMeasurement{.prediction = result.ledger_line,
                                                 .steps = static_cast<std::int64_t>(result.steps),
                                                 .median_step = result.point.measured});
      }
      say_missed(bursts_.replays() ? "replayed" : "ran", each, result.point.predicted);
    }
  }

  /// Of those that ran.
  [[nodiscard]] std::vector<StudyResult> results() const {
    std::vector<StudyResult> results;
    for (const Promised& each : promised_) {
      if (!each.bursts.empty()) results.push_back(each.result);
    }
    return results;
  }

 private:
  [[nodiscard]] std::optional<BoostFit> boost_of(
      const std::vector<std::vector<ComputeSpan>>& spans) const {
    const auto fit = fit_boost(spans);
    if (!fit) {
      settings_.say("clocks after rest: not fitted, for rest hardly varies or explains little");
      return std::nullopt;
    }
    settings_.say(fmt::format(
        "clocks after rest: gain {:.2f} +- {:.2f}, most {:.2f} +- {:.2f}, window {}; passes of one "
        "kind differ by {:.1f} % with it, {:.1f} % without",
        fit->boost.gain, fit->gain_deviation, fit->boost.most, fit->most_deviation,
        planner::format_seconds(fit->boost.window), 100 * fit->residual,
        100 * fit->residual_without));
    return fit;
  }

  struct Taught {
    const StudyRun* run;
    Predictor predictor;
    PlannedRun planned;
    std::vector<MeasuredRun> bursts;
  };
  struct Promised : Taught {
    StudyResult result;
  };

  void measure(Taught& each) {
    if (bursts_.replays()) {
      each.bursts = std::move(each.planned.recorded);
    } else {
      bursts_.measure(*each.run, each.predictor, each.planned, each.bursts);
    }
  }

  void say_missed(const char* done, const Taught& each, Seconds predicted) const {
    const Seconds took = median_step(each.planned.step.graph, each.bursts);
    settings_.say(fmt::format("{} {}: {} predicted, {} measured ({:+.1f} %)", done, each.run->name,
                              planner::format_seconds(predicted), planner::format_seconds(took),
                              100 * (predicted / took - 1)));
    explain(each.run->name, each.predictor, each.bursts.back());
  }

  [[nodiscard]] Promised promised(const StudyRun& run, const planner::RunPlanning& planning) const {
    Predictor predictor = costs_.predictor(planning);
    PlannedRun planned = bursts_.plan(run, planning, predictor);
    const planner::Prediction& p = planned.step.prediction;
    StudyResult result;
    result.name = run.name;
    result.plan_hash = p.plan_hash;
    result.point = {
        .job = p.job_hash, .predicted = to_seconds(p.step), .low = p.step_low, .high = p.step_high};
    result.measured_share = p.evidence.measured;
    result.hbm_predicted = p.memory.at(static_cast<std::size_t>(planner::Tier::hbm)).peak;
    for (std::size_t i = 0; i < planner::kCostTerms.size(); ++i) {
      CostSwitches switches;
      switches.*planner::kCostTerms[i].second = false;
      const Predictor other(predictor.job(), predictor.machine(), costs_.calibration(predictor),
                            predictor.residency(), switches);
      result.without[i] = to_seconds(other.predict(p.plan).prediction.step);
    }
    return {{&run, std::move(predictor), std::move(planned), {}}, std::move(result)};
  }

  void append(Promised& each, engine::Ledger& ledger) const {
    const planner::Prediction& p = each.planned.step.prediction;
    each.result.ledger_line = ledger.append(engine::LedgerPrediction{
        .job_hash = p.job_hash,
        .plan_hash = p.plan_hash,
        .cost_model_hash = p.cost_model_hash,
        .numerics_id = engine::numerics_id(each.predictor.job(), each.predictor.machine()),
        .commit = settings_.commit,
        .step = each.result.point.predicted,
        .step_low = each.result.point.low,
        .step_high = each.result.point.high});
  }

  /// Where the time of a run went that was not promised.
  void explain(const std::string& name, const Predictor& predictor, const MeasuredRun& run) const {
    if (!settings_.passes.empty()) {
      append_passes(settings_.passes, name,
                    planner::build_step_graph(predictor.job(), run.plan, predictor.costs()),
                    predictor.machine().profile, run);
    }
    if (settings_.misses == 0) return;
    const planner::MachineProfile& profile = predictor.machine().profile;
    const planner::Calibration calibration =
        planner::job_calibration(predictor.job(), profile, costs_.calibration(predictor));
    const RunResidual missed = residual(predictor.job(), profile, calibration, run);
    for (std::size_t i = 0;
         i < missed.keys.size() && i < static_cast<std::size_t>(settings_.misses); ++i) {
      const KeyResidual& key = missed.keys[i];
      settings_.say(fmt::format("    {:<52}{:>12} predicted{:>12} measured", key.key.name,
                                planner::format_seconds(key.predicted),
                                planner::format_seconds(key.measured)));
    }
  }

  const StudySettings& settings_;
  StudyCosts costs_;
  StudyBursts bursts_;
  std::vector<Taught> taught_;
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
  std::optional<engine::Ledger> ledger;
  if (settings.replay.empty()) ledger.emplace(settings.ledger);
  if (!settings.record.empty()) std::filesystem::create_directories(settings.record);
  const auto hbm_before = device_memory_in_use();  // Pinning makes a context.
  const auto pinned_once = engine::keep_host_memory(settings.pin);
  Study study(settings, hbm_before);
  for (const StudyRun& run : runs) study.examine(run);
  for (const StudyRun& run : runs) {
    if (run.calibrates) study.calibrate(run);
  }
  // Of a record all bursts are there at once.
  const bool replays = !settings.replay.empty();
  const std::int64_t bursts = replays ? 1 : settings.bursts;
  const std::int64_t teach_bursts = replays ? 1 : settings.teach_bursts.value_or(bursts);
  for (std::int64_t i = 1; i < teach_bursts; ++i) study.calibrate_again();
  study.settle();
  std::vector<const StudyRun*> others;
  for (const StudyRun& run : runs) {
    if (run.calibrates) continue;
    if (!settings.replay.empty() && !has_record(settings.replay, run.name)) {
      settings.say("not recorded: " + run.name);
      continue;
    }
    others.push_back(&run);
  }
  study.promise(others, ledger ? &*ledger : nullptr);
  for (std::int64_t i = 0; i < bursts; ++i) study.run_promised(ledger ? &*ledger : nullptr);
  return study.results();
}

}  // namespace sluice::profiler
