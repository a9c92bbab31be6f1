// Choice of a run's plan: the one that its plan file or its policy gives, a stored one, or the
// result of a search.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "planner/plans/plan_source.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/requests/request.hpp"
#include "planner/search/outcome.hpp"
#include "planner/search/remedies.hpp"

namespace sluice::planner {

/// The plan of a run, with its prediction.
struct ChosenPlan {
  Planned planned;  ///< The plan and its search; only `best` is set if there was no search.
  PlanSource source = PlanSource::searched;
  /// Memory that the policy's own rule says the plan takes, which the prediction already uses; none
  /// where it has no such rule.
  std::optional<Memory> policy_memory = {};

  [[nodiscard]] PredictedStep& step() { return planned.best; }
  [[nodiscard]] const PredictedStep& step() const { return planned.best; }
};

/// Treatment of a given plan that does not fit.
enum class Unfit {
  refused,  ///< Return Infeasible instead of the plan.
  kept,     ///< Return the plan as it is.
};

/// Options of choose_plan(): plans that it may use, and its treatment of one that does not fit.
struct PlanOptions {
  bool stored = false;  ///< Whether a plan from the user's store may be used.
  /// Whether to refuse plans that this version predicts but cannot execute.
  bool executable = false;
  Unfit unfit = Unfit::refused;
  bool remedies = true;  ///< Whether an Infeasible that is returned says what would help.
};

/// Chooses the plan of the run's plan file, else of its policy, with the run's pins; else the
/// stored plan, if `options` allow it and it agrees with the run's pins, limits and residency; else
/// the best plan that a search with the request's settings finds. A given plan that exceeds a
/// capacity is not replaced: the remedies name what a search would find. Throws BadRequest for a
/// plan of another job.
[[nodiscard]] std::variant<ChosenPlan, Infeasible> choose_plan(const Request& request,
                                                               const PlanOptions& options = {});

/// The plan of the run's plan file, else of its policy, with the run's pins; none where the run
/// names neither. Throws BadRequest for a plan of another job.
[[nodiscard]] std::optional<GivenPlan> given_plan(const Request& request);

/// The result of choose_plan() for a run that gives the plan `given`.
[[nodiscard]] std::variant<ChosenPlan, Infeasible> choose_given(const GivenPlan& given,
                                                                const Request& request,
                                                                const PlanOptions& options = {});

/// Remedies for a given plan that does not fit. Empty where its policy made a job that Sluice
/// cannot execute, because a search would answer for another job.
[[nodiscard]] std::vector<Remedy> remedies_for(const ChosenPlan& chosen, const Request& request);

/// Origin of the plan in words, such as "the plan of policy zero-infinity" or "a plan found now".
[[nodiscard]] std::string describe_source(const ChosenPlan& chosen, const RunConfig& config);

}  // namespace sluice::planner
