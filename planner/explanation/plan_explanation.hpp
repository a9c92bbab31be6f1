// Explanation of a plan's step: what bounds it, where the time above the bound goes, and which
// resource of the machine to have more of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/explanation/reliefs.hpp"
#include "planner/predictions/waterfall.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

/// The bottleneck that remains once there is enough of the first bottleneck's resource.
struct NextBottleneck {
  /// Relief by the resource of the first bottleneck, with so much of it that another is the
  /// bottleneck.
  Relief relieved;
  /// Name of the resource of which 10 % more helps most after `relieved`; empty where none helps.
  std::string resource;
  Duration step{0};  ///< Step with 10 % more of `resource` on top of `relieved`.
};

struct PlanExplanation {
  Bound bound;  ///< The bound that the prediction has: a time that no plan beats on this machine.
  Duration step{0};
  /// Cause of the largest of the bounds other than `bound` (Bound::each), without that of the
  /// longest chain, which contains others; none where all are 0.
  std::optional<BoundBy> next_bound;
  Waterfall waterfall;  ///< Parts that sum from the bound to the step.
  /// Steps with 10 % more of one resource each, the most helpful resource first.
  std::vector<Relief> reliefs = {};
  /// The bottleneck after the first resource is relieved; none where `first()` is null, or where
  /// time was over before it was found.
  std::optional<NextBottleneck> next = {};
  /// Parts of the explanation left out for lack of time, such as "a search with 10 % more hbm".
  std::vector<std::string> left_out = {};

  /// The resource of which 10 % more shortens the step most; null where that saves no more than the
  /// share kFelt of the step.
  [[nodiscard]] const Relief* first() const;
};

/// Smallest share (0 to 1) of the step by which more of a resource must shorten the step to count
/// as help.
inline constexpr double kFelt = 0.005;

/// Explains `step`, which `predictor` predicted; of `settings` the search's pins, threads and end
/// time count. More of a rate is tried with the same plan, and for the rate that helps most with a
/// quick search too. More of a memory that the plan nearly fills is tried with blocks that keep
/// more, else by a quick search; more of another memory changes nothing. Where `settings` have an
/// end time, rates are tried by coarse simulation, and searches that would come later are left out.
[[nodiscard]] PlanExplanation explain(const PredictedStep& step, const Predictor& predictor,
                                      const Calibration& calibration,
                                      const SearchSettings& settings, Replan replan);

/// The fastest of the plans that reliefs were computed with, if it beats the explained plan even
/// without any relief: a longer search would have found it, and no resource may take credit for it.
/// None otherwise.
[[nodiscard]] std::optional<Plan> better_plan(const PlanExplanation& explanation,
                                              const Predictor& predictor);

/// Explains `better`, a plan that better_plan() found in `before`, without another search: reliefs
/// of `before` that are at least as fast are taken over.
[[nodiscard]] PlanExplanation explain_better(const PredictedStep& better,
                                             const PlanExplanation& before,
                                             const Predictor& predictor,
                                             const Calibration& calibration,
                                             const SearchSettings& settings);

}  // namespace sluice::planner
