// What a run's best plan, its policy's or a given one does: all of `sluice predict`.
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

struct RunPrediction {
  Request request;
  PredictedStep step;
  /// Where the plan does not fit: what the search would do instead comes first. Empty where the
  /// policy made a job that nothing executes.
  std::vector<Remedy> remedies = {};
};

/// The plan is the one of `config.plan` or `config.policy`, where one is named, and need not fit;
/// else the best that a search finds, or what the plan of least memory lacks; it is chosen with all
/// terms of the model and predicted without those that `config.terms` turns off. `policy` is the
/// run's policy, if it was read already. Throws BadRequest, Interrupted.
[[nodiscard]] std::variant<RunPrediction, Infeasible> prediction_of(
    const RunConfig& config, const std::optional<Policy>& policy = std::nullopt,
    std::stop_token stop = {});

/// A number of tokens: "10G", "10B" (billion), "1.5T", "2e9". Throws BadRequest naming `field`.
[[nodiscard]] double parse_tokens(std::string text, const std::string& field);

/// Days for the tokens and what they cost on `machine`.
[[nodiscard]] RunMoney money_of(const Prediction& prediction, const std::string& machine,
                                std::optional<double> tokens, const PriceList& prices);

}  // namespace sluice::planner
