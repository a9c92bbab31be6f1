// Rows of machines with several GPUs, and what several GPUs gain over one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/buying/plan_finder.hpp"
#include "planner/buying/report.hpp"
#include "planner/buying/row_maker.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Numbers of GPUs, of 1, 2, 4 and 8, that can share the steps of the run on some machine.
[[nodiscard]] std::vector<std::int64_t> shared_counts(const RunConfig& config);

/// The row of `machine`, which is named by its number of GPUs ("2x-rtx-4090"), with a plan for all
/// of them. Where they cannot share the run's steps, or the request's time is over, a row that does
/// not fit and says why.
[[nodiscard]] BuyRow row_of_several(const RunConfig& config, const BuyRequest& request,
                                    PlanFinder& finder, const std::string& machine);

/// Names of machines with several GPUs that have a price of their own.
[[nodiscard]] std::vector<std::string> priced_nodes(const PriceList& prices);

/// The worth of the GPUs of the row of `base` or, where that has one GPU, of the fastest row with
/// several that the user would pay for; none where there is no such row.
[[nodiscard]] std::optional<DevicesWorth> devices_worth(const std::vector<BuyRow>& rows,
                                                        const std::string& base,
                                                        const RunConfig& config,
                                                        const BuyRequest& request);

}  // namespace sluice::planner
