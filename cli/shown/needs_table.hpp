// Memory by phase, checkpoints, SSD wear and money of a run as text.
#pragma once

#include <string>

#include "planner/requests/prediction_json.hpp"
#include "planner/requests/run_needs.hpp"

namespace sluice::cli {

/// A line a phase: what each tier holds and what it has left.
[[nodiscard]] std::string phases_table(const planner::PhaseMemory& phases);
[[nodiscard]] std::string wear_text(const planner::SsdWear& wear);
/// phases_table, checkpoint, wear, nearest validated case; days and cost where they are known.
[[nodiscard]] std::string needs_table(const planner::RunNeeds& needs,
                                      const planner::RunMoney& money);

}  // namespace sluice::cli
