// Memory by phase, checkpoints, SSD wear and cost of a run as text.
#pragma once

#include <string>

#include "planner/requests/prediction_json.hpp"
#include "planner/requests/run_needs.hpp"

namespace sluice::cli {

/// Text with one line for each phase (load, step, save): bytes used and left in each tier.
[[nodiscard]] std::string phases_table(const planner::PhaseMemory& phases);
[[nodiscard]] std::string wear_text(const planner::SsdWear& wear);
/// Text about memory by phase, checkpoint, SSD wear and nearest validated case; and days and cost
/// if they are known.
[[nodiscard]] std::string needs_table(const planner::RunNeeds& needs,
                                      const planner::RunMoney& money);

}  // namespace sluice::cli
