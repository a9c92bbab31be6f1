#include "planner/costs/rescaled_passes.hpp"

#include <optional>
#include <utility>

#include "planner/costs/cost_family.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/costs/probed_passes.hpp"

namespace sluice::planner {
namespace {

/// Work of the pass or device update that `key` names; none where the key does not say.
std::optional<Work> work_named_by(const CostKey& key) {
  if (key.kind() == CostKind::device_update) {
    Work work;
    const auto size = sized(key.name());
    if (size) work.parameters = static_cast<std::int64_t>(size->size);
    return work;
  }
  const std::optional<ProbedPass> probed = probed_pass(key);
  if (!probed) return std::nullopt;
  return work_of(probed->job, probed->pass, probed->unit);
}

}  // namespace

std::vector<MeasuredPass> rescaled_passes(const MachineProfile& measured,
                                          const MachineProfile& changed) {
  std::vector<MeasuredPass> passes = measured.passes;
  if (passes.empty()) return passes;
  const ProfileCostModel before(measured, {});
  const ProfileCostModel after(changed, {});
  for (MeasuredPass& pass : passes) {
    const CostKey key{pass.key};
    const std::optional<Work> work = work_named_by(key);
    if (!work) continue;
    const double was = before.compute(key, *work).amount.count();
    const double is = after.compute(key, *work).amount.count();
    if (!(was > 0) || !(is > 0) || is == was) continue;
    pass.time *= is / was;
    pass.deviation *= is / was;
  }
  return passes;
}

}  // namespace sluice::planner
