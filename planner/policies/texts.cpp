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
    // MegaTrain's public code of spring 2026 (infinity/model/cpu_master.py, examples/train.py at
    // commit 919520f): every fourth block's input is kept (checkpoint_interval), so blocks pass
    // forward three times; embedding and head stay on the device and are copied there after each
    // update. Between steps the CPU works alone. Bytes of a parameter are what a pass reads and
    // writes, a line that is written being read first unless it was read anyhow. Two are not
    // counted but measured, by PyTorch 1.13 on one core of a Xeon whose AdamW takes 1.31 ns for 28
    // bytes (2026-11-27, experiments/peers/host_passes.py): norm, 0.264 ns, and free, 0.05 ns.
    //   norm       torch.nn.utils.clip_grad_norm_: vector_norm of each bf16 gradient, vectorised,
    //              on one thread; its additions wait for each other: 5.7 instead of 2
    //   clip       gradients times the coefficient, whatever that is: 2 read, 2 written
    //   copy_back  weights of embedding and head from pageable memory, which the driver copies to a
    //              pinned buffer on one thread: 2 read, 2 + 2 written
    //   zero       Module.zero_grad: 2 + 2 written
    //   free       Optimizer.zero_grad gives the gradients' pages back to the system: 1.1
    R"(name: megatrain
summary: weights streamed forward twice and backward, bf16 state, clip and CPU Adam after (MegaTrain)
job: {optimizer.state: bf16-weights}
operators: eager
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
  checkpoint_interval: 4
ends: {weights: hbm}
passes:
  - {name: norm, moment: before_update, over: all, threads: one, bytes: 5.7}
  - {name: clip, moment: before_update, over: all, threads: all, bytes: 4}
  - {name: copy_back, moment: after_update, over: ends, threads: one, bytes: 6}
  - {name: zero, moment: after_update, over: all, threads: all, bytes: 4}
  - {name: free, moment: after_update, over: all, threads: one, bytes: 1.1}
)",
    R"(name: megatrain-schedule
summary: MegaTrain's schedule with bf16 state and this engine's kernels, below its program's step
job: {optimizer.state: bf16-weights}
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
    R"(name: megatrain-fp32
summary: MegaTrain's schedule with fp32 state, which the engine runs
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
    // PyTorch's own program of that schedule: its operators one by one, its norm and clip
    // (torch.nn.utils.clip_grad_norm_ over fp32 gradients on the CPU: 4 bytes read and written a
    // parameter) as for MegaTrain above.
    R"(name: fsdp2-offload-eager
summary: PyTorch FSDP2 with CPUOffloadPolicy as its program runs, predicted only
operators: eager
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
passes:
  - {name: norm, moment: before_update, over: all, threads: one, bytes: 5.7}
  - {name: clip, moment: before_update, over: all, threads: all, bytes: 8}
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
