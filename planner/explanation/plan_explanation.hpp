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

/// The bottleneck that remains once the first one is relieved.
struct NextBottleneck {
  Relief relieved;  ///< The first resource, with enough of it that another is the bottleneck.
  /// The resource of which 10 % more helps most after `relieved`; empty where none helps.
  std::string resource;
  Duration step{0};  ///< Step time with 10 % more of `resource` on top of `relieved`.
};

struct PlanExplanation {
  Bound bound;  ///< The bound of the prediction, which no plan beats on this machine.
  Duration step{0};
  /// The largest of the bounds other than `bound`, without that of the longest chain, which
  /// contains others; none where all are 0.
  std::optional<BoundBy> next_bound;
  Waterfall waterfall;  ///< The parts that sum from the bound to the step.
  /// Steps with 10 % more of each resource, most helpful first.
  std::vector<Relief> reliefs = {};
  /// The bottleneck once the first resource is relieved; none where `first()` is null or where the
  /// time was over before this one was found.
  std::optional<NextBottleneck> next = {};
  /// Parts of the explanation left out for lack of time, such as "a search with 10 % more hbm".
  std::vector<std::string> left_out = {};

  /// The resource of which 10 % more shortens the step most; null where that saves no more than the
  /// share kFelt of the step.
  [[nodiscard]] const Relief* first() const;
};

/// Share of the step that more of a resource must save to count as help.
inline constexpr double kFelt = 0.005;

/// Explains `step`, which `predictor` predicted; `settings` are the search's pins and threads. More
/// of a rate is tried with the same plan, and for the rate that helps most with a quick search too.
/// More of a memory that the plan nearly fills is tried with blocks that keep more, else by a quick
/// search; more of another memory changes nothing. Where the settings have an end time, rates are
/// tried by coarse simulation, and searches that would come later are left out.
[[nodiscard]] PlanExplanation explain(const PredictedStep& step, const Predictor& predictor,
                                      const Calibration& calibration,
                                      const SearchSettings& settings, Replan replan);

/// The fastest of the reliefs' plans, if it beats the explained plan even without any relief: a
/// longer search would have found it, and no resource may take credit for it.
[[nodiscard]] std::optional<Plan> better_plan(const PlanExplanation& explanation,
                                              const Predictor& predictor);

/// Explains `better`, a plan that better_plan found in `before`, without searching again: reliefs
/// of `before` that are at least as fast are taken over.
[[nodiscard]] PlanExplanation explain_better(const PredictedStep& better,
                                             const PlanExplanation& before,
                                             const Predictor& predictor,
                                             const Calibration& calibration,
                                             const SearchSettings& settings);

}  // namespace sluice::planner
