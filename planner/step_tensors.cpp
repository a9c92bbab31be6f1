#include "planner/step_tensors.hpp"

#include <algorithm>

#include "planner/layout.hpp"
#include "planner/staged_state.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

bool is_block(const Plan& plan, std::size_t unit) {
  return unit > 0 && unit + 1 < plan.units.size();
}

bool offloads_record(const Plan& plan, std::size_t unit) {
  return is_block(plan, unit) && plan.units[unit].keep_tier == Tier::host;
}

Ring make_ring(GraphWriter& writer, Arena arena, const std::string& name, const std::string& part,
               std::int64_t slots, Bytes bytes, bool counted, Bytes alignment = kPlacementAlign) {
  Ring ring;
  for (std::int64_t i = 0; i < slots; ++i) {
    ring.slots.push_back(
        writer.add_tensor({arena, name + "." + std::to_string(i), bytes, part, false, alignment}));
  }
  if (counted) ring.pool = writer.add_pool(name, bytes * slots);
  return ring;
}

}  // namespace

bool input_in_stream(const Plan& plan, std::size_t unit) {
  return unit + 1 == plan.units.size() || offloads_record(plan, unit) ||
         !plan.saved_records.empty();
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
  // What the CPU reads of a step lies where it reads it, so that nothing has to be fetched.
  loss_sum =
      writer.add_tensor({Arena::host, "loss_sum", Bytes(8 * job.micro_batches()), "workspace"});
  if (job.router_aux_loss_coef && writer.device() == DeviceKind::host) {
    balance_loss = writer.add_tensor(
        {Arena::host, "balance_loss", Bytes(8 * job.micro_batches()), "workspace"});
  }
  norm_sums =
      writer.add_tensor({Arena::host, "norm_sums",
                         Bytes(8 * static_cast<std::int64_t>(plan.units.size())), "workspace"});
  writer.graph().disk.resize(plan.units.size());
  if (uses_disk(plan)) writer.add_disk();
  add_units(writer, job, plan);
  add_norm_blocks(writer);
  add_streams(writer, job, plan);
  add_slots(writer, job, plan);
  add_rings(writer, job, plan);
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
  set.parameters = unit_padded_size(job.model, unit);
  const auto sized = [&](Bytes element) { return element * set.parameters; };
  const Bytes master_size = job.master_bytes(set.parameters);
  const Bytes moment_size = job.moment_bytes(set.parameters);
  const bool resident_state = choice.state == Tier::hbm;
  const Arena state_arena = resident_state ? Arena::device : Arena::host;
  if (resident_state) {
    set.device_weights =
        writer.add_tensor({Arena::device, "master/" + name, master_size, "weights", true});
  } else {
    const bool on_disk = choice.state == Tier::disk;
    if (choice.weights != Tier::disk) {
      set.master =
          writer.add_tensor({Arena::host, "master/" + name,
                             on_disk ? sized(job.weight_element()) : master_size, "weights", true});
    }
    if (choice.weights == Tier::hbm || !is_block(plan, unit)) {
      set.device_weights =
          writer.add_tensor({Arena::device, "weights/" + name, sized(job.weight_element()),
                             "weights", choice.weights == Tier::hbm});
    }
  }
  if (choice.state == Tier::disk) {
    std::vector<DiskPiece>& pieces = writer.graph().disk[unit];
    pieces = disk_pieces(job, plan, choice, set.parameters);
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
    set.moment2 = writer.add_tensor({state_arena, "moment2/" + name, moment_size, "state", true});
  }
  if (stages_state(choice) && !rotates_state(choice)) {
    const auto stage = [&](const char* plane, Bytes bytes) {
      return writer.add_tensor(
          {Arena::device, std::string("staged.") + plane + "/" + name, bytes, "staged state"});
    };
    const Bytes master = staged_bytes(choice, job, set.parameters) - moment_size * 2;
    if (master.count() > 0) set.staged_master = stage("master", master);
    set.staged_moment1 = stage("moment1", moment_size);
    set.staged_moment2 = stage("moment2", moment_size);
  }
  if (choice.gradients == Tier::hbm) {
    set.device_gradient = writer.add_tensor(
        {Arena::device, "gradient/" + name, sized(job.gradient_element()), "gradients"});
  } else if (choice.gradients == Tier::host) {
    set.host_gradient = writer.add_tensor(
        {Arena::host, "gradient.host/" + name, sized(waiting_element(job, plan)), "gradients"});
  }
  units.push_back(std::move(set));
}

void StepTensors::add_norm_blocks(GraphWriter& writer) {
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
  bool stream_used[2] = {false, false};
  for (std::size_t unit = 1; unit < plan.units.size(); ++unit) {
    if (input_in_stream(plan, unit)) stream_used[unit % 2] = true;
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
    for (int parity = 0; parity < 2; ++parity) {
      if (!stream_used[parity]) continue;
      stream[parity].push_back(
          writer.add_tensor({Arena::device, "stream." + std::to_string(parity) + suffix,
                             stream_size, "activations"}));
    }
    stream_gradient.push_back(
        writer.add_tensor({Arena::device, "stream_gradient" + suffix, stream_size, "activations"}));
  }
  if (largest_rest.count() > 0) {
    full_record = writer.add_tensor({Arena::device, "full_record", largest_rest, "activations"});
  }
}

