#include "profiler/fits/interference_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "planner/kernels/cholesky.hpp"
#include "profiler/fits/boost_fit.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using planner::CostModel;
using LaneBoost = CostModel::LaneBoost;

constexpr double kSlowest = 0.3;
constexpr Seconds kShortestTask{250e-6};
constexpr double kLeastShareVariance = 1e-3;
/// Deviation of a prior that no task may move.
constexpr double kHeld = 1e-7;

/// Subtracts from every value of a group the group's mean.
void centre_by_group(const std::vector<OverlappedTask>& tasks, std::vector<double>& values) {
  std::map<std::size_t, std::pair<double, double>> sums;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto& [sum, count] = sums[tasks[i].group];
    sum += values[i];
    count += 1;
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto& [sum, count] = sums[tasks[i].group];
    values[i] -= sum / count;
  }
}

/// The linearised problem at slow-downs `q` (1 - factor) of the lanes, with values centred by
/// group.
struct Linearised {
  std::vector<double> residual;
  std::vector<std::vector<double>> slope;  ///< Slopes by lane, then by task.
};

Linearised linearise(const std::vector<OverlappedTask>& tasks, const std::vector<double>& q) {
  Linearised at{std::vector<double>(tasks.size()),
                std::vector<std::vector<double>>(q.size(), std::vector<double>(tasks.size()))};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    double value = std::log(tasks[i].seconds);
    for (std::size_t l = 0; l < q.size(); ++l) {
      const double speed = 1 - q[l] * tasks[i].share[l];
      value += std::log(speed);
      at.slope[l][i] = tasks[i].share[l] / speed;
    }
    at.residual[i] = value;
  }
  centre_by_group(tasks, at.residual);
  for (auto& column : at.slope) centre_by_group(tasks, column);
  return at;
}

double dot(const std::vector<double>& a, const std::vector<double>& b,
           const std::vector<double>& weight) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += weight[i] * a[i] * b[i];
  return sum;
}

/// For each lane whether its share varies too little within groups to tell its effect from the
/// base.
std::vector<bool> hardly_varies(const std::vector<OverlappedTask>& tasks,
                                const std::vector<double>& q) {
  const Linearised at = linearise(tasks, q);
  const std::vector<double> ones(tasks.size(), 1);
  std::vector<bool> hardly;
  for (const std::vector<double>& slope : at.slope) {
    hardly.push_back(dot(slope, slope, ones) / static_cast<double>(tasks.size()) <
                     kLeastShareVariance);
  }
  return hardly;
}

/// Huber's weights: tasks three robust deviations out (a preempted thread) count for less.
std::vector<double> huber_weights(const std::vector<double>& residual, double deviation) {
  std::vector<double> weights(residual.size(), 1);
  for (std::size_t i = 0; i < residual.size(); ++i) {
    const double size = std::abs(residual[i]);
    if (deviation > 0 && size > 1.5 * deviation) weights[i] = 1.5 * deviation / size;
  }
  return weights;
}

}  // namespace

std::vector<FactorEstimate> fit_factors(const std::vector<OverlappedTask>& tasks,
                                        const std::vector<FactorEstimate>& priors) {
  std::vector<FactorEstimate> estimates = priors;
  const std::size_t lanes = priors.size();
  if (tasks.size() < 2 * lanes + 4 || lanes == 0) return estimates;
  std::vector<double> q(lanes);
  for (std::size_t l = 0; l < lanes; ++l) q[l] = 1 - priors[l].factor;
  const std::vector<bool> held = hardly_varies(tasks, q);
  std::vector<double> normal(lanes * lanes);
  double noise = 0;
  constexpr int kIterations = 8;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const Linearised at = linearise(tasks, q);
    noise = std::max(robust_deviation(at.residual), 1e-4);
    const std::vector<double> weights = huber_weights(at.residual, noise);
    std::vector<double> right(lanes);
    for (std::size_t l = 0; l < lanes; ++l) {
      for (std::size_t m = 0; m < lanes; ++m) {
        normal[l * lanes + m] = dot(at.slope[l], at.slope[m], weights);
      }
      const double prior_deviation = held[l] ? kHeld : std::max(priors[l].deviation, 1e-3);
      const double hold = noise * noise / (prior_deviation * prior_deviation);
      right[l] = dot(at.slope[l], at.residual, weights) + hold * (1 - priors[l].factor - q[l]);
      normal[l * lanes + l] += hold;
    }
    const auto factor = planner::Cholesky::of(normal, lanes);
    check(factor.has_value(), "priors hold every factor");
    const std::vector<double> change = factor->solve(right);
    for (std::size_t l = 0; l < lanes; ++l) {
      q[l] = std::clamp(q[l] + change[l], 0.0, 1 - kSlowest);
    }
  }
  for (std::size_t l = 0; l < lanes; ++l) {
    if (held[l]) continue;
    estimates[l] = {1 - q[l], std::min(noise / std::sqrt(normal[l * lanes + l]), 0.5)};
  }
  return estimates;
}

