#include "cli/serving/step_timeline.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/json_tree.hpp"

namespace sluice::cli {
namespace {

struct Bar {
  std::size_t lane = 0, kind = 0;
  int unit = 0;
  double start = 0, end = 0;  ///< Seconds from the beginning of the step.
};

/// Position of a name in a list, to which it is added where it is new.
std::size_t position(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

/// Joins neighbours of one lane and kind that are less than `gap` seconds apart; `bars` are sorted
/// by lane and start.
std::vector<Bar> joined(const std::vector<Bar>& bars, double gap) {
  std::vector<Bar> fewer;
  for (const Bar& bar : bars) {
    if (!fewer.empty() && fewer.back().lane == bar.lane && fewer.back().kind == bar.kind &&
        bar.start - fewer.back().end < gap) {
      fewer.back().end = std::max(fewer.back().end, bar.end);
    } else {
      fewer.push_back(bar);
    }
  }
  return fewer;
}

/// Start and end of the steady step: the ends of the two tasks that delimit the graph's period; of
/// all tasks where it has none.
std::pair<Instant, Instant> shown_window(const planner::PredictedStep& step) {
  if (const auto& period = step.graph.graph.period()) {
    const auto end_of = [&step](sim::TaskId task) { return step.times.at(sim::index(task)).end; };
    return {end_of(period->first), end_of(period->last)};
  }
  std::pair<Instant, Instant> window{};
  for (const planner::TaskTimes& time : step.times)
    window.second = std::max(window.second, time.end);
  return window;
}

}  // namespace

std::string step_timeline(const planner::PredictedStep& step) {
  constexpr std::size_t kMost = 20'000;  // What an SVG or canvas of a page draws at once.
  constexpr double kGapShare = 1.0 / 2000;
  std::vector<std::string> lanes, kinds;
  std::vector<Bar> bars;
  const auto [from, to] = shown_window(step);
  for (std::size_t i = 0; i < step.graph.tasks.size() && i < step.times.size(); ++i) {
    const planner::StepTask& task = step.graph.tasks[i];
    const double start = std::max(0.0, to_seconds(step.times[i].start - from).count());
    const double end = to_seconds(std::min(step.times[i].end, to) - from).count();
    if (end <= start) continue;
    bars.push_back({.lane = position(lanes, to_string(task.lane)),
                    .kind = position(kinds, to_string(task.kind)),
                    .unit = task.unit,
                    .start = start,
                    .end = end});
  }
  std::ranges::sort(bars, {}, [](const Bar& bar) { return std::pair(bar.lane, bar.start); });
  const double length = to_seconds(step.prediction.step).count();
  const bool many = bars.size() > kMost;
  if (many) bars = joined(bars, length * kGapShare);
  sim::Json json{{"step_s", length}, {"lanes", lanes}, {"kinds", kinds}, {"joined", many}};
  for (const char* name : {"lane", "kind", "unit", "start_s", "end_s"})
    json[name] = sim::Json::array();
  for (const Bar& bar : bars) {
    json["lane"].push_back(bar.lane);
    json["kind"].push_back(bar.kind);
    json["unit"].push_back(bar.unit);
    json["start_s"].push_back(bar.start);
    json["end_s"].push_back(bar.end);
  }
  return json.dump() + "\n";
}

}  // namespace sluice::cli
