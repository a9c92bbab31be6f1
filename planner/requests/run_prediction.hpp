// All of `sluice predict`: the prediction of a run's best plan, of its policy's plan or of a given
// one.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "planner/requests/prediction_json.hpp"
#include "planner/requests/prices.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

/// A run with the prediction of its plan.
struct RunPrediction {
  Request request;
  PredictedStep step;
  /// Changes that help where the plan does not fit, first of all the plan that a search finds.
  /// Empty where the plan fits, and where the policy made a job that Sluice cannot execute.
  std::vector<Remedy> remedies = {};
  bool is_kept = false;  ///< Whether an equal search found the plan before.
};

/// How a prediction's plan is chosen.
struct PredictionOptions {
  std::optional<Policy> policy = {};  ///< The run's policy, if the caller has read it already.
  /// Effort of a search for the plan, as a multiple of the usual effort; none for the usual.
  std::optional<double> effort = {};
  bool is_fresh = false;  ///< Whether a search is made even where an equal one was kept.
  std::stop_token stop = {};
};

/// Prediction of the plan of `config.plan` or `config.policy`, where the run names one, even if it
/// does not fit; else of the best plan that a search finds, or Infeasible with what the plan with
/// the least memory lacks. The plan is chosen with all terms of the model of time and predicted
/// without those that `config.terms` turns off. Of several devices the bound is that of the search,
/// over all their plans, where it found one above that of compute alone. Throws BadRequest,
/// Interrupted.
[[nodiscard]] std::variant<RunPrediction, Infeasible> prediction_of(const RunConfig& config,
                                                                    PredictionOptions options = {});

/// Number of tokens that `text` states: "10G", "10B" (billion), "1.5T", "2e9". Throws BadRequest
/// naming `field`.
[[nodiscard]] double parse_tokens(std::string text, const std::string& field);

/// How long the prediction's step takes for `tokens` tokens, and what that and the machine named
/// `machine` cost by `prices`.
[[nodiscard]] RunMoney money_of(const Prediction& prediction, const std::string& machine,
                                std::optional<double> tokens, const PriceList& prices);

}  // namespace sluice::planner
