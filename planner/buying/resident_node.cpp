#include "planner/buying/resident_node.hpp"

#include <algorithm>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/composed_machine.hpp"
#include "planner/layout/memory.hpp"
#include "planner/predictions/ceilings.hpp"
#include "planner/predictions/predict.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kNode = 8;

/// Bytes/s of one GPU's NVLink in each direction (NVIDIA datasheets: NVLink 3, 4 and 5).
double nvlink(const GpuPart& gpu) {
  if (gpu.node_link.count() > 0) return gpu.node_link.count();
  if (gpu.architecture == "sm_80") return 300e9;
  return gpu.architecture == "sm_90" ? 450e9 : 900e9;
}

Bytes needed_bytes(const Job& job, const MachineProfile& machine) {
  constexpr double kSharded = 18, kBf16 = 2;
  const double block = static_cast<double>(unit_padded_size(job.model, 1));
  const double micro = static_cast<double>(job.micro_batch * job.seq_len);
  const double inputs =
      kBf16 * micro * static_cast<double>(job.model.hidden * (job.model.layers + 8));
  const double sharded = kSharded * static_cast<double>(parameter_count(job.model)) / kNode;
  return Bytes(static_cast<std::int64_t>(sharded + 2 * kBf16 * block + inputs)) +
         context_bytes(machine);
}

ResidentNode node_of(const Job& job, const Build& build) {
  const GpuPart& gpu = find_gpu(build.parts.gpu);
  ResidentNode node{.name = std::to_string(kNode) + "x-" + gpu.name, .gpu = gpu.name};
  ResolvedMachine machine;
  machine.profile = find_machine(build.name);
  machine.hbm = Bytes(static_cast<std::int64_t>(machine.profile.hbm.value));
  machine.host = Bytes(static_cast<std::int64_t>(machine.profile.host.value));
  node.capacity = machine.hbm;
  node.needed = needed_bytes(job, machine.profile);
  node.fits = node.needed <= node.capacity;
  const Seconds one = ceilings_of(job, machine, {}, Residency::automatic).compute();
  // Whole micro-batches go to a GPU: the last ones may leave some of the eight idle.
  const std::int64_t micro = job.micro_batches();
  const std::int64_t busiest = (micro + kNode - 1) / kNode;
  const double share = static_cast<double>(busiest) / static_cast<double>(micro);
  const Predictor predictor(job, machine, {});
  const Seconds compute =
      predictor.bound().each[static_cast<std::size_t>(BoundBy::compute)] * share;
  const Seconds link(3 * 2 * static_cast<double>(parameter_count(job.model)) / nvlink(gpu));
  node.least = std::max(one * share, link);
  node.step = std::max(compute, link);
  node.most = std::max(compute, one * share) + link;
  node.limit = link > compute ? "nvlink" : "compute";
  node.tokens_per_s = static_cast<double>(job.tokens()) / node.step.count();
  return node;
}

}  // namespace

std::vector<ResidentNode> resident_nodes(const Job& job) {
  std::vector<ResidentNode> nodes;
  std::vector<std::string> seen;
  for (const Build& build : builds()) {
    if (find_gpu(build.parts.gpu).node_gpus != kNode) continue;
    if (std::ranges::find(seen, build.parts.gpu) != seen.end()) continue;
    seen.push_back(build.parts.gpu);
    nodes.push_back(node_of(job, build));
  }
  return nodes;
}

}  // namespace sluice::planner
