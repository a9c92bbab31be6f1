#include "planner/requests/run_needs.hpp"

#include "planner/catalogue/several_gpus.hpp"
#include "planner/catalogue/validated_case.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/runs/several_hosts.hpp"

namespace sluice::planner {

RunNeeds run_needs(const Prediction& prediction, const Predictor& predictor,
                   const RunConfig& config) {
  const Job& job = predictor.job();
  const std::string& machine = config.machine;
  const SavingPlan saving = plan_saving(config, job, prediction, predictor.machine());
  RunNeeds needs{.phases = phase_memory(job, prediction.memory, predictor.machine(), saving),
                 .checkpoint = checkpoint_bytes(job),
                 .checkpoint_a_parameter = static_cast<double>(checkpoint_bytes(job).count()) /
                                           static_cast<double>(parameter_count(job.model)),
                 .nearest_case = to_text(nearest_case(job, predictor.machine().profile))};
  needs.devices = prediction.plan.ranks;
  const auto counted = find_counted_parts(machine);
  if (!counted) {
    const double rated = predictor.machine().profile.disk_endurance.value;
    if (rated > 0 || uses_disk(prediction.plan)) needs.wear = ssd_wear(job, prediction.plan, rated);
    return needs;
  }
  const Composition* parts = &counted->parts;
  const SsdPart& ssd = find_ssd(parts->ssd.kind);
  needs.gpus = find_gpu(parts->gpu).node_gpus;
  needs.wear = ssd_wear(
      job, prediction.plan,
      static_cast<double>(hosts_of(config) * parts->ssd.count * ssd.size.count()) * ssd.endurance);
  return needs;
}

}  // namespace sluice::planner
