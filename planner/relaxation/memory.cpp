// Constraints of memory: what device and host hold at some time of a step.
#include "planner/costs/lane_boost.hpp"
#include "planner/graph/record.hpp"
#include "planner/layout/collective_memory.hpp"
#include "planner/models/group_tree.hpp"
#include "planner/relaxation/plan_relaxation.hpp"
#include "planner/scratch/cuda_workspace.hpp"

namespace sluice::planner {

PlanRelaxation::DeviceFixed PlanRelaxation::device_fixed(std::int64_t rounds) const {
  const Job& job = predictor_->part();
  const ProfileCostModel& costs = predictor_->costs();
  const auto bytes = [](Bytes value) { return static_cast<double>(value.count()); };
  const std::int64_t a_round = job.micro_batches() / rounds;
  const auto per_round = static_cast<double>(a_round);
  const double stream = bytes(stream_bytes(job));
  DeviceFixed fixed;
  fixed.workspace = bytes(workspace_bytes(job, costs.device()));
  fixed.always = fixed.workspace + bytes(outside_arena_bytes(job, costs.profile())) +
                 bytes(collective_bytes(costs.device(), predictor_->ranks())) +
                 static_cast<double>(8 * job.tokens());
  if (job.model.tied_head) fixed.always += bytes(job.gradient_element() * parameters_[0]);
  const double head = bytes(job.gradient_element() * parameters_[2]);
  const double block = bytes(job.gradient_element() * parameters_[1]);
  // The inputs of a loss become their gradients, which keep their bytes from round to round; the
  // head's gradient is there with its first loss, later it waits or has a slot.
  const double streams_at_loss = rounds > 1 ? 2 * per_round : per_round + 1;
  fixed.at_loss = fixed.always + stream * streams_at_loss + (rounds > 1 ? 0 : head);
  // The last block's gradient waits or has a slot; later rounds have it at the loss. The head's
  // may be gone by then only where nothing waits for the norm, or where a slice of it waits.
  const std::int64_t ranks = predictor_->ranks();
  fixed.at_backward = fixed.always;
  if (rounds > 1 && costs.device() == DeviceKind::cuda) {
    // Forms that residency_use counts for blocks that stay in bf16.
    const double in_bf16 = static_cast<double>(job.model.layers) * (1 - job.fp8_share());
    const double not_kept = bytes(fp8_weight_bytes(job)) * in_bf16;
    fixed.at_loss -= not_kept;
    fixed.at_backward -= not_kept;
  }
  if (rounds == 1) {
    fixed.at_backward += stream * per_round + block + (job.optimizer.clip && ranks == 1 ? head : 0);
  }
  return fixed;
}

std::int64_t PlanRelaxation::sums_at_loss(std::int64_t rounds) const {
  const Job& job = predictor_->part();
  if (job.groups == 1 || rounds == 1) return 0;
  const std::int64_t before = std::max<std::int64_t>(1, rounds - 2);
  const std::int64_t all = job.micro_batches();
  return sums_after(all, job.groups, before * (all / rounds)) - 1;
}

void PlanRelaxation::add_memory(Constraints& all, const RelaxedNode& node) const {
  const std::int64_t rounds = node.rounds;
  const auto bytes = [](Bytes value) { return static_cast<double>(value.count()); };
  const auto hold = [&all](Limit limit, std::initializer_list<Use> uses, double beyond) {
    Constraint& constraint = all[static_cast<std::size_t>(limit)];
    for (const Use use : uses) constraint.weights[static_cast<std::size_t>(use)] = 1;
    constraint.constant = beyond;
  };
  const auto hbm = static_cast<double>((predictor_->machine().hbm - node.reserve).count());
  const Job& job = predictor_->part();
  DeviceFixed fixed = device_fixed(rounds);
  // In one round some loss, perhaps not the first, has all of the head's stack of group sums; in
  // several each slot for a gradient has slots for the sums that travel with it.
  const std::int64_t tied = job.model.tied_head ? parameters_[0] : 0;
  const auto more_sums = static_cast<double>(sums_at_loss(rounds));
  const double head_sums = rounds == 1
                               ? bytes(job.gradient_element() *
                                       ((parameters_[2] + tied) * GroupWalk(job.groups).depth()))
                               : more_sums * bytes(job.gradient_element() * tied);
  // Slots are there from the first record to the last.
  const double slots = bytes(slot_bytes(node));
  fixed.at_loss += slots;
  fixed.at_backward += slots;
  // device_records + resident + scratch + record_slots + loss_slots + summed + group_sums
  //     + [r > 1] (1 + k) s + tables + fixed <= V, with k more sums of groups at that loss
  hold(Limit::hbm_at_loss,
       {Use::device_records, Use::resident, Use::scratch, Use::record_slots, Use::loss_slots,
        Use::summed, Use::group_sums},
       fixed.at_loss + head_sums - hbm);
  // device_records + resident + scratch + record_slots + tables + fixed <= V
  hold(Limit::hbm_at_backward,
       {Use::device_records, Use::resident, Use::scratch, Use::record_slots},
       fixed.at_backward - hbm);
  // tables: bytes of device memory for the page tables with which the device maps the host's arena,
  // a fixed share of the arena. It holds state and, with several rounds, records and gradients.
  // With one round these two use the same bytes one after the other, so only that one of them
  // counts which is larger where all of it is on the host.
  const auto ranks = static_cast<double>(predictor_->ranks());  // Each maps the arenas of all.
  const double tables = page_table_share(predictor_->machine()) * ranks;
  const Bytes record = block_record(job).all_bytes;
  const Bytes records = record * job.micro_batches();
  const bool mostly_records = records > job.gradient_wire_element() * parameters_[1];
  for (const Limit limit : {Limit::hbm_at_loss, Limit::hbm_at_backward, Limit::hbm_at_norm,
                            Limit::hbm_across_rounds, Limit::hbm_beside_embed}) {
    UseSum& weights = all[static_cast<std::size_t>(limit)].weights;
    weights[static_cast<std::size_t>(Use::host)] += tables;
    for (const Use use : {Use::host_records, Use::host_gradients}) {
      const bool counts = rounds > 1 || (use == Use::host_records) == mostly_records;
      if (counts) weights[static_cast<std::size_t>(use)] += tables;
    }
  }
  // resident + waiting + staged + tables + fixed <= V: staged state of two units never shares
  // bytes, for each is loaded before the other is stored.
  hold(Limit::hbm_at_norm, {Use::resident, Use::waiting, Use::staged},
       fixed.always - fixed.workspace - hbm);
  // resident + scratch + record_slots + embed_staged + tables + fixed <= V: in one round the
  // embedding's staged state is the first to come that has memory of its own. It comes once the
  // last block's backward pass is issued, beside that block's gradient, workspace and slots, which
  // other blocks go on to use or whose stores no load waits for. Where it takes the place of
  // records they were there when that pass began. A slot that only the last block uses may be free
  // by then.
  if (rounds == 1 && node.proves) {
    const Bytes slot_each = job.weight_element() * parameters_[1] +
                            record * (1 + slots_held(record, node));  // Rebuilt, and of records.
    const double last_block = bytes(slot_each) / static_cast<double>(job.model.layers);
    hold(Limit::hbm_beside_embed,
         {Use::resident, Use::scratch, Use::record_slots, Use::embed_staged},
         fixed.at_backward - slots - last_block - hbm);
  } else {
    hold(Limit::hbm_beside_embed, {}, fixed.always - hbm);
  }
  // resident + summed + scratch + record_slots + loss_slots + early_staged + s + tables + fixed
  //     <= V: staged state takes the place of records or has its own beside them from the first
  //     round on.
  if (rounds > 1) {
    hold(Limit::hbm_across_rounds,
         {Use::resident, Use::summed, Use::scratch, Use::record_slots, Use::loss_slots,
          Use::early_staged},
         fixed.at_loss - hbm);
    all[constraint_index(Limit::hbm_at_loss)].slots = 1 + more_sums;
    all[constraint_index(Limit::hbm_across_rounds)].slots = 1;
  } else {
    hold(Limit::hbm_across_rounds, {}, fixed.always - hbm);
  }

  const Bytes process = process_bytes(predictor_->costs().profile().device);
  const auto host =
      static_cast<double>((process - predictor_->machine().host + node.host_reserve).count()) /
      ranks;
  // host + host_records + [r > 1] (host_gradients + host_group_sums) + fixed <= W: gradients of a
  // single round come as its records go. host + host_gradients + fixed <= W.
  hold(Limit::host_at_loss, {Use::host, Use::host_records}, host);
  if (rounds > 1) hold(Limit::host_at_loss, {Use::host_gradients, Use::host_group_sums}, host);
  hold(Limit::host_at_norm, {Use::host, Use::host_gradients}, host);
}

/// Constraints of slots for blocks' gradients, which are whole and no more than the blocks that use
/// them; a node says how many of both there are. In a later round each running sum is loaded, added
/// to and stored, and a byte of a slot is one block's from the start of its load to the end of its
/// store. Loads are over before the first addition and behind each other on their lane, so that
/// bytes wait for half of a block's on average, and likewise for stores. The first and the last
/// tenants' copies may lie outside the pass.
void PlanRelaxation::add_gradient_slots(Constraints& all, const RelaxedNode& node) const {
  const Job& job = predictor_->part();
  const auto constraint = [&all](Limit limit) -> Constraint& {
    return all[constraint_index(limit)];
  };
  const auto weight = [&constraint](Limit limit) -> double& {
    return constraint(limit).weights[static_cast<std::size_t>(Use::streamed_gradients)];
  };
  const auto hbm = static_cast<double>(predictor_->machine().hbm.count());
  for (const Limit limit : {Limit::gradient_slots, Limit::gradients_few, Limit::gradients_many}) {
    constraint(limit).constant = -hbm;
  }
  if (node.rounds == 1 || job.model.layers == 1) return;
  const auto layers = static_cast<double>(job.model.layers);
  const auto slot = static_cast<double>((job.gradient_element() * parameters_[1]).count());
  const double each = slot * (1 - 1 / layers);  // z slot: one block's streamed_gradients.
  const auto least = static_cast<double>(node.gradient_slots.least);
  // slots_least slot <= s + streamed_gradients/(L - 1); streamed_gradients >= blocks_least z slot
  if (node.gradient_blocks.least >= node.gradient_slots.least && node.gradient_blocks.least > 0) {
    constraint(Limit::gradient_slots).constant = least * slot;
    constraint(Limit::gradient_slots).slots = -1;
    weight(Limit::gradient_slots) = -1 / (layers - 1);
    constraint(Limit::gradients_many).constant =
        static_cast<double>(node.gradient_blocks.least) * each;
    weight(Limit::gradients_many) = -1;
  }
  // streamed_gradients <= blocks_most z slot
  if (node.gradient_blocks.most < job.model.layers) {
    constraint(Limit::gradients_few).constant =
        -static_cast<double>(node.gradient_blocks.most) * each;
    weight(Limit::gradients_few) = 1;
  }
  if (node.gradient_slots.most >= job.model.layers || node.gradient_slots.most < 1) return;
  // (half + added)/(slots_most z slot) streamed_gradients - half <= t_B'
  const auto most = static_cast<double>(node.gradient_slots.most);
  const double copies = (slot / h2d_rate_ + slot / d2h_rate_) / 2;
  const std::int64_t a_round = job.micro_batches() / node.rounds;
  const double added = static_cast<double>(a_round) *
                       predictor_->pass_times().least_block_backward.count() *
                       least_share(predictor_->costs().boost());
  weight(Limit::later_backward_slots) = (copies + added) / (most * each);
  constraint(Limit::later_backward_slots).constant = -copies;
}

}  // namespace sluice::planner
