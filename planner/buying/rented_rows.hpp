// Rows of rented computers: instances of clouds, and GPUs rented with their share of a node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/buying/plan_finder.hpp"
#include "planner/buying/report.hpp"
#include "planner/buying/row_maker.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// The host that is rented with one GPU of `machine`, where the request has a rent of it and no
/// price to buy: the share of its node (share_of_node). None for other machines, and for the run's
/// own.
[[nodiscard]] std::optional<RentedHost> rented_share(const RunConfig& config,
                                                     const BuyRequest& request,
                                                     const std::string& machine);

/// The row of `machine` with no more host memory and cores than `host`; planned briefly once the
/// time for builds is over.
[[nodiscard]] MadeRow make_rented_row(const RunConfig& config, const BuyRequest& request,
                                      PlanFinder& finder, const std::string& machine,
                                      const RentedHost& host);

/// Rows of the request's instances, in the order of their names.
[[nodiscard]] std::vector<BuyRow> instance_rows(const RunConfig& config, const BuyRequest& request,
                                                PlanFinder& finder);

/// The run `config` on the row's machine, with the host that is rented with it.
[[nodiscard]] RunConfig run_of_row(const RunConfig& config, const BuyRow& row);

}  // namespace sluice::planner
