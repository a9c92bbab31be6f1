#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/relaxation/plan_relaxation.hpp"
#include "planner/relaxation/program.hpp"

namespace sluice::planner {
namespace {

/// Scales prices about as given until weak duality holds exactly: the priced sum at the cheapest
/// choices is then below any plan's time. Constraints of the whole step and T as the sum of its
/// parts (price `together`) share a price of one. Constraints of each part share the sum's price,
/// as often as a step has the part; those of the update span count in both its parts.
void make_times_sound(std::array<double, kLimits>& prices, double together, std::int64_t rounds) {
  std::array<double, kTimedParts> shares{};
  for (std::size_t i = 0; i < kTimeLimits; ++i) {
    shares[part_index(part_of(static_cast<Limit>(i)))] += prices[i];
  }
  const double all = shares[part_index(StepPart::whole)] + together;
  if (!(all > 0)) {
    prices.fill(0);
    prices[0] = 1;
    return;
  }
  // A step has each part of the update span once; a single round has no last backward pass.
  const double of_span =
      rounds > 1 ? std::min(shares[part_index(StepPart::update_span)], together) : 0;
  for (std::size_t i = 0; i < kTimeLimits; ++i) {
    const double share = shares[part_index(StepPart::update_span)];
    if (part_of(static_cast<Limit>(i)) != StepPart::update_span) continue;
    prices[i] *= share > 0 ? of_span / share / all : 0;
  }
  for (std::size_t part = 0; part < kParts; ++part) {
    const auto step_part = static_cast<StepPart>(part);
    const double due = (together * times_in_step(step_part, rounds) -
                        (is_in_update_span(step_part) ? of_span : 0)) /
                       all;
    for (std::size_t i = 0; i < kTimeLimits; ++i) {
      const auto limit = static_cast<Limit>(i);
      if (part_index(part_of(limit)) != part) continue;
      if (shares[part] > 0) {
        prices[i] *= due / shares[part];
      } else {  // The part's first constraint, of its passes, gets all of it.
        prices[i] = i == 0 || part_of(static_cast<Limit>(i - 1)) != part_of(limit) ? due : 0;
      }
    }
  }
  for (std::size_t i = 0; i < kLimits; ++i) {
    if (i >= kTimeLimits || part_of(static_cast<Limit>(i)) == StepPart::whole) prices[i] /= all;
  }
}

/// Lowers prices of constraints of copies until a second of copies costs at least 0 in each part.
/// For each part p, with w_p the sum of price times factor of down_p over the constraints of time
/// of p and of the update span (where p is in it): n_p all_loads + prices of the span's and of p's
/// constraints of copies to the device <= w_p. For up_p likewise, with all_stores.
template <class Constraints>
void make_copies_sound(std::array<double, kLimits>& prices, const Constraints& constraints,
                       std::int64_t rounds) {
  for (const bool down : {true, false}) {
    std::array<double, kParts> worth{};
    for (std::size_t i = 0; i < kTimeLimits; ++i) {
      const StepPart part = part_of(static_cast<Limit>(i));
      const double each = prices[i] * (down ? constraints[i].down : constraints[i].up);
      if (part < StepPart::whole) worth[part_index(part)] += each;
      if (part != StepPart::update_span) continue;
      worth[part_index(StepPart::first_forward)] += each;
      worth[part_index(StepPart::last_backward)] += each;
    }
    double& all = prices[constraint_index(down ? Limit::all_loads : Limit::all_stores)];
    for (std::size_t part = 0; part < kParts; ++part) {
      const double times = times_in_step(static_cast<StepPart>(part), rounds);
      if (times > 0) all = std::min(all, worth[part] / times);
    }
    for (std::size_t part = 0; part < kParts; ++part) {
      worth[part] -= all * times_in_step(static_cast<StepPart>(part), rounds);
    }
    for (const bool of_span : {true, false}) {
      for (std::size_t i = kTimeLimits; i < kSecondLimits; ++i) {
        const CopiedIn copied = copied_in(static_cast<Limit>(i));
        if (copied.down != down || copied.part == StepPart::whole) continue;
        if ((copied.part == StepPart::update_span) != of_span) continue;
        double left = std::numeric_limits<double>::infinity();
        const auto is_of = [&](std::size_t part) {
          return of_span ? is_in_update_span(static_cast<StepPart>(part))
                         : part == part_index(copied.part);
        };
        for (std::size_t part = 0; part < kParts; ++part) {
          if (is_of(part)) left = std::min(left, worth[part]);
        }
        prices[i] = std::clamp(prices[i], 0.0, std::max(0.0, left));
        for (std::size_t part = 0; part < kParts; ++part) {
          if (is_of(part)) worth[part] -= prices[i];
        }
      }
    }
  }
}

}  // namespace

RelaxedPlan PlanRelaxation::solve(const RelaxedNode& node) const {
  RelaxedPlan found;
  const Program program(*this, node);
  found.feasible = program.has_choices();
  if (!found.feasible) return found;
  LinearSolution solution = program.minimized();
  if (!solution.feasible) {
    found.feasible = !program.is_refused_by(solution.prices);
    if (!found.feasible) return found;
    // Rounding alone refused it, so any choices will do, at no price but compute's.
    solution = program.at_any_choices();
  }
  program.take_counts(solution.values, found);
  for (std::size_t i = 0; i < kLimits; ++i) found.prices[i] = std::max(0.0, solution.prices[i]);
  make_times_sound(found.prices, std::max(0.0, solution.prices[kLimits]), node.rounds);
  make_copies_sound(found.prices, program.limits(), node.rounds);
  // Choices follow sustained times, the bound follows times after rest.
  auto least = program.limits();
  add_rest(least);
  found.bound = Seconds(std::max(0.0, program.priced_sum(least, found.prices)));
  return found;
}

}  // namespace sluice::planner
