#include "profiler/fits/calibration_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "planner/costs/cost_model.hpp"
#include "planner/costs/lane_boost.hpp"
#include "planner/costs/lane_interference.hpp"
#include "planner/costs/launch_delay.hpp"
#include "profiler/traces/key_times.hpp"
#include "profiler/traces/simulated_keys.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using planner::CostKey;

/// The calibrated value of a key whose tasks take `ratio` times as long as `task`.
double calibrated_value(const CostKey& key, const sim::Task& task, double ratio) {
  const double alone = seconds_alone(task) * ratio;
  if (!planner::is_rate(key)) return alone;
  const auto& flow = std::get<sim::Flow>(task.work);
  return flow.amount.count() / std::max(alone - task.latency.count(), 1e-9);
}

std::vector<LaneFactor> prior_factors(const planner::ProfileCostModel& model,
                                      std::int64_t threads) {
  std::vector<LaneFactor> priors;
  for (const auto& stated : model.interference(threads)) {
    // A probe's factor is that of a micro-benchmark: a training step's may differ by some
    // hundredths.
    priors.push_back({stated.on, stated.from, stated.factor, 0.05, 0});
  }
  return priors;
}

planner::CalibrationSample sample_of(const std::string& profile_hash, const CostKey& key,
                                     double value, const std::string& source) {
  planner::CalibrationSample sample;
  sample.profile_hash = profile_hash;
  sample.key = key;
  sample.value = value;
  sample.source = source;
  sample.time = planner::utc_now();
  return sample;
}

void take_boost(CalibrationFit& fit, const planner::MachineProfile& profile,
                const std::vector<planner::StepGraph>& graphs, std::span<const MeasuredRun> runs,
                const std::string& source) {
  if (profile.device != planner::DeviceKind::cuda) return;
  if (planner::lane_boost(profile, fit.calibration)) return;
  std::vector<CostKey> groups;
  std::vector<std::vector<ComputeSpan>> spans;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    spans.push_back(compute_spans(graphs[r], profile, runs[r], groups));
  }
  fit.boost = fit_boost(spans);
  if (fit.boost) add_boost(fit.calibration, planner::profile_hash(profile), *fit.boost, source);
}

/// Uncertainty of the time of one task by its clock, besides the spread. A CUPTI span is that of
/// the kernels; an event is stamped some microseconds before the first kernel starts and after the
/// last has ended, with a resolution of half a microsecond (cudaEventElapsedTime's reference).
Seconds known_to(sim::SpanSource source) {
  return Seconds(source == sim::SpanSource::event ? 5e-6 : 0);
}

/// The less certain of two clocks that timed a key.
sim::SpanSource wider(sim::SpanSource a, sim::SpanSource b) {
  return known_to(a) > known_to(b) ? a : b;
}

/// Sets the costs of a GPU's copies from those that ran alone. They are not inferred from the
/// others: where a full memory slows them, their own rate changes nothing, and a fixed point would
/// chase it.
void take_copies_alone(planner::Calibration& calibration, const std::string& profile_hash,
                       const std::vector<MeasuredKeys>& measured, const std::string& source) {
  constexpr std::size_t kEnough = 3;
  std::map<CostKey, std::vector<double>> alone;
  std::map<CostKey, sim::SpanSource> timing;
  for (const MeasuredKeys& keys : measured) {
    for (const auto& [key, times] : keys.alone) {
      if (keys.short_copy.at(key)) continue;
      alone[key].insert(alone[key].end(), times.begin(), times.end());
      timing[key] = keys.source.at(key);
    }
  }
  for (const auto& [key, times] : alone) {
    if (times.size() < kEnough) continue;
    auto sample = sample_of(profile_hash, key, median(times), source);
    sample.count = static_cast<std::int64_t>(times.size());
    sample.timing = timing.at(key);
    sample.deviation = std::hypot(robust_deviation(times), known_to(sample.timing).count());
    calibration[key] = std::move(sample);
  }
}

/// Sets the time that a GPU's queues take between copies, which no span contains.
void take_hand_offs(planner::Calibration& calibration, const std::string& profile_hash,
                    const std::vector<MeasuredKeys>& measured, const std::string& source) {
  constexpr std::size_t kEnough = 20;
  for (const auto& [lane, direction] :
       {std::pair(planner::LaneKind::h2d, planner::CopyDirection::h2d),
        std::pair(planner::LaneKind::d2h, planner::CopyDirection::d2h)}) {
    std::vector<double> gaps;
    for (const MeasuredKeys& keys : measured) {
      const auto found = keys.hand_offs.find(lane);
      if (found == keys.hand_offs.end()) continue;
      gaps.insert(gaps.end(), found->second.begin(), found->second.end());
    }
    if (gaps.size() < kEnough) continue;
    const CostKey key = planner::hand_off_key(direction);
    auto sample = sample_of(profile_hash, key, median(gaps), source);
    sample.count = static_cast<std::int64_t>(gaps.size());
    sample.deviation = robust_deviation(gaps);
    calibration[key] = std::move(sample);
  }
}

