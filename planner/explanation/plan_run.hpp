// The best plan of a run, or its policy's, and why it takes what it takes: all of `sluice plan`.
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
  std::optional<Policy> policy = {};   ///< Not read again where it is the run's.
  std::optional<FreeSizes> free = {};  ///< Job sizes to choose too.
  std::optional<double> effort = {};   ///< The search runs so many times as long as usual.
  /// Instead: all of it may take so long on this machine, and what it finds depends on that; what
  /// there is no time for is left out, which the report says.
  std::optional<Seconds> seconds = {};
  std::vector<FrontAxis> fronts = {};  ///< Then plans that trade step time for these.
  bool hide_link = false;              ///< Then the batch size at which no copy is waited for.
  /// Hears what is being looked at; empty once it is done.
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  std::stop_token stop = {};  ///< Once asked to stop, plan_run throws Interrupted.
};

struct PlannedRun {
  Request request;  ///< Its run has the sizes that were chosen.
  std::variant<PlanReport, Infeasible> outcome;
};

/// Throws BadRequest, where the run names a plan too, and Interrupted.
[[nodiscard]] PlannedRun plan_run(const PlanRequest& request);

/// "hbm,host,tokens", any of. Throws BadRequest naming --front.
[[nodiscard]] std::vector<FrontAxis> parse_front_axes(const std::string& text);

}  // namespace sluice::planner
