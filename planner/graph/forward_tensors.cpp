#include "planner/graph/forward_tensors.hpp"

#include <algorithm>

#include "planner/graph/buffer_schedule.hpp"
#include "planner/graph/record.hpp"
#include "sim/error.hpp"

namespace sluice::planner {

std::vector<Bytes> ForwardUnit::planes() const {
  std::vector<Bytes> starts;
  for (Bytes start{0}; start < bytes; start += ForwardTensors::kPlaneElement * elements) {
    starts.push_back(start);
  }
  return starts;
}

ForwardTensors::ForwardTensors(GraphWriter& writer, const Job& job, ForwardGoal goal,
                               const ForwardPlan& plan) {
  check(plan.weights.size() == unit_count(job.model), "one tier a unit");
  add_units(writer, job, plan);
  add_ring(writer, plan);
  if (goal == ForwardGoal::next_token && !ring.empty()) add_experts(writer, job);
  add_buffers(writer, job, goal);
}

/// Adds the routes by which chosen experts are loaded: with the few tokens of a part of one
/// sequence many experts stay idle.
void ForwardTensors::add_experts(GraphWriter& writer, const Job& job) {
  if (!job.model.experts) return;
  const std::int64_t count = job.model.experts->count;
  const TensorIndex chosen =
      writer.add_tensor({Arena::device, "routes", Bytes(4 * (count + 1)), "workspace"});
  experts = {chosen, expert_range(job.model).stride, count,
             expected_experts(*job.model.experts, job.micro_tokens())};
  for (std::size_t index = 0; index < units.size(); ++index) {
    if (!units[index].slot) continue;
    const std::int64_t layer = unit_at(job.model, index).layer;
    units[index].routed = routes(job.model, layer_kind(job.model, layer));
    if (units[index].routed) units[index].dense = expert_range(job.model, layer).first;
  }
}

void ForwardTensors::add_units(GraphWriter& writer, const Job& job, const ForwardPlan& plan) {
  for (std::size_t index = 0; index < plan.weights.size(); ++index) {
    ForwardUnit unit;
    unit.name = unit_name(job.model, index);
    unit.elements = unit_padded_size(job.model, index);
    unit.bytes = job.weight_element() * unit.elements;
    unit.loads = plan.weights[index] != Tier::hbm;
    const bool ends = index == 0 || index + 1 == plan.weights.size();
    if (unit.loads) {
      unit.host =
          writer.add_tensor({Arena::host, "master/" + unit.name, unit.bytes, "weights", true});
    }
    if (!unit.loads || ends) {
      unit.device = writer.add_tensor(
          {Arena::device, "weights/" + unit.name, unit.bytes, "weights", !unit.loads});
    }
    units.push_back(std::move(unit));
  }
}

void ForwardTensors::add_ring(GraphWriter& writer, const ForwardPlan& plan) {
  std::vector<WeightUse> streamed;
  Bytes largest{0};
  for (std::size_t index = 0; index < units.size(); ++index) {
    if (units[index].device) continue;
    streamed.push_back({static_cast<std::int64_t>(index)});
    largest = std::max(largest, units[index].bytes);
  }
  // A slot that nothing ever occupies would only take memory.
  const std::int64_t slots = std::min(plan.weight_buffers, std::ssize(streamed));
  depth = slots > 0 ? std::min(plan.prefetch_depth, slots - 1) : plan.prefetch_depth;
  if (slots == 0) return;
  for (std::int64_t i = 0; i < slots; ++i) {
    ring.push_back(writer.add_tensor(
        {Arena::device, "weight_buffer." + std::to_string(i), largest, "weights"}));
  }
  const auto assigned = assign_slots(streamed, slots, depth);
  for (std::size_t i = 0; i < streamed.size(); ++i) {
    units[static_cast<std::size_t>(streamed[i].block)].slot = assigned[i].slot;
  }
}

void ForwardTensors::add_buffers(GraphWriter& writer, const Job& job, ForwardGoal goal) {
  const bool loss = goal == ForwardGoal::loss;
  const BlockRecord record = block_record(job);
  const Bytes token_bytes(4 * (loss ? 2 * job.tokens() : job.micro_tokens()));
  host_tokens = writer.add_tensor({Arena::host, "tokens.host", token_bytes, "tokens"});
  tokens = writer.add_tensor({Arena::device, "tokens", token_bytes, "tokens"});
  workspace = writer.add_tensor(
      {Arena::device, "workspace", workspace_bytes(job, writer.device()), "workspace"});
  full_record = writer.add_tensor(
      {Arena::device, "full_record", record.all_bytes - record.input_bytes, "activations"});
  const std::int64_t micro_batches = loss ? job.micro_batches() : 1;
  for (std::int64_t m = 0; m < micro_batches; ++m) {
    for (std::vector<TensorIndex>& stream : streams) {
      const std::string name = std::string("stream.") + (&stream == streams ? "0" : "1");
      stream.push_back(writer.add_tensor(
          {Arena::device, name + "/m" + std::to_string(m), record.input_bytes, "activations"}));
    }
  }
  if (loss) {
    loss_sum =
        writer.add_tensor({Arena::host, "loss_sum", Bytes(8 * job.micro_batches()), "workspace"});
    return;
  }
  logits = writer.add_tensor({Arena::host, "logits", Bytes(4 * job.model.vocab), "workspace"});
  for (std::size_t unit = 1; unit + 1 < units.size(); ++unit) {
    key_values.push_back(writer.add_tensor({Arena::device, "key_values/" + units[unit].name,
                                            kept_bytes(job, unit_at(job.model, unit).layer),
                                            "keys and values", true}));
  }
}

}  // namespace sluice::planner
