#include "profiler/study/study_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sluice::profiler {
namespace {

void count_pair(const StudyPoint& a, const StudyPoint& b, double share, PairOrder& order) {
  const Seconds less = std::min(a.measured, b.measured);
  const Seconds more = std::max(a.measured, b.measured);
  if (more / less - 1 <= share) return;
  ++order.pairs;
  if ((a.measured < b.measured) == (a.predicted < b.predicted)) ++order.right;
}

void count_ratio(const StudyPoint& a, const StudyPoint& b, PairOrder& inside) {
  if (a.errors.causes.empty() || b.errors.causes.empty()) return;
  const planner::RatioInterval predicted = planner::ratio_interval(a.errors, b.errors);
  const double measured = a.measured / b.measured;
  ++inside.pairs;
  if (predicted.low <= measured && measured <= predicted.high) ++inside.right;
}

}  // namespace

StudyStatistics study_statistics(std::span<const StudyPoint> points) {
  StudyStatistics result;
  result.points = points.size();
  if (points.empty()) return result;
  std::vector<double> sizes;
  std::size_t inside = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const StudyPoint& point = points[i];
    const double error = point.error();
    sizes.push_back(std::abs(error));
    result.bias += error;
    if (std::abs(error) > std::abs(result.worst_error)) result.worst_error = error;
    if (point.low <= point.measured && point.measured <= point.high) ++inside;
    for (std::size_t j = 0; j < i; ++j) {
      if (points[j].job != point.job) continue;
      count_pair(points[j], point, 0.03, result.over_3);
      count_pair(points[j], point, 0.08, result.over_8);
      count_ratio(points[j], point, result.in_ratio);
    }
  }
  const auto count = static_cast<double>(points.size());
  result.bias /= count;
  result.inside_interval = static_cast<double>(inside) / count;
  for (const double size : sizes) result.mean_error += size / count;
  std::sort(sizes.begin(), sizes.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * count));
  result.percentile_95 = sizes[rank - 1];
  return result;
}

}  // namespace sluice::profiler
