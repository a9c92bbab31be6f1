#include "planner/requests/run_devices.hpp"

#include <algorithm>

#include "planner/costs/fabric_rates.hpp"
#include "planner/policies/run_job.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

std::string listed(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return text;
}

[[noreturn]] void refuse(const RunConfig& config, const std::string& field,
                         const std::string& fix) {
  throw BadRequest(field + ": does not go with devices " + std::to_string(config.devices) +
                   " in this version: " + fix + ", or set devices to 1");
}

void require_shared_steps(const RunConfig& config, const Job& job) {
  const std::vector<std::int64_t> numbers = ranks_of(job);
  if (std::ranges::find(numbers, config.devices) == numbers.end()) {
    throw BadRequest("devices: " + std::to_string(config.devices) + " cannot share a step of " +
                     std::to_string(job.micro_batches()) + " micro-batches in " +
                     std::to_string(job.groups) +
                     (job.groups == 1 ? " group: set it to " : " groups: set it to one of ") +
                     listed(numbers) + ", or change groups or batch_size");
  }
  if (config.policy) refuse(config, "policy", "leave it out");
  if (job.sequence_chunk) refuse(config, "policy", "leave one with sequence chunks out");
  if (job.optimizer.state == StateType::bf16_weights) {
    refuse(config, "optimizer.state", "set it to fp32");
  }
  if (job.optimizer.kind == OptimizerKind::muon) {
    refuse(config, "optimizer.kind", "set it to adamw, for a rank's slice holds no whole matrices");
  }
}

}  // namespace

std::optional<std::string> why_not_shared(RunConfig config, std::int64_t devices) {
  config.devices = devices;
  if (devices == 1) return std::nullopt;
  try {
    require_shared_steps(config, to_job(config));
  } catch (const BadRequest& refused) {
    return refused.what();
  }
  return std::nullopt;
}

void require_devices(const RunConfig& config, const Job& job, const ResolvedMachine& machine) {
  if (config.devices == 1) return;
  require_shared_steps(config, job);
  const auto there = machine.profile.devices;
  if (there && config.devices > *there) {
    throw BadRequest("devices: " + std::to_string(config.devices) + ", and machine " +
                     machine.profile.name + " has " + std::to_string(*there) +
                     (*there == 1 ? " GPU" : " GPUs") +
                     ": set devices to at most that, or name a machine with more");
  }
  if (!fabric_of(machine.profile)) {
    throw BadRequest("devices: machine " + machine.profile.name +
                     " states no fabric, so its GPUs cannot be timed together: set devices to 1, "
                     "name a machine with several GPUs, such as 4x-h100-sxm, or add `fabric` to "
                     "the profile");
  }
}

void require_one_device(const RunConfig& config, const std::string& what) {
  if (config.devices == 1) return;
  throw BadRequest("devices: " + what + " knows one device in this version: set devices to 1");
}

void require_ranks_of(const RunConfig& config, const Plan& plan, const std::string& where) {
  if (!config.stated.contains("devices") || plan.ranks == config.devices) return;
  throw BadRequest("plan: " + where + " is for " + std::to_string(plan.ranks) +
                   (plan.ranks == 1 ? " device" : " devices") + " and the run has devices " +
                   std::to_string(config.devices) + ": give one of the two");
}

}  // namespace sluice::planner
