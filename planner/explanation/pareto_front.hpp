// What a shorter step costs in memory or in tokens a step: plans that nothing found beats in both.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/effort/deadline.hpp"
#include "planner/requests/request.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

enum class FrontAxis { hbm, host, tokens };
const char* to_string(FrontAxis axis);

/// One plan of one job, as a prediction has it.
struct FrontPoint {
  std::int64_t batch_size = 0;
  std::int64_t tokens = 0;  ///< A step.
  Bytes hbm{0}, host{0};    ///< Peaks: the limits within which exactly this plan still fits.
  Duration step{0};
  double tokens_per_s = 0;
  Plan plan;
  std::string plan_hash;
};

struct ParetoFront {
  FrontAxis axis = FrontAxis::hbm;
  /// By what the axis counts, least first. Along memory every step is shorter than the one before;
  /// along tokens every tokens_per_s is higher.
  std::vector<FrontPoint> points;
  bool cut_short = false;  ///< The deadline was over before all searches.
};

/// Called before each search: what it looks at ("hbm 12.3 GiB").
using FrontProgress = std::function<void(const std::string&)>;

/// hbm, host: searches under a limit that shrinks from the run's own to 0.7 of what the last plan
/// took above the least, down to the least with which anything fits. tokens: batches of one
/// micro-batch doubled, up to four times the run's. `known`: plans of the run itself that were
/// found already. Empty where nothing fits. Throws BadRequest for a run with a policy, whose plan
/// is one.
[[nodiscard]] ParetoFront pareto_front(const Request& run, FrontAxis axis,
                                       const std::vector<Plan>& known = {},
                                       const FrontProgress& progress = {},
                                       const Deadline& deadline = {});

}  // namespace sluice::planner