/// One step of the fixed point; returns the largest relative change, weighted by share of the step.
double improve(planner::Calibration& calibration, const planner::MachineProfile& profile,
               std::vector<planner::StepGraph>& graphs, const std::vector<MeasuredKeys>& measured,
               const std::string& source) {
  const std::string profile_hash = planner::profile_hash(profile);
  const bool on_gpu = profile.device == planner::DeviceKind::cuda;
  struct Evidence {
    double measured = 0, simulated = 0, step = 0, quickest = INFINITY;
    const sim::Task* task = nullptr;
    std::vector<double> task_means;  ///< Mean times of a task in every step of every run.
    std::optional<sim::SpanSource> source;
  };
  std::map<CostKey, Evidence> evidence;
  for (std::size_t r = 0; r < graphs.size(); ++r) {
    const SimulatedKeys simulated = simulated_keys(graphs[r]);
    for (const auto& [key, steps] : measured[r].steps) {
      const KeyTime& time = simulated.keys.at(key);
      if (time.seconds <= 0 || measured[r].short_copy.at(key)) continue;
      if (on_gpu && is_copy(key.kind())) continue;
      Evidence& known = evidence[key];
      known.measured += median(steps);
      known.simulated += time.seconds;
      known.task = simulated.task.at(key);
      const sim::SpanSource source = measured[r].source.at(key);
      known.source = known.source ? wider(source, *known.source) : source;
      known.step += simulated.step.count();
      known.quickest = std::min(known.quickest, measured[r].quickest.at(key));
      for (const double seconds : steps) {
        known.task_means.push_back(seconds / static_cast<double>(measured[r].tasks.at(key)));
      }
    }
  }
  double change = 0;
  for (const auto& [key, known] : evidence) {
    // Bounded: a first guess may be far off, and a simulated time need not follow its cost.
    const double ratio = std::clamp(known.measured / known.simulated, 0.2, 5.0);
    double value = calibrated_value(key, *known.task, ratio);
    if (on_gpu && key.kind() == planner::CostKind::cpu_update) {
      // Where a full memory slows the optimizer, its rate alone is taken to be little faster than
      // the fastest task that was seen.
      constexpr double kQuicker = 1.1;
      // In seconds, since such a key names a size.
      value = std::max(value, known.quickest / kQuicker);
    }
    planner::CalibrationSample sample = sample_of(profile_hash, key, value, source);
    sample.count = static_cast<std::int64_t>(known.task_means.size());
    sample.timing = *known.source;
    sample.deviation =
        value * std::hypot(robust_deviation(known.task_means), known_to(sample.timing).count()) /
        std::max(median(known.task_means), 1e-12);
    calibration[key] = std::move(sample);
    change = std::max(change, std::abs(ratio - 1) * known.simulated / known.step);
  }
  return change;
}

}  // namespace

std::vector<LaneFactor> learn_interference(planner::Calibration& calibration,
                                           const planner::MachineProfile& profile,
                                           std::span<const TimedRun> runs,
                                           const std::string& source) {
  std::vector<LaneFactor> learnt;
  const std::string profile_hash = planner::profile_hash(profile);
  const auto take = [&](const std::vector<TimedRun>& timed, std::int64_t threads) {
    const planner::ProfileCostModel model(profile, calibration);
    const auto left = [&](const LaneFactor& factor) {
      return planner::stated_by_threads(profile, factor.on, factor.from) != (threads > 0);
    };
    const std::vector<LaneFactor> priors = prior_factors(model, threads);
    if (std::ranges::all_of(priors, left)) return;
    for (const LaneFactor& factor : fit_interference(timed, priors, profile, model.boost())) {
      if (left(factor)) continue;
      learnt.push_back(factor);
      if (factor.count == 0) continue;
      const CostKey key = planner::interference_key(factor.on, factor.from, threads);
      auto sample = sample_of(profile_hash, key, factor.factor, source);
      sample.deviation = factor.deviation;
      sample.count = factor.count;
      calibration[key] = std::move(sample);
      if (!factor.launch_delay) continue;
      const CostKey delay = planner::launch_delay_key(factor.from == planner::LaneKind::h2d
                                                          ? planner::CopyDirection::h2d
                                                          : planner::CopyDirection::d2h);
      sample = sample_of(profile_hash, delay, factor.launch_delay->seconds, source);
      sample.deviation = factor.launch_delay->deviation;
      sample.count = factor.count;
      calibration[delay] = std::move(sample);
    }
  };
  std::map<std::int64_t, std::vector<TimedRun>> by_threads;
  for (const TimedRun& run : runs) by_threads[run.run.plan.threads].push_back(run);
  take({runs.begin(), runs.end()}, 0);
  for (const auto& [threads, timed] : by_threads) take(timed, threads);
  return learnt;
}

CalibrationFit fit_calibration(const planner::Job& job, const planner::MachineProfile& profile,
                               const planner::Calibration& start, std::span<const MeasuredRun> runs,
                               const CalibrationOptions& options) {
  CalibrationFit fit;
  fit.calibration = start;
  const std::string profile_hash = planner::profile_hash(profile);
  auto graphs = build_graphs(job, profile, fit.calibration, runs);
  std::vector<MeasuredKeys> measured;
  measured.reserve(runs.size());
  for (std::size_t r = 0; r < runs.size(); ++r) {
    measured.push_back(measured_keys(graphs[r], profile, runs[r]));
  }

  if (options.boost) take_boost(fit, profile, graphs, runs, options.source);
  if (options.interference) {
    std::vector<TimedRun> timed;
    timed.reserve(runs.size());
    for (std::size_t r = 0; r < runs.size(); ++r) timed.push_back({graphs[r], runs[r]});
    fit.interference = learn_interference(fit.calibration, profile, timed, options.source);
  }
  if (profile.device == planner::DeviceKind::cuda) {
    take_copies_alone(fit.calibration, profile_hash, measured, options.source);
    take_hand_offs(fit.calibration, profile_hash, measured, options.source);
  }
  constexpr double kSettled = 1e-4;  // Share of a step.
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    graphs = build_graphs(job, profile, fit.calibration, runs);
    if (improve(fit.calibration, profile, graphs, measured, options.source) < kSettled) break;
  }
  graphs = build_graphs(job, profile, fit.calibration, runs);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    fit.runs.push_back(residual(graphs[r], runs[r], measured[r]));
  }
  return fit;
}

}  // namespace sluice::profiler
