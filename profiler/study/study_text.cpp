#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "profiler/study/study.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

using nlohmann::ordered_json;
using planner::format_seconds;

std::vector<StudyPoint> points_of(const std::vector<StudyResult>& results) {
  std::vector<StudyPoint> points;
  points.reserve(results.size());
  for (const StudyResult& result : results) points.push_back(result.point);
  return points;
}

std::vector<StudyPoint> points_without(const std::vector<StudyResult>& results, std::size_t term) {
  std::vector<StudyPoint> points = points_of(results);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].predicted = results[i].without[term];
    points[i].errors = {};  // Those are of the whole model.
  }
  return points;
}

/// A line such as "HBM in use over predicted: 0.9991 to 1.0006", over runs whose memory the driver
/// reported.
std::string memory_line(const std::vector<StudyResult>& results) {
  double least = 0, most = 0;
  for (const StudyResult& r : results) {
    if (!r.hbm_in_use || r.hbm_predicted.count() == 0) continue;
    const double ratio =
        static_cast<double>(r.hbm_in_use->count()) / static_cast<double>(r.hbm_predicted.count());
    least = least == 0 ? ratio : std::min(least, ratio);
    most = std::max(most, ratio);
  }
  if (most == 0) return "";
  return fmt::format("\nHBM in use over predicted: {:.4f} to {:.4f}\n", least, most);
}

std::string statistics_line(const std::string& name, const StudyStatistics& s) {
  return fmt::format(
      "{:<24}{:>8.2f} %{:>8.2f} %{:>+8.2f} %{:>+8.2f} %{:>8.0f} %{:>8}/{}{:>8}/{}{:>8}/{}\n", name,
      100 * s.mean_error, 100 * s.percentile_95, 100 * s.worst_error, 100 * s.bias,
      100 * s.inside_interval, s.over_3.right, s.over_3.pairs, s.over_8.right, s.over_8.pairs,
      s.in_ratio.right, s.in_ratio.pairs);
}

ordered_json to_json(const PairOrder& order) {
  return {{"pairs", order.pairs}, {"right", order.right}};
}

ordered_json to_json(const StudyStatistics& s) {
  return {{"runs", s.points},
          {"mean_absolute_error", s.mean_error},
          {"percentile_95", s.percentile_95},
          {"worst_error", s.worst_error},
          {"bias", s.bias},
          {"inside_interval", s.inside_interval},
          {"pairs_over_3_percent", to_json(s.over_3)},
          {"pairs_over_8_percent", to_json(s.over_8)},
          {"pairs_in_ratio_interval", to_json(s.in_ratio)}};
}

}  // namespace

std::string study_text(const std::vector<StudyResult>& results) {
  std::string text = fmt::format("{:<24}{:>12}{:>12}{:>9}{:>10}{:>7}  {}\n", "never run before",
                                 "predicted", "measured", "error", "measured", "steps", "plan");
  for (const StudyResult& r : results) {
    text += fmt::format("{:<24}{:>12}{:>12}{:>+8.2f} %{:>8.0f} %{:>7}  {}\n", r.name,
                        format_seconds(r.point.predicted), format_seconds(r.point.measured),
                        100 * r.point.error(), 100 * r.measured_share, r.steps,
                        r.plan_hash.substr(0, 8));
  }
  text +=
      fmt::format("\n{:<24}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "", "mean error",
                  "95 %", "worst", "bias", "in 90 %", "order 3 %", "order 8 %", "ratios");
  text += statistics_line("whole model", study_statistics(points_of(results)));
  for (std::size_t i = 0; i < planner::kCostTerms.size(); ++i) {
    text += statistics_line(std::string("without ") + planner::kCostTerms[i].first,
                            study_statistics(points_without(results, i)));
  }
  return text + memory_line(results);
}

std::string study_json(const std::vector<StudyResult>& results, const StudySettings& settings) {
  ordered_json json = {{"schema", "sluice/study/1"},
                       {"commit", settings.commit},
                       {"statistics", to_json(study_statistics(points_of(results)))}};
  for (std::size_t i = 0; i < planner::kCostTerms.size(); ++i) {
    json["without"][planner::kCostTerms[i].first] =
        to_json(study_statistics(points_without(results, i)));
  }
  for (const StudyResult& r : results) {
    ordered_json without;
    for (std::size_t i = 0; i < planner::kCostTerms.size(); ++i) {
      without[planner::kCostTerms[i].first] = r.without[i].count();
    }
    json["runs"].push_back({{"name", r.name},
                            {"job_hash", r.point.job},
                            {"plan_hash", r.plan_hash},
                            {"ledger_line", r.ledger_line},
                            {"predicted_s", r.point.predicted.count()},
                            {"predicted_s_low", r.point.low.count()},
                            {"predicted_s_high", r.point.high.count()},
                            {"measured_s", r.point.measured.count()},
                            {"steps", r.steps},
                            {"measured_share", r.measured_share},
                            {"hbm_predicted_bytes", r.hbm_predicted.count()},
                            {"predicted_s_without", without}});
    if (r.hbm_in_use) json["runs"].back()["hbm_in_use_bytes"] = r.hbm_in_use->count();
  }
  return json.dump(1) + "\n";
}

}  // namespace sluice::profiler
