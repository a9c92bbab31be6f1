#include "planner/guided/coarse_step.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "planner/costs/cost_key.hpp"
#include "planner/graph/graph_writer.hpp"
#include "planner/graph/record.hpp"
#include "planner/graph/steady_state.hpp"
#include "planner/graph/step_emitter.hpp"
#include "planner/layout/collective_memory.hpp"
#include "planner/layout/layout.hpp"
#include "planner/layout/memory.hpp"
#include "planner/models/unit_classes.hpp"

namespace sluice::planner {
namespace {

/// Micro-batches that stay apart, so that copies still overlap with parts of a block's pass; more
/// where records are copied.
constexpr std::int64_t kApart = 2, kApartWithCopies = 4;
/// Passes of blocks over all micro-batches below which copies are cut finer.
constexpr std::int64_t kFewPasses = 256;
/// Slots for records from which micro-batches go together, and the fewest of the coarse plan. With
/// fewer slots passes wait for stores, and would wait for the larger ones of joined micro-batches.
constexpr std::int64_t kManySlots = 4, kFewestSlots = 2;

/// Costs of a job whose micro-batches go together: passes take as long as all their parts.
class TogetherCosts : public CostModel {
 public:
  TogetherCosts(const CostModel& costs, const Job& parts, const Job& whole) : costs_(costs) {
    const auto count =
        static_cast<double>(parts.micro_batches()) / static_cast<double>(whole.micro_batches());
    const std::size_t head = unit_count(parts.model) - 1;
    std::vector<std::pair<Pass, std::size_t>> passes = {
        {Pass::embed_forward, 0}, {Pass::loss, head}, {Pass::embed_backward, 0}};
    for (const BlockClass& each : block_classes(parts.model)) {
      passes.insert(passes.end(), {{Pass::block_forward, each.unit},
                                   {Pass::block_recompute_input, each.unit},
                                   {Pass::block_recompute_selective, each.unit},
                                   {Pass::block_backward, each.unit}});
    }
    for (const auto& [pass, unit] : passes) {
      TaskCost cost = costs.compute(compute_key(parts, pass, unit), work_of(parts, pass, unit));
      cost.amount = cost.amount * count;
      cost.latency = cost.latency * count;
      passes_.emplace(compute_key(whole, pass, unit).name(), cost);
    }
  }
  [[nodiscard]] DeviceKind device() const override { return costs_.device(); }
  [[nodiscard]] std::optional<LaneBoost> boost() const override { return costs_.boost(); }
  [[nodiscard]] std::vector<LinkCapacity> links() const override { return costs_.links(); }
  [[nodiscard]] std::vector<LinkCapacity> disk_links() const override {
    return costs_.disk_links();
  }
  [[nodiscard]] std::vector<LaneInterference> interference(std::int64_t threads) const override {
    return costs_.interference(threads);
  }
  [[nodiscard]] TaskCost compute(const CostKey& key, const Work& work) const override {
    const auto known = passes_.find(key.name());
    return known != passes_.end() ? known->second : costs_.compute(key, work);
  }
  [[nodiscard]] TaskCost copy(const CostKey& key, CopyDirection direction,
                              Bytes bytes) const override {
    return costs_.copy(key, direction, bytes);
  }
  [[nodiscard]] TaskCost cpu_update(const CostKey& key, const Work& work) const override {
    return costs_.cpu_update(key, work);
  }
  [[nodiscard]] TaskCost launch(const CostKey& key, const Work& work) const override {
    return costs_.launch(key, work);
  }
  [[nodiscard]] TaskCost data(const CostKey& key, std::int64_t tokens) const override {
    return costs_.data(key, tokens);
  }
  [[nodiscard]] std::vector<LinkCapacity> fabric_links() const override {
    return costs_.fabric_links();
  }
  [[nodiscard]] std::vector<LaneInterference> fabric_interference() const override {
    return costs_.fabric_interference();
  }
  [[nodiscard]] TaskCost collective(const CostKey& key, Collective operation,
                                    Bytes bytes) const override {
    return costs_.collective(key, operation, bytes);
  }
  [[nodiscard]] std::string hash() const override { return costs_.hash(); }

