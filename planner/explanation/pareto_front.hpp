// Front of plans: those that no other plan beats both in the step and in what it takes, memory or
// tokens a step.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/effort/deadline.hpp"
#include "planner/requests/request.hpp"
#include "planner/search/search.hpp"

namespace sluice::planner {

enum class FrontAxis { hbm, host, tokens };
const char* to_string(FrontAxis axis);

/// One plan of one job, with its predicted step and memory.
struct FrontPoint {
  std::int64_t batch_size = 0;
  std::int64_t tokens = 0;  ///< Number of tokens of a step.
  /// Peak of device and of host memory, which is also the smallest limit at which this plan fits.
  Bytes hbm{0}, host{0};
  Duration step{0};
  double tokens_per_s = 0;
  Plan plan;
  std::string plan_hash;
  /// What the predicted step may err by, cause by cause (planner/predictions/ratio_interval.hpp).
  StepErrors errors = {};
  /// Time a token over that of the plan given to compare_front(), with its interval; none until
  /// then.
  std::optional<RatioInterval> beside = {};
};

struct ParetoFront {
  FrontAxis axis = FrontAxis::hbm;
  /// Points of the front, by increasing value on `axis`. Along memory every step is shorter than
  /// the one before; along tokens every tokens_per_s is higher.
  std::vector<FrontPoint> points;
  bool cut_short = false;  ///< Whether the deadline came before all searches were done.
};

/// Sets FrontPoint::beside of all points: their time a token over that of `plan`, a plan of `job`.
void compare_front(ParetoFront& front, const Job& job, const Prediction& plan);

/// Function that is called before each search with what it looks at, such as "hbm 12.3 GiB".
using FrontProgress = std::function<void(const std::string&)>;

/// The front of a run along `axis`. Along hbm and host: searches under a memory limit that starts
/// at the run's own and shrinks, each time to 0.7 of what the last plan took above the least, down
/// to the least with which anything fits. Along tokens: batches of one micro-batch, doubled up to
/// four times the run's. `known` are plans of the run that were already found. Empty where nothing
/// fits. Throws BadRequest for a run with a policy, which has only one plan.
[[nodiscard]] ParetoFront pareto_front(const Request& run, FrontAxis axis,
                                       const std::vector<Plan>& known = {},
                                       const FrontProgress& progress = {},
                                       const Deadline& deadline = {});

}  // namespace sluice::planner
