#include "planner/buying/several_rows.hpp"

#include <algorithm>
#include <array>

#include "planner/buying/rented_rows.hpp"
#include "planner/catalogue/cluster.hpp"
#include "planner/requests/run_devices.hpp"

namespace sluice::planner {

std::vector<std::int64_t> shared_counts(const RunConfig& config) {
  std::vector<std::int64_t> counts = {1};
  for (const std::int64_t count : std::array<std::int64_t, 3>{2, 4, 8}) {
    if (!why_not_shared(config, count)) counts.push_back(count);
  }
  return counts;
}

BuyRow row_of_several(const RunConfig& config, const BuyRequest& request, PlanFinder& finder,
                      const std::string& machine) {
  const std::int64_t gpus = gpus_named(machine);
  const auto refused = why_not_shared(config, gpus);
  const bool is_late = request.end.is_late();
  if (!refused && !is_late) {
    return make_row(config, request, finder, machine, RowKind::machine).row;
  }
  BuyRow row{.machine = machine};
  row.gpus = row.devices = gpus;
  row.owned = request.owned && machine == config.machine;
  row.limit = refused ? "steps that " + std::to_string(gpus) + " GPUs cannot share" : kNotPlanned;
  row.remedy = refused ? *refused : "--seconds gives more";
  add_money(row, request);
  return row;
}

std::vector<std::string> priced_nodes(const PriceList& prices) {
  std::vector<std::string> names;
  for (const auto& [name, price] : prices.machines) {
    if (gpus_named(name) > 1) names.push_back(name);
  }
  return names;
}

std::optional<DevicesWorth> devices_worth(const std::vector<BuyRow>& rows, const std::string& base,
                                          const RunConfig& config, const BuyRequest& request) {
  const BuyRow* best = nullptr;
  const bool weighs = !request.prices.machines.empty() || !request.prices.parts.empty();
  for (const BuyRow& row : rows) {
    if (!row.fits || row.devices == 1) continue;
    if (row.machine == base) {
      best = &row;
      break;
    }
    const bool is_had = row.buy_usd || row.rent_usd_per_hour || !weighs;
    if (!is_had || row.within_budget == false || row.engine == EngineOnGpu::none) continue;
    if (best == nullptr || row.step < best->step) best = &row;
  }
  if (best == nullptr) return std::nullopt;
  const RunConfig there = run_of_row(config, *best);
  const Request run = run_on(there, request, there.machine);
  DevicesWorth worth{.machine = best->machine, .pay = devices_pay(run, best->step, request.end)};
  return worth;
}

}  // namespace sluice::planner
