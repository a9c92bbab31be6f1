#include "profiler/study/study_schedule.hpp"

#include <algorithm>
#include <utility>

namespace sluice::profiler {

std::vector<std::size_t> burst_schedule(const std::vector<std::int64_t>& bursts) {
  // Run i gets the moment at its share of each of its equal parts of the time, 0 to 1.
  std::vector<std::pair<double, std::size_t>> moments;
  for (std::size_t i = 0; i < bursts.size(); ++i) {
    const double within = (static_cast<double>(i) + 0.5) / static_cast<double>(bursts.size());
    for (std::int64_t k = 0; k < bursts[i]; ++k) {
      moments.emplace_back((static_cast<double>(k) + within) / static_cast<double>(bursts[i]), i);
    }
  }
  std::sort(moments.begin(), moments.end());
  std::vector<std::size_t> runs;
  runs.reserve(moments.size());
  for (const auto& [moment, run] : moments) runs.push_back(run);
  return runs;
}

}  // namespace sluice::profiler
