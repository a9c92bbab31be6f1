// All that `sluice plan` prints of a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/explanation/batch_that_hides_link.hpp"
#include "planner/explanation/free_sizes.hpp"
#include "planner/explanation/pareto_front.hpp"
#include "planner/explanation/plan_explanation.hpp"
#include "planner/search/search.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

struct PlanReport {
  Planned planned;  ///< The plan; under a policy its plan, as one plan considered and simulated.
  PlanExplanation explanation;
  std::optional<std::string> policy = {};
  std::optional<ChosenSizes> sizes = {};  ///< Sizes that were chosen; none where none were free.
  /// The batch that hides the link; none where it was not asked for.
  std::optional<HiddenLink> link = {};
  std::vector<ParetoFront> fronts = {};
};

/// The report as JSON (docs/schemas/plan-result.schema.json); pretty-printed, one newline at the
/// end.
[[nodiscard]] std::string to_json_text(const PlanReport& report);

/// {"micro_batch", "loss_chunk", "trials"}, as plan and autotune print it.
[[nodiscard]] sim::Json sizes_json(const ChosenSizes& sizes);

}  // namespace sluice::planner
