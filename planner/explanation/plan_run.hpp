// All of `sluice plan`: the best plan of a run, or its policy's, and its explanation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "planner/explanation/plan_report.hpp"
#include "planner/requests/request.hpp"

namespace sluice::planner {

struct PlanRequest {
  RunConfig config;
  std::optional<Policy> policy = {};   ///< The run's policy, if it was read already.
  std::optional<FreeSizes> free = {};  ///< Job sizes to choose too.
  std::optional<double> effort = {};   ///< Effort of the search, as a multiple of the usual.
  /// Time that everything may take on this computer, in place of `effort`. The result then depends
  /// on the computer's speed; what was left out for lack of time is in the report.
  std::optional<Seconds> seconds = {};
  std::vector<FrontAxis> fronts = {};  ///< Fronts to compute: plans that trade step time for these.
  bool hide_link = false;  ///< Whether to find the batch size at which no copy is waited for.
  /// Called with what is being looked at, and with an empty text once it is done.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  std::stop_token stop = {};  ///< Once stop is requested, plan_run throws Interrupted.
};

struct PlannedRun {
  Request request;  ///< The run with the sizes that were chosen.
  std::variant<PlanReport, Infeasible> outcome;
};

/// Plans a run. Throws BadRequest, also where the run names a plan, and Interrupted.
[[nodiscard]] PlannedRun plan_run(const PlanRequest& request);

/// Parses a list of "hbm", "host" and "tokens" separated by commas. Throws BadRequest naming
/// --front.
[[nodiscard]] std::vector<FrontAxis> parse_front_axes(const std::string& text);

}  // namespace sluice::planner
