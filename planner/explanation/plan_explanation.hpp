// Why a plan's step takes as long as it does: what bounds it, where the time above the bound goes,
// and what of the machine to have more of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/explanation/reliefs.hpp"
#include "planner/predictions/waterfall.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

/// What is short once the first resource is not.
struct NextBottleneck {
  Relief relieved;       ///< The first resource, as much of it as that takes.
  std::string resource;  ///< Of which 10 % more then helps most; empty where nothing does.
  Duration step{0};      ///< With that on top.
};

struct PlanExplanation {
  Bound bound;  ///< Prediction::bound, which no plan beats on this machine.
  Duration step{0};
  /// The largest other single bound but chain, which contains the others; none where all are 0.
  std::optional<BoundBy> next_bound;
  Waterfall waterfall;  ///< waterfall_above.
  /// With 10 % more of each resource, most helpful first.
  std::vector<Relief> reliefs = {};
  /// None where no single resource helps by more than kFelt.
  std::optional<NextBottleneck> next = {};
  /// What there was no time for: "a search with 10 % more hbm", "what is short then".
  std::vector<std::string> left_out = {};

  /// The resource to have more of first; null where none is felt.
  [[nodiscard]] const Relief* first() const;
};

/// Share of the step that counts as help.
inline constexpr double kFelt = 0.005;

/// `step` is what `predictor` says of its plan; `settings` the search's pins and threads. Rates are
/// tried with the plan as it is, and the one that helps most with a quick search too; memories that
/// the plan nearly fills with blocks that keep more, else a quick search; others change nothing.
/// Where the settings say until when, rates are tried by coarse simulation, and searches that would
/// come later than that are left out.
[[nodiscard]] PlanExplanation explain(const PredictedStep& step, const Predictor& predictor,
                                      const Calibration& calibration,
                                      const SearchSettings& settings, Replan replan);

/// The fastest of the reliefs' plans where it beats the explained one without any relief: a longer
/// search would have found it, and no resource may take credit for it.
[[nodiscard]] std::optional<Plan> better_plan(const PlanExplanation& explanation,
                                              const Predictor& predictor);

/// The explanation of that plan, with the searches of the one before.
[[nodiscard]] PlanExplanation explain_better(const PredictedStep& better,
                                             const PlanExplanation& before,
                                             const Predictor& predictor,
                                             const Calibration& calibration,
                                             const SearchSettings& settings);

}  // namespace sluice::planner
