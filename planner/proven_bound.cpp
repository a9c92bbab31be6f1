#include "planner/proven_bound.hpp"

#include <algorithm>
#include <utility>

namespace sluice::planner {
namespace {

/// Of a heap whose first is the least.
bool is_later(const RelaxedPart& a, const RelaxedPart& b) {
  return a.relaxed.bound > b.relaxed.bound;
}

}  // namespace

Seconds proven_bound(const PlanRelaxation& relaxation, std::vector<RelaxedPart> parts, int most) {
  std::erase_if(parts, [](const RelaxedPart& part) { return !part.relaxed.feasible; });
  std::make_heap(parts.begin(), parts.end(), is_later);
  Seconds bound{0};
  for (int solved = 0; !parts.empty() && solved < most;) {
    bound = parts.front().relaxed.bound;
    const auto nodes = relaxation.split(parts.front().node, parts.front().relaxed);
    if (nodes.empty()) return bound;
    std::pop_heap(parts.begin(), parts.end(), is_later);
    parts.pop_back();
    for (const RelaxedNode& node : nodes) {
      RelaxedPlan relaxed = relaxation.solve(node);
      ++solved;
      if (!relaxed.feasible) continue;
      // Weak duality is checked at other prices for each: a part's may come out a little less.
      relaxed.bound = std::max(relaxed.bound, bound);
      parts.push_back({node, std::move(relaxed)});
      std::push_heap(parts.begin(), parts.end(), is_later);
    }
  }
  return parts.empty() ? bound : parts.front().relaxed.bound;
}

}  // namespace sluice::planner
