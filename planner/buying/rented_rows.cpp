#include "planner/buying/rented_rows.hpp"

#include <utility>

#include "planner/effort/parallel_for.hpp"

namespace sluice::planner {

std::optional<RentedHost> rented_share(const RunConfig& config, const BuyRequest& request,
                                       const std::string& machine) {
  if (machine == config.machine) return std::nullopt;
  const Price price = request.prices.of(machine);
  if (!price.rent_usd_per_hour || price.buy_usd) return std::nullopt;
  return share_of_node(machine);
}

MadeRow make_rented_row(const RunConfig& config, const BuyRequest& request, PlanFinder& finder,
                        const std::string& machine, const RentedHost& host) {
  BuyRequest rented = request;
  rented.owned = false;  // What is rented is not the user's own, whatever that is.
  MadeRow made =
      make_row(on_rented(config, machine, host), rented, finder, machine, RowKind::machine);
  made.row.rented = host;
  if (!made.row.fits) made.row.remedy = "rent more of the node";
  return made;
}

std::vector<BuyRow> instance_rows(const RunConfig& config, const BuyRequest& request,
                                  PlanFinder& finder) {
  std::vector<std::pair<std::string, Instance>> all(request.prices.instances.begin(),
                                                    request.prices.instances.end());
  std::vector<BuyRow> rows(all.size());
  parallel_for(all.size(), request.threads, [&](std::size_t i) {
    const auto& [name, instance] = all[i];
    BuyRow row = make_rented_row(config, request, finder, instance.gpu, host_of(instance)).row;
    row.kind = RowKind::instance;
    row.like = std::exchange(row.machine, name);
    row.gpus = instance.gpus;
    if (!row.fits) row.remedy = "an instance with more";
    add_money(row, request);
    rows[i] = std::move(row);
  });
  finder.settle();
  return rows;
}

RunConfig run_of_row(const RunConfig& config, const BuyRow& row) {
  const std::string& machine = row.like.empty() ? row.machine : row.like;
  RunConfig run = row.rented ? on_rented(config, machine, *row.rented) : config;
  run.machine = machine;
  if (row.disk_lent) run.limits.disk = row.disk_lent;
  return run;
}

}  // namespace sluice::planner
