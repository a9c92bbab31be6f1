// All that `sluice plan` prints of a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/explanation/batch_that_hides_link.hpp"
#include "planner/explanation/devices_pay.hpp"
#include "planner/explanation/free_sizes.hpp"
#include "planner/explanation/pareto_front.hpp"
#include "planner/explanation/plan_explanation.hpp"
#include "planner/search/search.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

struct PlanReport {
  /// The plan that was found, with what its search did; under a policy the policy's plan, as the
  /// only one considered.
  Planned planned;
  PlanExplanation explanation;
  bool is_kept = false;  ///< Whether an equal search found the plan before.
  std::optional<std::string> policy = {};
  /// Job sizes that the planner chose; none where none were free.
  std::optional<ChosenSizes> sizes = {};
  /// The batch size that hides the link; none where it was not asked for.
  std::optional<HiddenLink> link = {};
  std::vector<ParetoFront> fronts = {};
  std::optional<DevicesPay> devices =
      {};  ///< Gain of the devices over one of them; none for one device.
};

/// The report as JSON text (docs/schemas/plan-result.schema.json), pretty-printed, with one newline
/// at the end.
[[nodiscard]] std::string to_json_text(const PlanReport& report);

/// JSON object {"micro_batch", "loss_chunk", "trials"} of chosen sizes, as `plan` and `autotune`
/// print it.
[[nodiscard]] sim::Json sizes_json(const ChosenSizes& sizes);

}  // namespace sluice::planner
