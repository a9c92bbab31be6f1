#include "planner/guided/ring_gain.hpp"

#include <algorithm>
#include <optional>

#include "planner/guided/usual_values.hpp"
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {
namespace {

/// Ratio of the bound to the best step found below which rings are worth a search.
constexpr double kWorthASearch = 0.93;

/// Least bound of all numbers of rounds, with `state_slots` slots in a ring; none where no plan
/// fits.
std::optional<Seconds> least_bound(const PlanRelaxation& relaxation, std::int64_t state_slots) {
  std::optional<Seconds> least;
  for (const std::int64_t rounds : relaxation.rounds()) {
    RelaxedNode node;
    node.rounds = rounds;
    node.state_slots = state_slots;
    const RelaxedPlan relaxed = relaxation.solve(node);
    if (relaxed.feasible) least = std::min(least.value_or(relaxed.bound), relaxed.bound);
  }
  return least;
}

}  // namespace

bool has_rings_beside_others(const Predictor& predictor, const Pins& pins) {
  const PlanRelaxation whole(predictor, pins);
  return whole.has_rings() && !whole.without_rings().has_rings();
}

bool rings_may_gain(const Predictor& predictor, const Pins& pins, std::optional<Seconds> step) {
  const PlanRelaxation whole(predictor, pins);
  const std::optional<Seconds> least = least_bound(whole, usual_state_slots(predictor));
  return least && (!step || *least < kWorthASearch * *step);
}

}  // namespace sluice::planner
