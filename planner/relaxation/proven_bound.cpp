#include "planner/relaxation/proven_bound.hpp"

#include <algorithm>
#include <utility>

namespace sluice::planner {
namespace {

/// Order of a heap whose first part has the least bound.
bool is_later(const RelaxedPart& a, const RelaxedPart& b) {
  return a.relaxed.bound > b.relaxed.bound;
}

}  // namespace

ProvenBound::ProvenBound(const PlanRelaxation& relaxation, std::vector<RelaxedPart> parts)
    : relaxation_(&relaxation), parts_(std::move(parts)) {
  std::erase_if(parts_, [](const RelaxedPart& part) { return !part.relaxed.feasible; });
  std::ranges::make_heap(parts_, is_later);
  if (!parts_.empty()) bound_ = parts_.front().relaxed.bound;
}

Seconds ProvenBound::improve(int most) {
  while (!parts_.empty() && solved_ < most) {
    const auto nodes = relaxation_->split(parts_.front().node, parts_.front().relaxed);
    if (nodes.empty()) break;
    std::ranges::pop_heap(parts_, is_later);
    parts_.pop_back();
    for (const RelaxedNode& node : nodes) {
      RelaxedPlan relaxed = relaxation_->solve(node);
      ++solved_;
      if (!relaxed.feasible) continue;
      // Each part has prices of its own, so its bound may come out a little below the whole's.
      relaxed.bound = std::max(relaxed.bound, bound_);
      parts_.push_back({node, std::move(relaxed)});
      std::ranges::push_heap(parts_, is_later);
    }
    if (!parts_.empty()) bound_ = parts_.front().relaxed.bound;
  }
  return bound_;
}

}  // namespace sluice::planner