 private:
  const CostModel& costs_;
  std::map<std::string, TaskCost> passes_;
};

bool offloads(const Plan& plan) {
  return std::any_of(plan.units.begin(), plan.units.end(),
                     [](const UnitPlan& unit) { return unit.keep_tier == Tier::host; });
}

}  // namespace

CoarseSteps::CoarseSteps(const Predictor& predictor) : predictor_(&predictor) {}

std::int64_t CoarseSteps::together(const Plan& plan) const {
  const std::int64_t all = plan.micro_batches_per_round;
  const std::int64_t apart = offloads(plan) ? kApartWithCopies : kApart;
  std::int64_t most = 1;
  const Job& job = predictor_->part();
  if (job.sequence_chunk) return 1;  // Chunks of a sequence take unequal times.
  // Micro-batches that go together are of one group.
  if (job.groups > 1 && job.micro_batches() % job.groups != 0) return 1;
  const std::int64_t group = job.groups > 1 ? job.micro_batches() / job.groups : all;
  const std::int64_t most_together =
      offloads(plan) && plan.activation_buffers < kManySlots ? 1 : all;
  for (std::int64_t each = 1; each <= std::min(all, most_together); ++each) {
    if (all % each == 0 && group % each == 0 && all / each >= std::min(apart, all)) most = each;
  }
  return most;
}

std::int64_t CoarseSteps::times_fewer(const Plan& plan) const {
  return offloads(plan) ? std::max<std::int64_t>(1, together(plan) / 2) : together(plan);
}

Bytes CoarseSteps::chunk(const Plan& plan) const {
  const Bytes weights(unit_padded_size(predictor_->part().model, 1) * 2);
  if (plan.copy_chunk.count() == 0) return Bytes(0);
  // Where passes are few, copies weigh more and cost less.
  const Job& job = predictor_->part();
  const bool few = job.model.layers * job.micro_batches() < kFewPasses;
  return std::max(plan.copy_chunk, weights / (few ? 4 : 2));
}

CoarseStep CoarseSteps::step(const Plan& plan, Duration limit) const {
  const Job& parts = predictor_->part();
  validate(plan, predictor_->job());
  const std::int64_t count = together(plan);
  Job job = parts;
  job.micro_batch *= count;
  Plan coarse = plan;
  coarse.micro_batches_per_round /= count;
  if (count > 1) {
    coarse.activation_buffers =
        std::max(kFewestSlots, (plan.activation_buffers + count - 1) / count);
  }
  coarse.copy_chunk = chunk(plan);
  const TogetherCosts costs(predictor_->costs(), parts, job);
  GraphWriter writer(job, costs, plan.threads, GraphDetail::timing, plan.ranks, plan.hosts);
  StepEmitter emitter(writer, job, coarse);
  StepGraph graph = three_steps(writer, emitter);
  const Duration period = simulate_steady(graph).period(*graph.graph.period());
  if (period >= limit) return {.step = period};
  const MachineProfile& profile = predictor_->machine().profile;
  const Layout layout = lay_out(graph);
  const Bytes host = layout.host_bytes_of(plan.ranks, plan.hosts);
  const Bytes device = layout.device_bytes + outside_arena_bytes(job, profile) +
                       collective_bytes(profile.device, plan.ranks) +
                       page_table_bytes(predictor_->machine(), host) - enlarged(plan, coarse, job);
  return {.step = period, .hbm = device, .host = host + process_bytes(profile.device)};
}

/// Bytes that larger micro-batches add to scratch and to slots.
Bytes CoarseSteps::enlarged(const Plan& plan, const Plan& coarse, const Job& together) const {
  const Job& parts = predictor_->part();
  const BlockRecord record = block_record(parts), larger = block_record(together);
  const DeviceKind device = predictor_->costs().device();
  Bytes more = workspace_bytes(together, device) - workspace_bytes(parts, device);
  Bytes rebuilt{0}, rebuilt_larger{0}, slot{0}, slot_larger{0};
  std::int64_t occupants = 0;
  for (std::size_t unit = 1; unit + 1 < plan.units.size(); ++unit) {
    const UnitPlan& choice = plan.units[unit];
    rebuilt = std::max(rebuilt, record.all_bytes - record.kept(choice.keep));
    rebuilt_larger = std::max(rebuilt_larger, larger.all_bytes - larger.kept(choice.keep));
    if (choice.keep_tier != Tier::host) continue;
    slot = std::max(slot, record.kept(choice.keep));
    slot_larger = std::max(slot_larger, larger.kept(choice.keep));
    occupants += plan.micro_batches_per_round;
  }
  more += rebuilt_larger - rebuilt;
  const std::int64_t fewer = occupants * coarse.micro_batches_per_round /
                             std::max<std::int64_t>(1, plan.micro_batches_per_round);
  return more + slot_larger * std::min(coarse.activation_buffers, fewer) -
         slot * std::min(plan.activation_buffers, occupants);
}

}  // namespace sluice::planner
