#include "planner/costs/contended_updates.hpp"

#include <algorithm>
#include <string>

#include "planner/costs/cost_key.hpp"
#include "planner/models/unit_classes.hpp"
#include "sim/fair_share.hpp"

namespace sluice::planner {
namespace {

bool same_rates(const TaskCost& a, const TaskCost& b) {
  return a.cap == b.cap && a.weight == b.weight && a.uses == b.uses;
}

/// Cost of copies in this direction if copies of all sizes have the same rate, weight and links;
/// else none.
std::optional<TaskCost> copy_cost(const Job& job, const ProfileCostModel& costs,
                                  CopyDirection direction) {
  std::optional<TaskCost> cost;
  for (const std::int64_t bytes :
       {std::int64_t{4096}, std::int64_t{1} << 20, 4 * unit_padded_size(job.model, 0),
        2 * unit_padded_size(job.model, 1), 4 * unit_padded_size(job.model, 1)}) {
    const TaskCost each = costs.copy(copy_key(direction, Bytes(bytes)), direction, Bytes(bytes));
    if (cost && !same_rates(*cost, each)) return std::nullopt;
    cost = each;
  }
  return cost;
}

std::optional<TaskCost> update_cost(const Job& job, const ProfileCostModel& costs,
                                    std::int64_t threads) {
  std::optional<TaskCost> cost;
  for (const std::size_t unit : representatives(job.model)) {
    Work work;
    work.parameters = unit_padded_size(job.model, unit);
    work.threads = threads;
    const TaskCost each = costs.cpu_update(cpu_update_key(job, threads, work.parameters), work);
    if (cost && !same_rates(*cost, each)) return std::nullopt;
    cost = each;
  }
  return cost;
}

/// Flow of one lane that is busy all the time: the lane, and the cost of its tasks.
struct Flow {
  LaneKind lane;
  const TaskCost* cost;
};

/// Rates of flows that run together on links, in the order of `flows`; `computes` says whether the
/// compute lane, which uses no link, runs beside them.
std::vector<double> rates_of(const ProfileCostModel& costs, const std::vector<Flow>& flows,
                             bool computes, std::int64_t threads) {
  const std::vector<CostModel::LinkCapacity> links = costs.links();
  std::vector<double> capacities;
  capacities.reserve(links.size());
  for (const auto& link : links) capacities.push_back(link.capacity.count());
  const auto index_of = [&links](const std::string& name) {
    const auto found = std::ranges::find(links, name, &CostModel::LinkCapacity::name);
    return static_cast<std::uint32_t>(found - links.begin());
  };
  const auto runs = [&](LaneKind lane) {
    return (computes && lane == LaneKind::compute) ||
           std::ranges::any_of(flows, [&](const Flow& flow) { return lane == flow.lane; });
  };
  const auto interference = costs.interference(threads);
  sim::FairShare shares(capacities, flows.size());
  std::vector<std::vector<sim::FrozenUse>> uses(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const TaskCost& cost = *flows[i].cost;
    for (const auto& [name, per_unit] : cost.uses) uses[i].push_back({index_of(name), per_unit});
    double cap = cost.cap.count();
    for (const auto& each : interference) {
      if (each.on == flows[i].lane && each.from != each.on && runs(each.from)) cap *= each.factor;
    }
    shares.start(static_cast<std::uint32_t>(i), cost.weight, cap, uses[i]);
  }
  shares.update();
  std::vector<double> rates;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    rates.push_back(shares.rate(static_cast<std::uint32_t>(i)));
  }
  return rates;
}

}  // namespace

std::optional<std::vector<SharedRates>> shared_rates(const Job& job, const ProfileCostModel& costs,
                                                     const FastestRates& fastest) {
  if (costs.device() == DeviceKind::host) return std::nullopt;
  const auto down = copy_cost(job, costs, CopyDirection::h2d);
  const auto up = copy_cost(job, costs, CopyDirection::d2h);
  if (!down || !up) return std::nullopt;
  std::vector<SharedRates> all;
  for (std::size_t i = 0; i < fastest.update_of.size(); ++i) {
    const auto threads = static_cast<std::int64_t>(i) + 1;
    const auto update = update_cost(job, costs, threads);
    if (!update) return std::nullopt;
    for (const unsigned running : {1U, 2U, 3U}) {
      for (const bool computes : {false, true}) {
        std::vector<Flow> flows{{LaneKind::cpu, &*update}};
        if ((running & 1U) != 0) flows.push_back({LaneKind::h2d, &*down});
        if ((running & 2U) != 0) flows.push_back({LaneKind::d2h, &*up});
        const std::vector<double> rates = rates_of(costs, flows, computes, threads);
        SharedRates& each = all.emplace_back();
        each.computes = computes;
        each.update = rates[0] / fastest.update;
        if ((running & 1U) != 0) each.h2d = rates[1] / fastest.h2d;
        if ((running & 2U) != 0) each.d2h = rates.back() / fastest.d2h;
      }
    }
  }
  return all;
}

}  // namespace sluice::planner
