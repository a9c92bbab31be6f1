#include "profiler/probe/contention_model.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/fair_share.hpp"

namespace sluice::profiler {
namespace {

/// One lane that is busy all the time, with the cost of its tasks.
struct BusyLane {
  planner::LaneKind lane;
  planner::TaskCost cost;
};

std::vector<sim::FrozenUse> bound_uses(const planner::TaskCost& cost,
                                       const std::vector<planner::CostModel::LinkCapacity>& links) {
  std::vector<sim::FrozenUse> uses;
  for (const auto& [name, per_unit] : cost.uses) {
    for (std::uint32_t link = 0; link < links.size(); ++link) {
      if (links[link].name == name && per_unit > 0) uses.push_back({link, per_unit});
    }
  }
  return uses;
}

/// Rates of lanes that are all busy, in the order of `lanes`.
std::vector<double> shared_rates(const planner::ProfileCostModel& model,
                                 const std::vector<BusyLane>& lanes, std::int64_t threads) {
  const auto links = model.links();
  std::vector<double> capacities;
  capacities.reserve(links.size());
  for (const auto& link : links) capacities.push_back(link.capacity.count());
  const auto interference = model.interference(threads);
  sim::FairShare share(capacities, lanes.size());
  std::vector<std::vector<sim::FrozenUse>> uses;  // Must outlive the flows.
  uses.reserve(lanes.size());
  for (const BusyLane& lane : lanes) uses.push_back(bound_uses(lane.cost, links));
  for (std::uint32_t slot = 0; slot < lanes.size(); ++slot) {
    double cap = lanes[slot].cost.cap.count();
    for (const auto& each : interference) {
      if (each.on != lanes[slot].lane) continue;
      const bool runs = std::any_of(lanes.begin(), lanes.end(),
                                    [&](const BusyLane& other) { return each.from == other.lane; });
      if (runs) cap *= each.factor;
    }
    share.start(slot, lanes[slot].cost.weight, cap, uses[slot]);
  }
  share.update();
  std::vector<double> rates;
  for (std::uint32_t slot = 0; slot < lanes.size(); ++slot) rates.push_back(share.rate(slot));
  return rates;
}

}  // namespace

ContentionRates contention_rates(const planner::ProfileCostModel& model, std::int64_t threads,
                                 Copies copies) {
  // Keys that no calibration holds: the profile alone answers.
  const planner::CostKey none{"contention"};
  std::vector<BusyLane> lanes;
  std::vector<double ContentionRates::*> members;
  if (copies_down(copies)) {
    lanes.push_back(
        {planner::LaneKind::h2d, model.copy(none, planner::CopyDirection::h2d, Bytes(1))});
    members.push_back(&ContentionRates::h2d);
  }
  if (copies_up(copies)) {
    lanes.push_back(
        {planner::LaneKind::d2h, model.copy(none, planner::CopyDirection::d2h, Bytes(1))});
    members.push_back(&ContentionRates::d2h);
  }
  if (threads > 0) {
    planner::Work work;
    work.parameters = 1;
    work.threads = threads;
    lanes.push_back({planner::LaneKind::cpu, model.cpu_update(none, work)});
    members.push_back(&ContentionRates::update);
  }
  const std::vector<double> values = shared_rates(model, lanes, threads);
  ContentionRates rates;
  for (std::size_t i = 0; i < lanes.size(); ++i) rates.*members[i] = values[i];
  return rates;
}

}  // namespace sluice::profiler
