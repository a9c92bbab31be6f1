#include "profiler/fits/boost_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "planner/costs/lane_boost.hpp"
#include "sim/boost.hpp"

namespace sluice::profiler {
namespace {

constexpr std::array kWindows{0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05, 0.06, 0.08, 0.12};
constexpr double kLastingGain = 0.08, kLastingWindow = 0.4;
constexpr double kStep = 0.02, kMostGain = 0.8, kMostSpeed = 1.5;
/// Seconds of the shortest pass that is fitted to; hand-offs dominate shorter tasks.
constexpr double kShortestPass = 250e-6;
constexpr double kLargestMiss = 0.08;
/// Rests of one point lie within one of so many equal parts of 0 to 1; a point has at least so many
/// tasks, and a fit so many points.
constexpr int kParts = 20;
constexpr std::size_t kTasks = 4, kLeastPoints = 12;
/// Standard deviation of rest within groups below which nothing is fitted.
constexpr double kLeastSpread = 0.1;
constexpr double kLeastExplained = 0.2;

/// Median time and rest at the start of a group's tasks of one run, after about the same rest.
struct Point {
  std::size_t group;
  double seconds, rest, share, lasting;
};

/// The rule for fitted parameters with the fixed lasting boost.
sim::RestRule rule_of(double gain, double most, double window) {
  return {gain, most, window, kLastingGain, kLastingWindow};
}

/// Rest of the compute lane at the beginning of a measured stretch, assuming that the time before
/// it was like it.
sim::LaneRest rest_before(const std::vector<ComputeSpan>& run, const sim::RestRule& rule) {
  sim::LaneRest lane(rule);
  Seconds busy{0};
  for (const ComputeSpan& span : run) busy += span.end - span.start;
  if (!run.empty())
    lane.set_rest(0, std::max(0.0, 1 - busy / (run.back().end - run.front().start)));
  return lane;
}

std::vector<Point> points_of(const std::vector<std::vector<ComputeSpan>>& runs, double window) {
  std::vector<Point> points;
  for (const std::vector<ComputeSpan>& run : runs) {
    if (run.empty()) continue;
    std::map<std::pair<std::size_t, int>, std::array<std::vector<double>, 4>> bins;
    sim::LaneRest lane = rest_before(run, rule_of(0, 1, window));
    Seconds before = run.front().start;
    for (const ComputeSpan& span : run) {
      lane.idle_for(std::max(0.0, (span.start - before).count()));
      const double seconds = (span.end - span.start).count();
      const bool settled = (span.start - run.front().start).count() > 4 * window;
      if (span.boosts > 0 && settled && seconds > kShortestPass) {
        auto& [times, rests, shares, lasting] =
            bins[{span.group, static_cast<int>(lane.rest() * kParts)}];
        times.push_back(seconds);
        rests.push_back(lane.rest());
        shares.push_back(span.boosts);
        lasting.push_back(lane.lasting());
      }
      lane.run_for(seconds);
      before = span.end;
    }
    for (const auto& [bin, values] : bins) {
      const auto& [times, rests, shares, lasting] = values;
      if (times.size() < kTasks) continue;
      points.push_back({bin.first, median(times), median(rests), median(shares), median(lasting)});
    }
  }
  std::ranges::stable_sort(points, {}, &Point::group);
  return points;
}

/// Calls `each(first, last)` for the points of every group that has at least two.
template <class Each>
void for_groups(const std::vector<Point>& points, const Each& each) {
  for (std::size_t first = 0; first < points.size();) {
    std::size_t last = first;
    while (last < points.size() && points[last].group == points[first].group) ++last;
    if (last - first > 1) each(first, last);
    first = last;
  }
}

struct Spread {
  std::size_t points = 0, groups = 0;
  double rest = 0;  ///< Standard deviation of rest within groups.
};

Spread spread_of(const std::vector<Point>& points) {
  Spread spread;
  for_groups(points, [&](std::size_t first, std::size_t last) {
    double mean = 0;
    for (std::size_t i = first; i < last; ++i) mean += points[i].rest;
    mean /= static_cast<double>(last - first);
    for (std::size_t i = first; i < last; ++i) spread.rest += std::pow(points[i].rest - mean, 2);
    spread.points += last - first;
    ++spread.groups;
  });
  spread.rest =
      std::sqrt(spread.rest / static_cast<double>(std::max<std::size_t>(1, spread.points)));
  return spread;
}

/// Mean square miss of the points' times with the boost by `rule` taken out.
double miss(const std::vector<Point>& points, const sim::RestRule& rule) {
  double sum = 0;
  std::size_t count = 0;
  std::vector<double> logs;
  for_groups(points, [&](std::size_t first, std::size_t last) {
    logs.clear();
    for (std::size_t i = first; i < last; ++i) {
      sim::LaneRest lane(rule);
      lane.set_rest(points[i].rest, points[i].lasting);
      logs.push_back(std::log(lane.of_share(points[i].share).work_in(points[i].seconds)));
    }
    const double centre = median(logs);
    for (const double value : logs) {
      sum += std::pow(std::min(std::abs(value - centre), kLargestMiss), 2);
    }
    count += last - first;
  });
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

struct Candidate {
  double miss = INFINITY, gain = 0, most = 1, window = 0;
};

Candidate best_of(const std::vector<Point>& points, double window) {
  Candidate best;
  for (double gain = kStep; gain <= kMostGain; gain += kStep) {
    for (double most = 1 + kStep; most <= std::min(kMostSpeed, 1 + gain) + 1e-9; most += kStep) {
      const double at = miss(points, rule_of(gain, most, window));
      if (at < best.miss) best = {at, gain, most, window};
    }
  }
  return best;
}

/// How far a parameter moves from the best before the miss has grown by the share of one group: the
/// points of a group err together.
template <class At>
double deviation(const Candidate& best, std::size_t groups, const At& at) {
  const double limit = best.miss * (1 + 1 / static_cast<double>(groups));
  double away = kStep / 4;
  while (away < 1 && at(away) < limit && at(-away) < limit) away += kStep / 4;
  return away;
}

}  // namespace

std::optional<BoostFit> fit_boost(const std::vector<std::vector<ComputeSpan>>& runs) {
  Candidate best;
  std::vector<Point> points;
  for (const double window : kWindows) {
    const std::vector<Point> at = points_of(runs, window);
    const Spread spread = spread_of(at);
    if (spread.points < kLeastPoints || spread.rest < kLeastSpread) continue;
    const Candidate found = best_of(at, window);
    // Points differ with the window, and so does what there is to explain.
    if (found.miss >= best.miss) continue;
    best = found;
    points = at;
  }
  if (points.empty()) return std::nullopt;
  BoostFit fit;
  fit.boost = {best.gain, best.most, Seconds(best.window), kLastingGain, Seconds(kLastingWindow)};
  fit.residual_without = std::sqrt(miss(points, {0, 1, best.window}));
  fit.residual = std::sqrt(best.miss);
  const std::size_t groups = spread_of(points).groups;
  fit.points = spread_of(points).points;
  if (fit.residual > (1 - kLeastExplained) * fit.residual_without) return std::nullopt;
  fit.gain_deviation = deviation(best, groups, [&](double away) {
    return miss(points, rule_of(std::max(0.0, best.gain + away), best.most, best.window));
  });
  fit.most_deviation = deviation(best, groups, [&](double away) {
    return miss(points, rule_of(best.gain, std::max(1.0, best.most + away), best.window));
  });
  return fit;
}

std::vector<ComputeSpan> compute_spans(const planner::StepGraph& graph,
                                       const planner::MachineProfile& profile,
                                       const MeasuredRun& run,
                                       std::vector<planner::CostKey>& groups) {
  std::vector<ComputeSpan> spans;
  for (std::size_t s = 0; s < run.steps.size(); ++s) {
    const auto& step = run.steps[s];
    for (std::size_t i = 0; i < step.size(); ++i) {
      const planner::StepTask& task = graph.tasks[i];
      if (task.lane != planner::LaneKind::compute) continue;
      const auto known = std::ranges::find(groups, task.cost);
      ComputeSpan span;
      span.start = to_seconds(step[i].start.time_since_epoch());
      span.end = to_seconds(step[i].end.time_since_epoch());
      span.group = static_cast<std::size_t>(known - groups.begin());
      span.boosts = planner::boost_share(profile, task.work, span.end - span.start);
      span.step = s;
      span.task = i;
      if (known == groups.end()) groups.push_back(task.cost);
      spans.push_back(span);
    }
  }
  std::ranges::stable_sort(spans, {}, &ComputeSpan::start);
  return spans;
}

std::vector<std::vector<double>> boost_speeds(const planner::StepGraph& graph,
                                              const planner::MachineProfile& profile,
                                              const MeasuredRun& run,
                                              const planner::CostModel::LaneBoost& boost) {
  std::vector<std::vector<double>> speeds;
  for (const auto& step : run.steps) speeds.emplace_back(step.size(), 1.0);
  std::vector<planner::CostKey> groups;
  const std::vector<ComputeSpan> spans = compute_spans(graph, profile, run, groups);
  sim::LaneRest lane = rest_before(spans, planner::rest_rule(boost));
  std::optional<Seconds> before;
  for (const ComputeSpan& span : spans) {
    if (before) lane.idle_for(std::max(0.0, (span.start - *before).count()));
    const double seconds = (span.end - span.start).count();
    if (span.boosts > 0 && seconds > 0) {
      speeds[span.step][span.task] = lane.of_share(span.boosts).work_in(seconds) / seconds;
    }
    lane.run_for(seconds);
    before = span.end;
  }
  return speeds;
}

void add_boost(planner::Calibration& calibration, const std::string& profile_hash,
               const BoostFit& fit, const std::string& source) {
  const planner::BoostKeys keys;
  const auto add = [&](const planner::CostKey& key, double value, double deviation) {
    planner::CalibrationSample sample;
    sample.profile_hash = profile_hash;
    sample.key = key;
    sample.value = value;
    sample.deviation = deviation;
    sample.count = static_cast<std::int64_t>(fit.points);
    sample.source = source;
    sample.time = planner::utc_now();
    calibration[key] = std::move(sample);
  };
  add(keys.gain, fit.boost.gain, fit.gain_deviation);
  add(keys.most, fit.boost.most, fit.most_deviation);
  add(keys.window, fit.boost.window.count(), 0);
  add(keys.lasting_gain, fit.boost.lasting_gain, 0);
  add(keys.lasting_window, fit.boost.lasting_window.count(), 0);
}

}  // namespace sluice::profiler
