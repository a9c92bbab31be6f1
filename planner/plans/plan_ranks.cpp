#include <algorithm>
#include <string>

#include "planner/models/group_tree.hpp"
#include "planner/models/slices.hpp"
#include "planner/plans/plan.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kMostBuffers = 64;

void require_for_ranks(bool holds, const std::string& field, const std::string& reason) {
  if (!holds) throw BadRequest("plan: " + field + ": " + reason);
}

std::string listed(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return text;
}

/// Refuses fields that plans of several ranks cannot have in this version, by name.
void refuse_with_ranks(const Plan& plan, const Job& job) {
  const auto refuse = [&plan](bool found, const std::string& field, const std::string& fix) {
    require_for_ranks(!found, field,
                      "does not go with " + std::to_string(plan.ranks) +
                          " ranks in this version: " + fix + ", or set ranks to 1");
  };
  refuse(!plan.saved_records.empty(), "saved_records", "leave it out");
  refuse(!plan.host_passes.empty(), "host_passes", "leave them out");
  refuse(job.sequence_chunk.has_value(), "ranks", "leave sequence_chunk of the job out");
  refuse(job.optimizer.state == StateType::bf16_weights, "ranks", "set optimizer.state to fp32");
  // A slice does not hold whole matrices.
  refuse(job.optimizer.kind == OptimizerKind::muon, "ranks", "set optimizer.kind to adamw");
  for (std::size_t i = 0; i < plan.units.size(); ++i) {
    // Between rounds a rank's own sum waits whole, and pieces on the disk are of its slice.
    if (plan.units[i].gradients != Tier::disk || plan.rounds == 1) continue;
    refuse(true, "layers[" + std::to_string(i) + "].gradients", "set disk to host, plan one round");
  }
}

}  // namespace

std::vector<std::int64_t> ranks_of(const Job& job) {
  std::vector<std::int64_t> ranks = admissible_ranks(job.groups);
  std::erase_if(ranks, [&job](std::int64_t each) { return job.micro_batches() % each != 0; });
  return ranks;
}

std::int64_t summing_hosts(std::int64_t ranks, std::int64_t hosts) {
  if (hosts <= 1 || ranks % hosts != 0) return 1;
  const std::int64_t local = ranks / hosts;
  const bool power_of_two = local > 1 && (local & (local - 1)) == 0;
  return power_of_two ? hosts : 1;
}

void validate_ranks(const Plan& plan, const Job& job) {
  for (std::size_t i = 0; i < plan.units.size(); ++i) {
    const UnitPlan& unit = plan.units[i];
    if (unit.resident == Extent::whole) continue;
    require_for_ranks(plan.ranks > 1 && unit.weights == Tier::hbm && unit.executor == Executor::gpu,
                      "layers[" + std::to_string(i) + "].resident",
                      "slice needs several ranks, weights hbm and executor gpu: set them, or leave "
                      "resident out");
  }
  const bool share = plan.gather == Gather::host && plan.hosts > 1;
  require_for_ranks(
      plan.hosts == 1 || sums_in_two(plan) || (share && plan.ranks % plan.hosts == 0), "hosts",
      std::to_string(plan.hosts) + " must be 1, or hold " + (share ? "as many" : "2, 4, 8, ...") +
          " of the " + std::to_string(plan.ranks) + " ranks each");
  require_for_ranks(plan.ranks > 1 || plan.gather == Gather::fabric, "gather",
                    "host needs several ranks: set devices, or leave gather out");
  if (plan.ranks == 1) return;
  const std::vector<std::int64_t> ranks = ranks_of(job);
  require_for_ranks(std::ranges::find(ranks, plan.ranks) != ranks.end(), "ranks",
                    std::to_string(plan.ranks) + " cannot share a step of " +
                        std::to_string(job.micro_batches()) + " micro-batches in " +
                        std::to_string(job.groups) +
                        (job.groups == 1 ? " group: set it to " : " groups: set it to one of ") +
                        listed(ranks) + ", or change groups or batch_size of the job");
  const Bytes least(kNormBlock * job.gradient_element().count());
  require_for_ranks(plan.exchange_piece >= least, "exchange_piece_bytes",
                    std::to_string(plan.exchange_piece.count()) + " must be at least " +
                        std::to_string(least.count()));
  require_for_ranks(plan.receive_buffers >= 1 && plan.receive_buffers <= kMostBuffers,
                    "receive_buffers",
                    std::to_string(plan.receive_buffers) + " must be between 1 and " +
                        std::to_string(kMostBuffers));
  refuse_with_ranks(plan, job);
}

}  // namespace sluice::planner
