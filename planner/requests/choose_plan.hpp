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
  /// The plan with its prediction and, where it was searched for, its optimality gap; without a
  /// search only `best` is set.
  Planned planned;
  PlanSource source = PlanSource::searched;  ///< Where the plan comes from.
  bool is_kept = false;                      ///< Whether an equal search found it before.
  /// Memory that the plan takes by a rule of its policy's own, which the prediction already holds;
  /// none where there is no such rule.
  std::optional<Memory> policy_memory = {};

  [[nodiscard]] PredictedStep& step() { return planned.best; }
  [[nodiscard]] const PredictedStep& step() const { return planned.best; }
};

/// What choose_plan() does with a plan, given by a plan file or a policy, that exceeds a capacity.
enum class Unfit {
  refused,  ///< Return Infeasible instead of the plan.
  kept,     ///< Return the plan with its prediction, although it exceeds a capacity.
};

/// Options of choose_plan(): which plans it may use, and what it does with a given one that does
/// not fit.
struct PlanOptions {
  /// Whether the plan that the user's store holds for the job and machine may be used.
  bool stored = false;
  /// Whether to throw BadRequest for jobs and given plans that Sluice predicts but cannot execute.
  bool executable = false;
  Unfit unfit = Unfit::refused;
  /// Whether what an equal search found before serves (kept_planned), and what is found now is
  /// kept.
  bool kept = false;
  bool remedies = true;  ///< Whether an Infeasible that is returned says which changes would help.
};

/// Chooses the plan of the run's plan file, else of its policy, with the run's pins; else the
/// stored plan, if `options` allow it, it fits and agrees with the run's pins and residency; else
/// the best plan that a search with the request's settings finds, or found before. A given plan
/// that exceeds a capacity is not replaced: the remedies name what a search would find. Throws
/// BadRequest for a plan of another job.
[[nodiscard]] std::variant<ChosenPlan, Infeasible> choose_plan(const Request& request,
                                                               const PlanOptions& options = {});

/// The plan that the run's plan file, else its policy, gives, with the run's pins; none where the
/// run names neither. Throws BadRequest for a plan of another job.
[[nodiscard]] std::optional<GivenPlan> given_plan(const Request& request);

/// What choose_plan() returns for a run whose plan file or policy gives the plan `given`.
[[nodiscard]] std::variant<ChosenPlan, Infeasible> choose_given(const GivenPlan& given,
                                                                const Request& request,
                                                                const PlanOptions& options = {});

/// Changes that help where a given plan does not fit. Empty where it fits, and where its policy
/// made a job that Sluice cannot execute, because a search would answer for another job.
[[nodiscard]] std::vector<Remedy> remedies_for(const ChosenPlan& chosen, const Request& request);

/// Where the plan comes from, in words, such as "the plan of policy zero-infinity" or "a plan found
/// now".
[[nodiscard]] std::string describe_source(const ChosenPlan& chosen, const RunConfig& config);

}  // namespace sluice::planner
