#include <limits>
#include <map>

#include "planner/buying/build_search.hpp"

namespace sluice::planner {
namespace {

const std::string& gpu_of(const BuildOffer& offer) { return offer.parts.gpu; }

}  // namespace

std::vector<FoundBuild> builds_to_show(const FoundBuilds& found,
                                       const std::vector<double>& budgets_usd) {
  std::vector<bool> shown(found.builds.size(), false);
  std::map<std::string, std::size_t> cheapest;
  for (std::size_t i = 0; i < found.builds.size(); ++i) {
    shown[i] = found.builds[i].on_front;
    cheapest.try_emplace(gpu_of(found.builds[i].offer), i);
  }
  for (const auto& [gpu, i] : cheapest) shown[i] = true;
  std::vector<double> budgets = budgets_usd;
  if (budgets.empty()) budgets.push_back(std::numeric_limits<double>::infinity());
  for (const double budget : budgets) {
    std::map<std::string, std::size_t> fastest;
    for (std::size_t i = 0; i < found.builds.size(); ++i) {
      const FoundBuild& one = found.builds[i];
      if (one.offer.usd > budget) continue;
      const auto [place, first] = fastest.try_emplace(gpu_of(one.offer), i);
      if (!first && one.step < found.builds[place->second].step) place->second = i;
    }
    for (const auto& [gpu, i] : fastest) shown[i] = true;
  }
  std::vector<FoundBuild> rows;
  for (std::size_t i = 0; i < found.builds.size(); ++i) {
    if (shown[i]) rows.push_back(found.builds[i]);
  }
  return rows;
}

}  // namespace sluice::planner
