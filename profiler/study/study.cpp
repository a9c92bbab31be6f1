#include "profiler/study/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <thread>
#include <utility>

#include "engine/backends/backend.hpp"
#include "engine/run_folders/ledger.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/layout/laid_out.hpp"
#include "profiler/fits/boost_fit.hpp"
#include "profiler/fits/calibration_fit.hpp"
#include "profiler/sensors/driver_memory.hpp"
#include "profiler/study/recording.hpp"
#include "profiler/study/study_bursts.hpp"
#include "profiler/study/study_costs.hpp"
#include "profiler/study/study_misses.hpp"
#include "profiler/study/study_schedule.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

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

  /// Refuses a run that is not valid, before anything is measured.
  void examine(const StudyRun& run) { static_cast<void>(costs_.resolve(run)); }

  void calibrate(const StudyRun& run) {
    planner::Request request = costs_.known(costs_.resolve(run));
    PlannedRun planned = bursts_.plan(run, request);
    calibrating_.push_back({&run, std::move(request.predictor), std::move(planned), {}});
    StudiedRun& calibrating = calibrating_.back();
    bursts_.measure(calibrating, settings_.parts - 1);
    // The next run is planned with the calibration by this one.
    costs_.learn(calibrating.predictor, calibrating.bursts);
    say_calibrated("calibrated on", calibrating);
  }

  /// Runs all bursts of each calibrating run but the first `left_out`, alternating. `parts_to_come`
  /// is the number of parts of the study after the one that follows.
  void calibrate_again(std::int64_t left_out, std::int64_t parts_to_come) {
    for (const std::size_t i : schedule(calibrating_, left_out)) {
      if (bursts_.measure(calibrating_[i], parts_to_come))
        say_calibrated("calibrated again on", calibrating_[i]);
    }
  }

  /// Fits boost and interference to all calibrating runs together, where they show; then fits costs
  /// again.
  void settle() {
    if (calibrating_.empty()) return;
    std::vector<planner::StepGraph> graphs;
    std::vector<const MeasuredRun*> bursts;
    std::vector<planner::CostKey> groups;
    std::vector<std::vector<ComputeSpan>> spans;
    for (const StudiedRun& calibrating : calibrating_) {
      const Predictor& predictor = calibrating.predictor;
      for (const MeasuredRun& burst : calibrating.bursts) {
        graphs.push_back(planner::build_step_graph(predictor.job(), burst.plan, predictor.costs()));
        bursts.push_back(&burst);
        spans.push_back(compute_spans(graphs.back(), predictor.machine().profile, burst, groups));
      }
    }
    std::vector<TimedRun> timed;
    timed.reserve(graphs.size());
    for (std::size_t i = 0; i < graphs.size(); ++i) timed.push_back({graphs[i], *bursts[i]});
    costs_.begin_anew(costs_.lacks_boost() ? boost_of(spans) : std::nullopt, timed);
    for (const StudiedRun& calibrating : calibrating_)
      costs_.learn_costs(calibrating.predictor, calibrating.bursts);
  }

  /// Plans and predicts all of `runs`, each search on one core, before the first prediction is
  /// written to the ledger.
  void promise(std::span<const StudyRun* const> runs, engine::Ledger* ledger) {
    part_ = promised_.size();
    std::vector<planner::Request> requests;
    requests.reserve(runs.size());
    for (const StudyRun* run : runs) {
      requests.push_back(costs_.resolve(*run));
      requests.back().search.threads = 1;
    }
    std::vector<std::optional<Promised>> found(runs.size());
    planner::parallel_for(runs.size(), std::thread::hardware_concurrency(),
                          [&](std::size_t i) { found[i] = promised(*runs[i], requests[i]); });
    for (std::optional<Promised>& each : found) {
      if (ledger != nullptr) append(*each, *ledger);
      settings_.say(fmt::format("predicted {}: {}", each->result.name,
                                planner::format_seconds(each->result.point.predicted)));
      promised_.push_back(std::move(*each));
    }
  }

  /// Runs all bursts of the runs that were predicted last, alternating.
  void run_promised(engine::Ledger* ledger) {
    const auto runs = std::span(promised_).subspan(part_);
    for (const std::size_t i : schedule(runs, 0)) run_burst(runs[i], ledger);
  }

  /// Results of the runs that ran.
  [[nodiscard]] std::vector<StudyResult> results() const {
    std::vector<StudyResult> results;
    for (const Promised& each : promised_) {
      if (!each.bursts.empty()) results.push_back(each.result);
    }
    return results;
  }

 private:
  struct Promised : StudiedRun {
    StudyResult result;
  };

  /// Number of bursts of a run. A recording yields all bursts of a run at once, except those that
  /// calibrate later parts.
  [[nodiscard]] std::int64_t bursts_of(const StudyRun& run) const {
    if (bursts_.replays()) return 1;
    const std::int64_t usual =
        run.calibrates ? settings_.calibration_bursts.value_or(settings_.bursts) : settings_.bursts;
    return run.bursts.value_or(usual);
  }

  template <typename Runs>
  [[nodiscard]] std::vector<std::size_t> schedule(const Runs& runs, std::int64_t left_out) const {
    std::vector<std::int64_t> bursts;
    bursts.reserve(runs.size());
    for (const StudiedRun& each : runs) bursts.push_back(bursts_of(*each.run) - left_out);
    return burst_schedule(bursts);
  }

  void run_burst(Promised& each, engine::Ledger* ledger) {
    StudyResult& result = each.result;
    try {
      bursts_.measure(each);
    } catch (const Error& error) {
      // One failed run must not lose the others' predictions.
      settings_.say(fmt::format("did not run {}: {}", result.name, error.what()));
      return;
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
    say_missed(settings_, costs_, bursts_.replays() ? "replayed" : "ran", each,
               result.point.predicted);
    settings_.measured(results());
  }

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

  void say_calibrated(const char* done, const StudiedRun& run) const {
    say_missed(settings_, costs_, done, run, to_seconds(run.planned.step.prediction.step));
  }

  [[nodiscard]] Promised promised(const StudyRun& run, const planner::Request& resolved) const {
    planner::Request request = costs_.known(resolved);
    PlannedRun planned = bursts_.plan(run, request);
    Predictor& predictor = request.predictor;
    const planner::Prediction& p = planned.step.prediction;
    StudyResult result;
    result.name = run.name;
    result.plan_hash = p.plan_hash;
    result.point = {
        .job = p.job_hash, .predicted = to_seconds(p.step), .low = p.step_low, .high = p.step_high};
    result.point.errors = p.errors;
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
        .step_high = each.result.point.high,
        .knowledge = to_string(p.knowledge),
        .machine = p.machine,
        .job = p.job});
  }

  const StudySettings& settings_;
  StudyCosts costs_;
  StudyBursts bursts_;
  std::vector<StudiedRun> calibrating_;
  std::vector<Promised> promised_;
  std::size_t part_ = 0;  ///< Index in promised_ of the first run that was predicted last.
};

}  // namespace

