#include "planner/buying/rented_rows.hpp"

#include <utility>

#include "planner/catalogue/cluster.hpp"
#include "planner/catalogue/counted_machine.hpp"
#include "planner/costs/fp8_work.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/requests/run_devices.hpp"

namespace sluice::planner {
namespace {

/// Why a run uses one of the instance's GPUs; none where it can use all.
std::optional<std::string> why_one(const RunConfig& config, const Instance& instance) {
  constexpr std::int64_t kMost = 8;
  if (instance.gpus > kMost) return "no plan is for more than 8 GPUs";
  if (find_gpu(instance.gpu).fabric.empty()) return "nothing is known of what connects them";
  return why_not_shared(config, instance.gpus);
}

/// The row of `hosts` instances that share the run's steps with all of their GPUs.
BuyRow instances_row(const RunConfig& config, const BuyRequest& request, PlanFinder& finder,
                     const Cluster& instances, const Instance& instance) {
  const std::string one = counted_name({.gpus = instance.gpus, .machine = instance.gpu});
  const std::string nic = instance.nic.empty() ? request.nic : instance.nic;
  const std::string all = to_text(Cluster{instances.hosts, one, nic});
  const RentedHost host = host_of(instance);
  BuyRow row;
  if (const auto refused = why_not_shared(config, gpus_named(all))) {
    row.limit = "steps that " + std::to_string(gpus_named(all)) + " GPUs cannot share";
    row.remedy = *refused;
  } else if (nic.empty()) {
    row.limit = "nothing is known of what joins them";
    row.remedy = "--nic, or nic of the instance in the price file";
  } else if (request.end.is_late()) {
    row.limit = kNotPlanned;
    row.remedy = "--seconds gives more";
  } else {
    row = make_rented_row(config, request, finder, all, host).row;
    if (!row.fits) row.remedy = "an instance with more, or more of them";
  }
  row.rented = host;
  row.kind = RowKind::instance;
  row.like = all;
  row.machine = to_text(instances);
  row.gpus = gpus_named(all);
  if (!row.fits) row.devices = row.gpus;
  add_money(row, request);
  return row;
}

/// Whether a step with one of the instance's GPUs may be as short as `step`: no bound says
/// otherwise.
bool one_may_take(Duration step, const RunConfig& config, const BuyRequest& request,
                  const Instance& instance, const RentedHost& host) {
  const Request one = run_on(on_rented(config, instance.gpu, host), request, instance.gpu);
  return one.predictor.bound().time <= to_seconds(step);
}

/// The row of an instance with a plan for all of its GPUs; with one for one of them where they
/// cannot share the run's steps, or where one alone is no slower.
BuyRow instance_row(const RunConfig& config, const BuyRequest& request, PlanFinder& finder,
                    const std::string& name, const Instance& instance) {
  const RentedHost host = host_of(instance);
  BuyRow row;
  std::string note;
  if (instance.gpus > 1) note = why_one(config, instance).value_or("");
  if (request.end.is_late()) {
    row.limit = kNotPlanned;
    row.remedy = "--seconds gives more";
    row.rented = host;
    row.devices = instance.gpus;
  } else {
    const bool can_share = instance.gpus > 1 && note.empty();
    if (can_share) {
      const std::string all = counted_name({.gpus = instance.gpus, .machine = instance.gpu});
      row = make_rented_row(config, request, finder, all, host).row;
    }
    // One of them is planned where it may be as fast as all.
    if (!row.fits || one_may_take(row.step, config, request, instance, host)) {
      BuyRow one = make_rented_row(config, request, finder, instance.gpu, host).row;
      const bool is_better = one.fits && (!row.fits || one.step <= row.step);
      if (is_better && can_share) note = "all of them are no faster than one";
      if (is_better || !row.fits) row = std::move(one);
    }
    if (!row.fits) row.remedy = "an instance with more";
  }
  row.kind = RowKind::instance;
  row.like = std::exchange(row.machine, name);
  row.gpus = instance.gpus;
  row.devices_note = note;
  add_money(row, request);
  return row;
}

}  // namespace

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
  // Where builds took their whole time, a brief search of each is better than none of the last.
  const SearchDepth depth = request.until.is_late() ? SearchDepth::brief : SearchDepth::usual;
  MadeRow made = make_row(on_rented(config, machine, host), rented, finder, machine,
                          RowKind::machine, std::nullopt, depth);
  made.row.rented = host;
  if (!made.row.fits) made.row.remedy = "rent more of the node";
  return made;
}

std::vector<BuyRow> instance_rows(const RunConfig& config, const BuyRequest& request,
                                  PlanFinder& finder) {
  std::vector<std::pair<std::string, Instance>> all(request.prices.instances.begin(),
                                                    request.prices.instances.end());
  std::erase_if(all, [&config](const auto& each) {
    return !has_products(config.compute, find_gpu(each.second.gpu).architecture);
  });
  const std::size_t kinds = request.hosts.size() + 1;
  std::vector<BuyRow> rows(all.size() * kinds);
  parallel_for(rows.size(), request.threads, [&](std::size_t i) {
    const auto& [name, instance] = all[i / kinds];
    if (i % kinds == 0) {
      rows[i] = instance_row(config, request, finder, name, instance);
    } else {
      const Cluster several{.hosts = request.hosts[i % kinds - 1], .machine = name, .nic = {}};
      rows[i] = instances_row(config, request, finder, several, instance);
    }
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
