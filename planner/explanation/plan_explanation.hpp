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
  /// The next largest bound, without the chain, which contains others; none where all are 0.
  std::optional<BoundBy> next_bound;
  Waterfall waterfall;  ///< The waterfall above the bound (waterfall_above).
  /// Steps with 10 % more of each resource, most helpful first.
  std::vector<Relief> reliefs = {};
  /// The next bottleneck; none where no single resource helps by more than kFelt.
  std::optional<NextBottleneck> next = {};
  /// What was left out for lack of time: "a search with 10 % more hbm", "what is short then".
  std::vector<std::string> left_out = {};

  /// The resource to have more of first; null where none helps by kFelt.
  [[nodiscard]] const Relief* first() const;
};

/// Smallest share of the step that counts as help.
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

/// The explanation of a better plan (better_plan), with the searches of the explanation before.
[[nodiscard]] PlanExplanation explain_better(const PredictedStep& better,
                                             const PlanExplanation& before,
                                             const Predictor& predictor,
                                             const Calibration& calibration,
                                             const SearchSettings& settings);

}  // namespace sluice::planner
