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
  double start = 0, end = 0;  ///< Seconds from the first start of the step.
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

}  // namespace

std::string step_timeline(const planner::PredictedStep& step) {
  constexpr std::size_t kMost = 20'000;  // What an SVG or canvas of a page draws at once.
  constexpr double kGapShare = 1.0 / 2000;
  std::vector<std::string> lanes, kinds;
  std::vector<Bar> bars;
  for (std::size_t i = 0; i < step.graph.tasks.size() && i < step.times.size(); ++i) {
    const planner::StepTask& task = step.graph.tasks[i];
    const planner::TaskTimes& time = step.times[i];
    if (task.step != 2 || time.end == time.start) continue;
    bars.push_back({.lane = position(lanes, to_string(task.lane)),
                    .kind = position(kinds, to_string(task.kind)),
                    .unit = task.unit,
                    .start = to_seconds(time.start).count(),
                    .end = to_seconds(time.end).count()});
  }
  if (!bars.empty()) {
    const double first = std::ranges::min(bars, {}, &Bar::start).start;
    for (Bar& bar : bars) bar.start -= first, bar.end -= first;
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
