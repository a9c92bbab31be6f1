#include "planner/layout/memory_range.hpp"

#include <algorithm>

#include "planner/graph/kept_forms.hpp"
#include "planner/graph/staged_state.hpp"
#include "planner/graph/step_pulls.hpp"
#include "planner/graph/step_sums.hpp"
#include "planner/graph/unit_memory.hpp"
#include "planner/layout/collective_memory.hpp"
#include "planner/layout/memory.hpp"
#include "planner/models/group_tree.hpp"
#include "planner/models/slices.hpp"
#include "planner/models/unit_classes.hpp"

namespace sluice::planner {

struct MemoryRanges::Sums {
  Bytes resident{0}, host{0};
  /// Bytes of the records of one round that are kept on the device, and on the host.
  Bytes records{0}, host_records{0};
  Bytes rebuilt{0};  ///< Bytes of the largest part of a block's record that is rebuilt.
  Bytes weight_slot{0}, gradient_slot{0}, record_slot{0};
  Bytes transient{0};  ///< Bytes of streamed weights and gradients of embedding and head.
  Bytes waiting{0}, largest_waiting{0}, host_gradients{0};
  Bytes group_sums{0}, host_group_sums{0};  ///< Bytes of sums of later groups between rounds.
  /// Bytes of host_gradients of units whose state passes through the ring under the backward pass,
  /// and of all units whose state passes through it.
  Bytes swept_gradients{0}, rotating_gradients{0};
  Bytes staged{0};        ///< Bytes of all staged state.
  Bytes staged_apart{0};  ///< Bytes of staged state that does not take the place of a record.
  /// Bytes of one slot of the ring for state of blocks, and for that of embedding and head.
  Bytes state_slot{0}, outer_state_slot{0};
  Bytes forms{0};           ///< Bytes of FP8 forms that blocks keep from round to round.
  Bytes stage{0};           ///< Bytes of one host slot for gradients of CPU updates.
  std::int64_t stages = 0;  ///< Number of units whose gradients use the host slots for CPU updates.
  /// Whether units are updated in the order in which their gradients use the host slots.
  bool in_order = true;
};

MemoryRanges::MemoryRanges(const Job& job, const ResolvedMachine& machine, std::int64_t ranks)
    : job_(&job),
      machine_(&machine),
      ranks_(ranks),
      record_(block_record(job)),
      parameters_(padded_sizes(job.model)),
      sizes_(unit_sizes(job)),
      rank_sums_(step_sums(job, ranks).run),
      workspace_(workspace_bytes(job, machine.profile.device)) {}

MemoryRanges::Sums MemoryRanges::sums(const Plan& plan) const {
  Sums sum;
  // Without clipping an update may be over before the next gradient is stored.
  sum.in_order = job_->optimizer.clip.has_value();
  When staged_when = When::after;
  for (const StagedLoad& load : staged_loads(*job_, plan)) {
    const Bytes bytes =
        staged_bytes(plan.units[load.unit], *job_, slice_of(sizes_[load.unit], ranks_));
    sum.staged += bytes;
    if (!load.takes_record_of) sum.staged_apart += bytes;
  }
  const std::size_t head = plan.units.size() - 1;
  for (std::size_t unit = 0; unit <= head; ++unit) {
    const UnitPlan& choice = plan.units[unit];
    const UnitMemory memory = unit_memory(*job_, choice, plan.rounds, sizes_[unit], ranks_);
    const bool block = unit > 0 && unit < head;
    sum.resident += memory.resident;
    sum.host += memory.host_state;
    sum.host_gradients += memory.host_gradient;
    sum.waiting += memory.waiting_gradient;
    sum.group_sums += memory.group_sums;
    sum.host_group_sums += memory.host_group_sums;
    sum.largest_waiting = std::max(sum.largest_waiting, memory.waiting_gradient);
    if (memory.gradient_stage > Bytes(0)) {
      sum.stage = std::max(sum.stage, memory.gradient_stage);
      // Where updates run in another order than that of their slots, the first gradient of a slot
      // may wait for others.
      sum.in_order = sum.in_order && (sum.stages == 0 || choice.when == staged_when);
      staged_when = choice.when;
      ++sum.stages;
    }
    if (rotates_state(choice)) {
      sum.rotating_gradients += memory.host_gradient;
      if (rotates_under_backward(choice)) sum.swept_gradients += memory.host_gradient;
      const bool in_ring = block || choice.staging == Staging::whole;
      Bytes& slot = in_ring ? sum.state_slot : sum.outer_state_slot;
      slot = std::max(slot, rotating_bytes(choice, *job_, sizes_[unit]));
    }
    if (!block) {
      // One slot for the gradients of embedding and head together.
      sum.transient += memory.streamed + Bytes(memory.passing_gradient.count() / 2);
      continue;
    }
    sum.weight_slot = std::max(sum.weight_slot, memory.streamed);
    sum.gradient_slot = std::max(sum.gradient_slot, memory.passing_gradient);
    sum.forms += kept_form_bytes(*job_, choice, static_cast<std::int64_t>(unit) - 1, plan.rounds,
                                 machine_->profile.device);
    const Bytes kept = record_.kept(choice.keep);
    sum.rebuilt = std::max(sum.rebuilt, record_.all_bytes - kept);
    if (choice.keep_tier == Tier::host) {
      sum.host_records += kept * plan.micro_batches_per_round;
      sum.record_slot = std::max(sum.record_slot, kept);
    } else {
      sum.records += kept * plan.micro_batches_per_round;
    }
  }
  return sum;
}

/// Device bytes of sums of later groups while their units are at work: of embedding and head each,
/// of a tied head, and of blocks in as many slots as a ring may have.
Bytes MemoryRanges::group_slots(const Plan& plan) const {
  const std::int64_t places = GroupWalk(job_->groups).depth();
  if (places == 0) return Bytes(0);
  const std::int64_t kept = sums_between_rounds(job_->micro_batches(), job_->groups, plan.rounds);
  const std::int64_t outer =
      parameters_.front() * (job_->model.tied_head ? 2 : 1) + parameters_.back();
  const std::int64_t blocks =
      parameters_[1] * (places + kept * std::max<std::int64_t>(0, plan.gradient_buffers));
  return job_->gradient_element() * (outer * places + blocks);
}

/// Device bytes that several ranks need for what they send each other, at most.
Bytes MemoryRanges::of_exchanges(const Plan& plan) const {
  if (ranks_ == 1) return Bytes(0);
  const std::int64_t largest = *std::ranges::max_element(parameters_);
  const Bytes slice = job_->gradient_element() * slice_parameters(largest, ranks_);
  const Bytes sums =
      std::min(slice, plan.exchange_piece) * (received_pieces(plan) * plan.receive_buffers) +
      rank_sums_ * ranks_;
  if (plan.gather == Gather::fabric) return sums;
  return sums + share_bytes(*job_, plan, slice_parameters(largest, ranks_));
}

MemoryRange MemoryRanges::of(const Plan& plan) const {
  const Sums sum = sums(plan);
  const bool one_round = plan.rounds == 1;
  const Bytes streams = stream_bytes(*job_) * plan.micro_batches_per_round;
  const Bytes always = sum.resident + outside_arena_bytes(*job_, machine_->profile) + workspace_ +
                       collective_bytes(machine_->profile.device, ranks_);
  // When the forward pass of a round ends, all its records are there, and the gradients of earlier
  // rounds; when the norm is known, all staged state and every gradient that waits for it.
  const Bytes at_forward =
      sum.records + sum.forms + streams + (one_round ? Bytes(0) : sum.waiting + sum.group_sums);
  const Bytes in_records = sum.staged - sum.staged_apart + (one_round ? sum.waiting : Bytes(0));
  const Bytes beside_records =
      std::max(in_records - sum.records, one_round ? sum.largest_waiting : Bytes(0));
  const Bytes rings =
      sum.weight_slot * plan.weight_buffers + sum.gradient_slot * plan.gradient_buffers +
      sum.record_slot * plan.activation_buffers + sum.transient +
      sum.state_slot * std::max<std::int64_t>(1, plan.state_buffers) + sum.outer_state_slot +
      streams * (sum.host_records > Bytes(0) ? plan.stream_buffers : kFewestStreams) +
      group_slots(plan) + of_exchanges(plan);
  // Gradients of a single round come as its records go; with several rounds the slots for those on
  // their way to updates come on top.
  const Bytes at_loss =
      sum.host_records + (one_round ? Bytes(0) : sum.host_gradients + sum.host_group_sums);
  const std::int64_t slots = sum.in_order ? std::min(plan.gradient_buffers, sum.stages) : 1;
  // Gradients of units in the ring have gone to the device before the norm, or may have gone
  // before other units use the slots.
  const Bytes at_norm = std::max(sum.host_gradients - sum.swept_gradients,
                                 sum.host_gradients - sum.rotating_gradients + sum.stage * slots);
  const Bytes host = (sum.host + std::max(at_loss, at_norm)) * ranks_;
  const Bytes tables = page_table_bytes(*machine_, host);
  return {.hbm_at_least = always + tables + std::max(at_forward, sum.staged + sum.waiting),
          .hbm_at_most = always + tables + at_forward + sum.rebuilt + sum.staged_apart +
                         std::max(Bytes(0), beside_records) + rings,
          .host_at_least = host + process_bytes(machine_->profile.device)};
}

}  // namespace sluice::planner