double overlapped_share(const Recorder::Span& span, const std::vector<Recorder::Span>& spans) {
  const auto first =
      std::upper_bound(spans.begin(), spans.end(), span.start,
                       [](Instant at, const Recorder::Span& other) { return at < other.end; });
  Duration overlap{0};
  for (auto other = first; other != spans.end() && other->start < span.end; ++other) {
    overlap += std::min(other->end, span.end) - std::max(other->start, span.start);
  }
  return to_seconds(overlap) / to_seconds(span.end - span.start);
}

std::vector<Recorder::Span> lane_spans(const planner::StepGraph& graph, const MeasuredRun& run,
                                       planner::LaneKind lane) {
  std::vector<Recorder::Span> spans;
  for (const auto& step : run.steps) {
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (graph.tasks[i].lane == lane) spans.push_back(step[i]);
    }
  }
  return spans;
}

namespace {

/// Launch delays are fitted as slow-downs of tasks with one kernel every kDelayUnit seconds.
constexpr double kDelayUnit = 10e-6;
/// Launch delay and its deviation in seconds before any is measured (docs/design/prediction.md).
constexpr double kUsualDelay = 1e-6, kUsualDelayDeviation = 1e-6;

/// Whether copies of lane `from` slow a GPU's kernels by delaying their launch.
bool delays_launches(const planner::MachineProfile& profile, planner::LaneKind on,
                     planner::LaneKind from) {
  return profile.device == planner::DeviceKind::cuda && on == planner::LaneKind::compute &&
         (from == planner::LaneKind::h2d || from == planner::LaneKind::d2h);
}

}  // namespace

std::vector<LaneFactor> fit_interference(const std::vector<TimedRun>& runs,
                                         const std::vector<LaneFactor>& priors,
                                         const planner::MachineProfile& profile,
                                         const std::optional<LaneBoost>& boost) {
  std::vector<LaneFactor> fitted = priors;
  for (const planner::LaneKind on : {planner::LaneKind::compute, planner::LaneKind::cpu}) {
    std::vector<std::size_t> rows;  // priors of this lane
    std::vector<FactorEstimate> lane_priors;
    for (std::size_t p = 0; p < priors.size(); ++p) {
      if (priors[p].on != on) continue;
      rows.push_back(p);
      lane_priors.push_back({priors[p].factor, priors[p].deviation});
    }
    // Indices into `rows` of lanes with a launch delay, which is fitted too.
    std::vector<std::size_t> delaying;
    for (std::size_t l = 0; l < rows.size(); ++l) {
      if (!delays_launches(profile, on, priors[rows[l]].from)) continue;
      delaying.push_back(l);
      lane_priors.push_back({1 - kUsualDelay / kDelayUnit, kUsualDelayDeviation / kDelayUnit});
    }
    std::vector<OverlappedTask> tasks;
    std::map<std::string, std::size_t> groups;
    for (const auto& [graph, run] : runs) {
      std::vector<std::vector<Recorder::Span>> others;
      others.reserve(rows.size());
      for (const std::size_t row : rows) {
        others.push_back(lane_spans(graph, run, priors[row].from));
      }
      std::vector<std::vector<double>> speeds;
      if (boost && on == planner::LaneKind::compute) {
        speeds = boost_speeds(graph, profile, run, *boost);
      }
      for (std::size_t s = 1; s + 1 < run.steps.size(); ++s) {
        for (std::size_t i = 0; i < run.steps[s].size(); ++i) {
          const Recorder::Span& span = run.steps[s][i];
          const Seconds time = to_seconds(span.end - span.start);
          if (graph.tasks[i].lane != on || time < kShortestTask) continue;
          const std::string& key = graph.tasks[i].cost.name();
          const double speed = speeds.empty() ? 1 : speeds[s][i];
          OverlappedTask task{
              groups.emplace(key, groups.size()).first->second, time.count() * speed, {}};
          for (const auto& spans : others) task.share.push_back(overlapped_share(span, spans));
          const double launches =
              static_cast<double>(graph.tasks[i].work.kernels) * kDelayUnit / time.count();
          for (const std::size_t l : delaying) {
            task.share.push_back(std::min(1.0, task.share[l] * launches));
          }
          tasks.push_back(std::move(task));
        }
      }
    }
    const auto estimates = fit_factors(tasks, lane_priors);
    for (std::size_t l = 0; l < rows.size(); ++l) {
      fitted[rows[l]].factor = estimates[l].factor;
      fitted[rows[l]].deviation = estimates[l].deviation;
      fitted[rows[l]].count = static_cast<std::int64_t>(tasks.size());
    }
    for (std::size_t i = 0; i < delaying.size(); ++i) {
      const FactorEstimate& delay = estimates[rows.size() + i];
      fitted[rows[delaying[i]]].launch_delay =
          LaneFactor::Delay{kDelayUnit * (1 - delay.factor), kDelayUnit * delay.deviation};
    }
  }
  return fitted;
}

}  // namespace sluice::profiler