void StepTensors::add_slots(GraphWriter& writer, const Job& job, const Plan& plan) {
  if (job.sequence_chunk) {
    const Bytes size = context_part(job) * job.chunks_per_sequence();
    context = writer.add_tensor({Arena::device, "context", size, "activations"});
    context_gradient = writer.add_tensor({Arena::device, "context_gradient", size, "activations"});
  }
  if (plan.saved_records.empty()) return;
  const BlockRecord record = block_record(job);
  const auto round = static_cast<std::size_t>(plan.micro_batches_per_round);
  for (std::size_t i = 0; i < plan.saved_records.size(); ++i) {
    const std::size_t unit = 1 + i / round;
    units[unit].host_records.push_back(writer.add_tensor(
        {Arena::host,
         "record.host/" + unit_name(job.model, unit) + "/m" + std::to_string(i % round),
         record.kept(plan.saved_records[i]), "activations"}));
  }
  activation_ring = make_ring(writer, Arena::device, "activation_buffer", "activations",
                              plan.activation_buffers, record.all_bytes, false);
}

void StepTensors::add_rings(GraphWriter& writer, const Job& job, const Plan& plan) {
  // What passes through a ring: how many occupants, and the largest of them.
  struct Traffic {
    std::int64_t occupants = 0, largest = 0;
    void add(std::int64_t size, std::int64_t count = 1) {
      occupants += count;
      largest = std::max(largest, size);
    }
  };
  Traffic weights, gradients, staged, records, io_gradients, states, pieces, disk_weights;
  const BlockRecord record = block_record(job);
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    const UnitPlan& choice = plan.units[unit];
    const std::int64_t size = units[unit].parameters;
    for (const DiskPiece& piece : writer.graph().disk[unit]) {
      pieces.add(piece.buffer_bytes().count());
      if (units[unit].disk_weights) disk_weights.add(piece.weights_bytes.count());
    }
    if (rotates_state(choice)) {
      states.add((staged_bytes(choice, job, size) + job.gradient_wire_element() * size).count());
    }
    if (is_block(plan, unit)) {
      if (streams_weights(choice)) weights.add(size);
      if (stores_gradient(choice)) gradients.add(size);
      if (offloads_record(plan, unit)) {
        records.add(record.kept(choice.keep).count(), plan.micro_batches_per_round);
      }
    } else if (stores_gradient(choice)) {
      io_gradients.add(size);
    }
    if (choice.gradients == Tier::hbm && choice.executor == Executor::cpu) staged.add(size);
  }
  const auto ring = [&](Arena arena, const char* name, const char* part, std::int64_t slots,
                        const Traffic& traffic, std::int64_t element, bool counted) {
    // A slot that nothing ever occupies would only take memory.
    return make_ring(writer, arena, name, part, std::min(slots, traffic.occupants),
                     Bytes(traffic.largest * element), counted && traffic.occupants > 0);
  };
  weight_ring = ring(Arena::device, "weight_buffer", "weights", plan.weight_buffers, weights,
                     job.weight_element().count(), true);
  gradient_ring = ring(Arena::device, "gradient_buffer", "gradients", plan.gradient_buffers,
                       gradients, job.gradient_element().count(), true);
  state_ring = ring(Arena::device, "state_buffer", "staged state",
                    std::max<std::int64_t>(1, plan.state_buffers), states, 1, false);
  if (plan.saved_records.empty())
    activation_ring = ring(Arena::device, "activation_buffer", "activations",
                           plan.activation_buffers, records, 1, false);
  host_gradient_ring = ring(Arena::host, "gradient_stage", "gradients", plan.gradient_buffers,
                            staged, job.gradient_wire_element().count(), false);
  disk_ring = make_ring(writer, Arena::host, "disk_buffer", kDiskBuffers,
                        std::min(plan.disk_buffers, pieces.occupants), Bytes(pieces.largest), false,
                        kDiskAlign);
  disk_weight_ring = make_ring(writer, Arena::host, "disk_weight_buffer", kDiskBuffers,
                               std::min(plan.disk_buffers, disk_weights.occupants),
                               Bytes(disk_weights.largest), false, kDiskAlign);
  if (io_gradients.occupants > 0) {
    const TensorIndex shared = writer.add_tensor(
        {Arena::device, "gradient.io", job.gradient_element() * io_gradients.largest, "gradients"});
    for (const std::size_t unit : {std::size_t{0}, plan.units.size() - 1}) {
      if (stores_gradient(plan.units[unit])) units[unit].device_gradient = shared;
    }
  }
}

}  // namespace sluice::planner
