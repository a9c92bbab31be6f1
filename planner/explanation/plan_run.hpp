// All of `sluice plan`: the best plan of a run, or its policy's plan, and its explanation.
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
  std::optional<Policy> policy = {};   ///< The run's policy, if the caller has read it already.
  std::optional<FreeSizes> free = {};  ///< Job sizes that the planner may choose too.
  /// Effort of the search for a plan, as a multiple of the usual effort; none for the usual.
  std::optional<double> effort = {};
  /// Time that the planning may take in all on this computer, in place of `effort`. The result then
  /// depends on the computer's speed; the report lists what was left out for lack of time.
  std::optional<Seconds> seconds = {};
  bool is_fresh = false;  ///< Whether a search is made even where an equal one was kept.
  /// Axes along which fronts are computed: plans that trade step time for memory or tokens.
  std::vector<FrontAxis> fronts = {};
  /// Whether to find the batch size from which copies over the link hide under compute.
  bool hide_link = false;
  /// Function that is called with what is being looked at, and with an empty text once that is
  /// done.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  /// Token by which a caller can stop the planning, which then throws Interrupted.
  std::stop_token stop = {};
};

struct PlannedRun {
  Request request;  ///< The run, with the job sizes that were chosen.
  std::variant<PlanReport, Infeasible> outcome;
};

/// Plans a run and explains the plan. Throws BadRequest, also where the run names a plan file, and
/// Interrupted.
[[nodiscard]] PlannedRun plan_run(const PlanRequest& request);

/// Parses a comma-separated list of "hbm", "host" and "tokens". Throws BadRequest naming --front.
[[nodiscard]] std::vector<FrontAxis> parse_front_axes(const std::string& text);

}  // namespace sluice::planner
