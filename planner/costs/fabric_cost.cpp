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
/// Bytes of host memory traffic for each byte that a rank of the host backend receives (a rule):
/// it is read and written.
constexpr double kDramPerReceived = 2;

}  // namespace

std::vector<CostModel::LinkCapacity> CostModel::fabric_links() const {
  throw BadRequest("these costs have no fabric: set ranks of the plan to 1");
}

TaskCost CostModel::collective(const CostKey& key, Collective /*operation*/,
                               Bytes /*bytes*/) const {
  throw BadRequest("these costs have no fabric, which " + key.name +
                   " needs: set ranks of the plan to 1");
}

std::vector<CostModel::LinkCapacity> ProfileCostModel::fabric_links() const {
  return {{kFabricLink, Rate(fastest_collective(required_fabric(profile_)).value)}};
}

TaskCost ProfileCostModel::collective(const CostKey& key, Collective operation, Bytes bytes) const {
  const Fabric fabric = required_fabric(profile_);
  const Fact rate = collective_rate(fabric, operation, bytes);
  TaskCost cost;
  cost.amount = Amount(static_cast<double>(bytes.count()));
  cost.cap = Rate(rate.value);
  cost.latency = Seconds(switches_.latency ? fabric.latency.value : 0);
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
  if (profile_.device == DeviceKind::host) share_dram(cost, kDramPerReceived);
  return cost;
}

}  // namespace sluice::planner
