// All that `sluice plan` has to say of a run.
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
  Planned planned;  ///< Of a policy: its plan, one plan considered and simulated.
  PlanExplanation explanation;
  std::optional<std::string> policy = {};
  std::optional<ChosenSizes> sizes = {};  ///< Where some were free.
  std::optional<HiddenLink> link = {};    ///< Where it was asked for.
  std::vector<ParetoFront> fronts = {};
};

/// docs/schemas/plan-result.schema.json; pretty-printed, one newline at the end.
[[nodiscard]] std::string to_json_text(const PlanReport& report);

/// {"micro_batch", "loss_chunk", "trials"}, as plan and autotune print it.
[[nodiscard]] sim::Json sizes_json(const ChosenSizes& sizes);

}  // namespace sluice::planner
