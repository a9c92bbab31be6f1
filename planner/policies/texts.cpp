// Built-in policies: peers' schedules as their public code runs them; docs/policies.md has the
// sources.
#include <array>

#include "planner/policies/policy_file.hpp"

namespace sluice::planner {
namespace {

constexpr std::array kPolicyTexts = {
    R"(name: zero-offload
summary: weights in HBM, fp32 state and Adam on the CPU after backward (DeepSpeed ZeRO-Offload)
job: {gradient_wire: bf16}
plan:
  weights: hbm
  gradients: host
  state: host
  keep: input
  executor: cpu
  when: after
  micro_batches_per_round: 1
  gradient_buffers: 2
)",
    R"(name: zero-infinity
summary: weights streamed layer by layer, state on the host, Adam on the CPU after backward
job: {gradient_wire: bf16}
plan:
  weights: host
  gradients: host
  state: host
  keep: input
  executor: cpu
  when: after
  micro_batches_per_round: 1
  weight_buffers: 3
  prefetch_depth: 1
  gradient_buffers: 2
)",
    R"(name: megatrain
summary: weights streamed forward and backward, bf16 state, clip and CPU Adam after (MegaTrain)
job: {optimizer.state: bf16}
plan:
  weights: host
  gradients: host
  state: host
  keep: input
  executor: cpu
  when: after
  rounds: 1
  weight_buffers: 2
  prefetch_depth: 1
  gradient_buffers: 2
)",
    R"(name: fsdp2-offload
summary: PyTorch FSDP2 with CPUOffloadPolicy, recomputing, Adam on the CPU after the clipped step
plan:
  weights: host
  gradients: host
  state: host
  keep: input
  executor: cpu
  when: after
  micro_batches_per_round: 1
  weight_buffers: 2
  prefetch_depth: 1
  gradient_buffers: 1
)",
    R"(name: resident
summary: everything in HBM, all activations kept, Adam on the GPU
plan:
  weights: hbm
  gradients: hbm
  state: hbm
  keep: all
  executor: gpu
  when: after
  micro_batches_per_round: 1
)",
    R"(name: resident-recompute
summary: everything in HBM, blocks recomputed from their inputs, Adam on the GPU
plan:
  weights: hbm
  gradients: hbm
  state: hbm
  keep: input
  executor: gpu
  when: after
  micro_batches_per_round: 1
)",
};

std::map<std::string, PolicyFile> read_built_in() {
  std::map<std::string, PolicyFile> policies;
  for (const char* text : kPolicyTexts) {
    PolicyFile policy = policy_from_yaml(text, "built-in policy");
    policies.emplace(policy.name, policy);
  }
  PolicyFile fp32 = policies.at("megatrain");
  fp32.name = "megatrain-fp32";
  fp32.summary = "MegaTrain's schedule with fp32 state, which the engine runs";
  fp32.job.erase("optimizer.state");
  policies.emplace(fp32.name, fp32);
  return policies;
}

}  // namespace

const std::map<std::string, PolicyFile>& built_in_policies() {
  static const std::map<std::string, PolicyFile> policies = read_built_in();
  return policies;
}

const PolicyFile* built_in_policy(const std::string& name) {
  const auto found = built_in_policies().find(name);
  return found == built_in_policies().end() ? nullptr : &found->second;
}

}  // namespace sluice::planner
