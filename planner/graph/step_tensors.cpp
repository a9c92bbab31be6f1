#include "planner/graph/step_tensors.hpp"

#include <algorithm>

#include "planner/graph/kept_forms.hpp"
#include "planner/graph/step_sums.hpp"
#include "planner/graph/unit_memory.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
bool is_block(const Plan& plan, std::size_t unit) {
  return unit > 0 && unit + 1 < plan.units.size();
}

bool offloads_record(const Plan& plan, std::size_t unit) {
  return is_block(plan, unit) && plan.units[unit].keep_tier == Tier::host;
}

bool input_in_stream(const Plan& plan, std::size_t unit) {
  return unit + 1 == plan.units.size() || offloads_record(plan, unit) ||
         !plan.saved_records.empty() || !keeps_input(plan, unit);
}

Bytes context_part(const Job& job) {
  return job.compute_element() * (2 * job.micro_tokens() * job.model.kv_heads * job.model.head_dim);
}

StepTensors::StepTensors(GraphWriter& writer, const Job& job, const Plan& plan) {
  const Bytes token_bytes(2 * job.tokens() * 4);
  host_tokens = writer.add_tensor({Arena::host, "tokens.host", token_bytes, "tokens"});
  tokens = writer.add_tensor({Arena::device, "tokens", token_bytes, "tokens"});
  workspace = writer.add_tensor(
      {Arena::device, "workspace", workspace_bytes(job, writer.device()), "workspace"});
  const std::int64_t micro_batches = job.micro_batches() * plan.ranks;
  // What the CPU reads of a step lies where it reads it, so that nothing has to be fetched.
  loss_sum = writer.add_tensor({Arena::host, "loss_sum", Bytes(8 * micro_batches), "workspace"});
  if (job.router_aux_loss_coef) {
    balance_loss =
        writer.add_tensor({Arena::host, "balance_loss", Bytes(8 * micro_batches), "workspace"});
  }
  norm_sums =
      writer.add_tensor({Arena::host, "norm_sums",
                         Bytes(8 * static_cast<std::int64_t>(plan.units.size())), "workspace"});
  writer.graph().disk.resize(plan.units.size());
  if (uses_disk(plan)) writer.add_disk();
  add_units(writer, job, plan);
  add_norm_blocks(writer, job, plan);
  add_streams(writer, job, plan);
  add_slots(writer, job, plan);
  add_rings(writer, job, plan);
  if (job.groups > 1) add_group_sums(writer, job, plan);
  if (plan.ranks > 1) add_receive_ring(writer, job, plan);
  if (plan.gather == Gather::host) add_shares(writer, job, plan);
}

void StepTensors::add_units(GraphWriter& writer, const Job& job, const Plan& plan) {
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) add_unit(writer, job, plan, unit);
  if (job.model.tied_head) {
    tied_gradient =
        writer.add_tensor({Arena::device, "gradient.tied",
                           job.gradient_element() * units.front().parameters, "gradients"});
  }
}

