// The plan of a run: the one that its plan file or its policy gives, one of the store, or the best
// that a search finds.
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

/// The plan of a run with its predicted times.
struct ChosenPlan {
  Planned planned;  ///< Holds the step alone where nothing was searched for.
  PlanSource source = PlanSource::searched;
  /// Memory by the policy's own rule, where it has one; the prediction's is that already.
  std::optional<Memory> policy_memory = {};

  [[nodiscard]] PredictedStep& step() { return planned.best; }
  [[nodiscard]] const PredictedStep& step() const { return planned.best; }
};

/// What may become of a plan that a file or a policy gives and that does not fit.
enum class Unfit {
  refused,  ///< The answer is what it lacks.
  kept,     ///< It is the answer as it is.
};

/// How a run's plan is chosen.
struct PlanOptions {
  bool stored = false;      ///< A plan of the store serves where it goes with the run.
  bool executable = false;  ///< Refuses a given plan that this version predicts and does not run.
  Unfit unfit = Unfit::refused;
  bool remedies = true;  ///< What lacks memory says what would help.
};

/// The plan of the run's plan file, else of its policy, with its pins, where it names one; else the
/// stored one, where that is asked for and it goes with the run's pins, limits and residency; else
/// the best that a search with the request's settings finds. Throws BadRequest where a given plan
/// is not one of the run's job.
[[nodiscard]] std::variant<ChosenPlan, Infeasible> choose_plan(const Request& request,
                                                               const PlanOptions& options = {});

/// The plan of the run's plan file, else of its policy, with its pins; none where the run names
/// neither. Throws BadRequest where it is not one of the run's job.
[[nodiscard]] std::optional<GivenPlan> given_plan(const Request& request);

/// The answer of choose_plan for a run that gives this plan.
[[nodiscard]] std::variant<ChosenPlan, Infeasible> choose_given(const GivenPlan& given,
                                                                const Request& request,
                                                                const PlanOptions& options = {});

/// What would help a given plan that does not fit; empty where the policy made a job that nothing
/// executes, for which a search would not answer.
[[nodiscard]] std::vector<Remedy> remedies_for(const ChosenPlan& chosen, const Request& request);

/// "the plan of policy zero-infinity", "a plan found now".
[[nodiscard]] std::string describe_source(const ChosenPlan& chosen, const RunConfig& config);

}  // namespace sluice::planner
