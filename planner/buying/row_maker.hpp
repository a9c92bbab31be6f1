// One row of `sluice buy`: the prediction of a job on one machine, with its prices.
#pragma once

#include <optional>
#include <string>

#include "planner/buying/plan_finder.hpp"
#include "planner/buying/report.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/search/outcome.hpp"

namespace sluice::planner {

/// Sets the row's days, prices and costs by the request, and whether they are within its limits.
void add_money(BuyRow& row, const BuyRequest& request);

/// A row, and what is short where the job does not fit.
struct MadeRow {
  BuyRow row;
  std::optional<Infeasible> shortage = {};
};

/// Host memory that the job needs on a machine; none where host memory is not what is short.
[[nodiscard]] std::optional<Bytes> host_needed(const Infeasible& shortage);

/// Bytes of `drives` that plans may take: all but 2 bytes a parameter for the model's folder and 12
/// for each of two checkpoints; none where nothing is left.
[[nodiscard]] std::optional<Bytes> left_on_drives(Bytes drives, std::int64_t parameters);

/// The run `config` on `machine`, resolved for a quick search; on a machine that is named by its
/// number of GPUs with as many devices, unless the run states another number. With `disk`, plans
/// may keep that much state on the machine's drives.
[[nodiscard]] Request run_on(const RunConfig& config, const BuyRequest& request,
                             const std::string& machine, std::optional<Bytes> disk = std::nullopt);

/// The row of run_on(config, request, machine, disk), with the plan that `finder` finds by
/// searching at `depth`.
[[nodiscard]] MadeRow make_row(const RunConfig& config, const BuyRequest& request,
                               PlanFinder& finder, const std::string& machine, RowKind kind,
                               std::optional<Bytes> disk = std::nullopt,
                               SearchDepth depth = SearchDepth::usual);

/// The row of a run whose plan is known. `owned` is BuyRow::owned.
[[nodiscard]] BuyRow make_row_of(const Request& run, const BuyRequest& request, const Plan& plan,
                                 RowKind kind, bool owned = false);

}  // namespace sluice::planner
