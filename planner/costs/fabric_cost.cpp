// Collectives among the ranks of one host.
#include <algorithm>

#include "planner/costs/cost_family.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/costs/cost_parts.hpp"
#include "planner/costs/fabric_rates.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr const char* kFabricLink = "fabric";
constexpr const char* kHostLinks[] = {"pcie_h2d", "pcie_d2h"};
/// Bytes of host memory traffic for each byte that a rank receives through it (a rule): it is
/// written and read.
constexpr double kDramPerReceived = 2;

}  // namespace

std::vector<CostModel::LaneInterference> ProfileCostModel::fabric_interference() const {
  if (!switches_.interference) return {};
  std::vector<LaneInterference> all;
  for (const LaneSlowing& pair : required_fabric(profile_).interference) {
    all.push_back({pair.on, pair.from, pair.factor.value});
  }
  return all;
}

std::vector<CostModel::LinkCapacity> CostModel::fabric_links() const {
  throw BadRequest("these costs have no fabric: set ranks of the plan to 1");
}

TaskCost CostModel::collective(const CostKey& key, Collective /*operation*/,
                               Bytes /*bytes*/) const {
  throw BadRequest("these costs have no fabric, which " + key.name() +
                   " needs: set ranks of the plan to 1");
}

std::vector<CostModel::LinkCapacity> ProfileCostModel::fabric_links() const {
  return {{kFabricLink, Rate(fastest_collective(required_fabric(profile_)).value.count())}};
}

TaskCost ProfileCostModel::collective(const CostKey& key, Collective operation, Bytes bytes) const {
  const Fabric fabric = required_fabric(profile_);
  const Bandwidth rate = collective_rate(fabric, operation, bytes);
  TaskCost cost;
  cost.amount = Amount(static_cast<double>(bytes.count()));
  cost.cap = Rate(rate.value.count());
  cost.latency = switches_.latency ? fabric.latency.value : Seconds(0);
  cost.evidence = evidence_of(rate);
  cost.relative_deviation = deviation_of(rate);
  if (const CalibrationSample* known = sample(key)) {
    const double latency = std::min(cost.latency.count(), known->value / 2);
    cost.latency = Seconds(latency);
    cost.cap = Rate(cost.amount.count() / (known->value - latency));
    cost.relative_deviation = relative_deviation(*known);
    cost.evidence = Evidence::measured;
    cost.errs_alone = true;
  }
  cost.uses.emplace_back(kFabricLink, 1);
  if (profile_.device == DeviceKind::host) {
    share_dram(cost, kDramPerReceived);
    return cost;
  }
  cost.weight = cost.cap.count();  // As all flows of these machines, which slow down in proportion.
  if (fabric.path == FabricPath::nvlink || !switches_.contention) return cost;
  for (const char* link : kHostLinks) cost.uses.emplace_back(link, 1);
  if (fabric.path == FabricPath::host) share_dram(cost, kDramPerReceived);
  return cost;
}

}  // namespace sluice::planner