void StepTensors::add_unit(GraphWriter& writer, const Job& job, const Plan& plan,
                           std::size_t unit) {
  const UnitPlan& choice = plan.units[unit];
  const std::string name = unit_name(job.model, unit);
  UnitTensorSet set;
  const UnitSize size = unit_size(job, unit);
  set.slice = slice_of(size, plan.ranks).parameters;
  set.second = slice_of(size, plan.ranks).second;
  set.parameters = set.slice * plan.ranks;
  const UnitMemory memory = unit_memory(job, choice, plan.rounds, size, plan.ranks);
  const Bytes weights = job.weight_element() * set.parameters;
  const Bytes master_size = job.master_bytes(set.slice);
  const Bytes moment_size = job.moment_bytes(set.slice);
  const Bytes second_size = job.moment_bytes(set.second);
  const bool resident_state = choice.state == Tier::hbm;
  const Arena state_arena = resident_state ? Arena::device : Arena::host;
  const bool sliced = choice.resident == Extent::slice;
  if (resident_state && sliced) {
    set.resident_slice =
        writer.add_tensor({Arena::device, "master/" + name, master_size, "weights", true});
  } else if (resident_state && plan.ranks > 1) {
    set.device_weights =
        writer.add_tensor({Arena::device, "weights/" + name, weights, "weights", true});
    const Bytes low = master_size - job.weight_element() * set.slice;
    if (low > Bytes(0)) {
      set.device_low = writer.add_tensor({Arena::device, "low/" + name, low, "weights", true});
    }
  } else if (resident_state) {
    set.device_weights =
        writer.add_tensor({Arena::device, "master/" + name, master_size, "weights", true});
  } else {
    const bool on_disk = choice.state == Tier::disk;
    if (pulls_weights(plan, choice)) {
      add_shared(writer, job, choice, name, set);
    } else if (choice.weights != Tier::disk) {
      set.master = writer.add_tensor({Arena::host, "master/" + name,
                                      on_disk ? job.weight_element() * set.slice : master_size,
                                      "weights", true});
    }
    if (sliced) {
      set.resident_slice = writer.add_tensor({Arena::device, "weights_slice/" + name,
                                              job.weight_element() * set.slice, "weights", true});
    } else if (choice.weights == Tier::hbm || !is_block(plan, unit)) {
      set.device_weights = writer.add_tensor(
          {Arena::device, "weights/" + name, weights, "weights", choice.weights == Tier::hbm});
    }
  }
  if (sliced && !is_block(plan, unit)) {
    set.device_weights = writer.add_tensor({Arena::device, "gathered/" + name, weights, "weights"});
  }
  if (is_block(plan, unit)) {
    const Bytes forms = kept_form_bytes(job, choice, static_cast<std::int64_t>(unit) - 1,
                                        plan.rounds, writer.device());
    if (forms > Bytes(0)) {
      set.fp8_forms = writer.add_tensor({Arena::device, "fp8/" + name, forms, "FP8 weights kept"});
    }
  }
  if (choice.state == Tier::disk) {
    std::vector<DiskPiece>& pieces = writer.graph().disk[unit];
    pieces = disk_pieces(job, plan, choice, set.slice);
    if (choice.gradients == Tier::disk) {
      set.disk_gradient =
          writer.add_tensor({Arena::disk, "gradient.disk/" + name, waiting_bytes(pieces),
                             "gradients", false, kDiskBlock});
    }
    if (choice.weights == Tier::disk) {
      set.disk_weights = writer.add_tensor({Arena::disk, "weights.disk/" + name,
                                            weights_on_disk(pieces), "weights", true, kDiskBlock});
    }
    set.disk_state = writer.add_tensor(
        {Arena::disk, "state/" + name, disk_bytes(pieces), "state", true, kDiskBlock});
  } else {
    set.moment1 = writer.add_tensor({state_arena, "moment1/" + name, moment_size, "state", true});
    set.moment2 = writer.add_tensor({state_arena, "moment2/" + name, second_size, "state", true});
  }
  if (stages_state(choice) && !rotates_state(choice)) {
    const auto stage = [&](const char* plane, Bytes bytes) {
      return writer.add_tensor(
          {Arena::device, std::string("staged.") + plane + "/" + name, bytes, "staged state"});
    };
    const Bytes master = memory.staged - moment_size - second_size;
    if (master.count() > 0) set.staged_master = stage("master", master);
    set.staged_moment1 = stage("moment1", moment_size);
    set.staged_moment2 = stage("moment2", second_size);
  }
  if (waits_as_slice(plan.ranks, plan.rounds, choice)) {
    set.waiting_slice = writer.add_tensor(
        {Arena::device, "gradient/" + name, memory.waiting_gradient, "gradients"});
  } else if (!streams_gradient(plan, choice)) {
    set.device_gradient = writer.add_tensor(
        {Arena::device, "gradient/" + name, memory.waiting_gradient, "gradients"});
  } else if (choice.gradients == Tier::host && memory.host_gradient > Bytes(0)) {
    set.host_gradient = writer.add_tensor(
        {Arena::host, "gradient.host/" + name, memory.host_gradient, "gradients"});
  }
  units.push_back(std::move(set));
}

void StepTensors::add_norm_blocks(GraphWriter& writer, const Job& job, const Plan& plan) {
  if (plan.ranks > 1) {
    const Bytes run = step_sums(job, plan.ranks).run;
    norm_blocks = writer.add_tensor({Arena::device, "step_sums", run * plan.ranks, "workspace"});
    return;
  }
  std::int64_t largest = 0;
  for (const UnitTensorSet& set : units) largest = std::max(largest, set.parameters);
  const std::int64_t blocks = (largest + kNormBlock - 1) / kNormBlock;
  norm_blocks = writer.add_tensor({Arena::device, "norm_blocks", Bytes(8 * blocks), "workspace"});
}

void StepTensors::add_streams(GraphWriter& writer, const Job& job, const Plan& plan) {
  const BlockRecord record = block_record(job);
  const Bytes stream_size = stream_bytes(job);
  const bool in_slots = !plan.saved_records.empty();
  Bytes largest_rest{0};
  const auto streams = static_cast<std::size_t>(plan.stream_buffers);
  std::array<bool, kMostStreams> stream_used{};
  for (std::size_t unit = 1; unit < plan.units.size(); ++unit) {
    if (input_in_stream(plan, unit)) stream_used[unit % streams] = true;
    if (!is_block(plan, unit) || in_slots) continue;
    const UnitPlan& choice = plan.units[unit];
    const Bytes kept = record.kept(choice.keep);
    largest_rest = std::max(largest_rest, record.all_bytes - kept);
    auto& set = units[unit];
    for (std::int64_t m = 0; m < plan.micro_batches_per_round; ++m) {
      const std::string name = unit_name(job.model, unit) + "/m" + std::to_string(m);
      if (choice.keep_tier == Tier::host) {
        set.host_records.push_back(
            writer.add_tensor({Arena::host, "record.host/" + name, kept, "activations"}));
      } else {
        set.records.push_back(
            writer.add_tensor({Arena::device, "record/" + name, kept, "activations"}));
      }
    }
  }
  for (std::int64_t m = 0; m < plan.micro_batches_per_round; ++m) {
    const std::string suffix = "/m" + std::to_string(m);
    for (std::size_t buffer = 0; buffer < streams; ++buffer) {
      if (!stream_used[buffer]) continue;
      stream[buffer].push_back(
          writer.add_tensor({Arena::device, "stream." + std::to_string(buffer) + suffix,
                             stream_size, "activations"}));
    }
    stream_gradient.push_back(
        writer.add_tensor({Arena::device, "stream_gradient" + suffix, stream_size, "activations"}));
  }
  if (largest_rest.count() > 0) {
    full_record = writer.add_tensor({Arena::device, "full_record", largest_rest, "activations"});
  }
}

}  // namespace sluice::planner