std::vector<StudyResult> run_study(const std::vector<StudyRun>& runs,
                                   const StudySettings& settings) {
  const bool here = std::any_of(runs.begin(), runs.end(),
                                [](const StudyRun& run) { return run.config.machine == "here"; });
  const planner::Store store = planner::Store::of_user();
  if (here && !store.newest_profile(planner::DeviceKind::host)) {
    // Calibration is keyed by the profile, and a new estimate would be another profile.
    store.save(planner::here_estimate());
  }
  std::optional<engine::Ledger> ledger;
  if (settings.replay.empty()) ledger.emplace(settings.ledger);
  if (!settings.recording.empty()) std::filesystem::create_directories(settings.recording);
  const auto hbm_before = device_memory_in_use();  // Pinning makes a context.
  const auto pinned_once = engine::keep_host_memory(settings.pin);
  Study study(settings, hbm_before);
  for (const StudyRun& run : runs) study.examine(run);
  for (const StudyRun& run : runs) {
    if (run.calibrates) study.calibrate(run);
  }
  std::vector<const StudyRun*> others;
  for (const StudyRun& run : runs) {
    if (run.calibrates) continue;
    if (!settings.replay.empty() && !has_recording(settings.replay, run.name)) {
      settings.say("not recorded: " + run.name);
      continue;
    }
    others.push_back(&run);
  }
  study.calibrate_again(1, settings.parts - 1);
  engine::Ledger* written = ledger ? &*ledger : nullptr;
  for (std::int64_t part = 0; part < settings.parts; ++part) {
    if (part > 0) study.calibrate_again(0, settings.parts - part - 1);
    study.settle();
    const std::int64_t begin = std::ssize(others) * part / settings.parts;
    const std::int64_t end = std::ssize(others) * (part + 1) / settings.parts;
    study.promise(std::span(others).subspan(static_cast<std::size_t>(begin),
                                            static_cast<std::size_t>(end - begin)),
                  written);
    study.run_promised(written);
  }
  return study.results();
}

}  // namespace sluice::profiler
