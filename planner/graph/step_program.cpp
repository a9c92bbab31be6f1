// What a peer's program does besides the passes of a step: it computes inputs again that it did not
// keep, and goes over the model on the CPU between steps.
#include "planner/graph/step_emitter.hpp"

namespace sluice::planner {

void StepEmitter::emit_rebuild(const UnitUse& use) {
  const std::size_t unit = use.unit;
  const sim::TaskId launch = emit_launch("again", unit, use.round, Pass::block_forward);
  // The last block of a group hands its output to nobody.
  const bool hands_on = unit + 1 < head() && !keeps_input(plan_, unit + 1);
  for (std::int64_t m = 0; m < plan_.micro_batches_per_round; ++m) {
    const std::int64_t micro = micro_batch(use.round, m);
    std::vector<Access> accesses{weights_access(use),
                                 input_in(false, unit, m, Mode::read, Role::input)};
    if (tensors_.full_record) {
      accesses.push_back({Role::full_record, *tensors_.full_record, Bytes(0),
                          record_.all_bytes - record_.input_bytes, Mode::write});
    }
    accesses.push_back(whole(Role::workspace, tensors_.workspace, Mode::write));
    if (hands_on) accesses.push_back(input_in(false, unit + 1, m, Mode::write, Role::next_input));
    const sim::TaskId task = writer_.add_compute(
        pass_place(TaskKind::recompute, LaneKind::compute, "again", unit, use.round, micro),
        Pass::block_forward, std::move(accesses),
        m == 0 ? std::vector{launch} : std::vector<sim::TaskId>{});
    if (m + 1 == plan_.micro_batches_per_round) use_ends_.push_back(task);
  }
}

void StepEmitter::emit_host_passes(HostPass::Moment moment, const std::vector<sim::TaskId>& after) {
  for (const HostPass& pass : plan_.host_passes) {
    if (pass.moment != moment) continue;
    std::int64_t parameters = 0;
    std::vector<Access> accesses;
    for (std::size_t unit = 0; unit <= head(); ++unit) {
      if (pass.over == HostPass::Over::ends && is_block(unit)) continue;
      const UnitTensorSet& set = tensors_.units[unit];
      parameters += set.parameters;
      if (set.host_gradient) {
        accesses.push_back(whole(Role::gradient, *set.host_gradient, Mode::update));
      }
    }
    const std::int64_t threads = pass.threads == HostPass::Threads::one ? 1 : plan_.threads;
    const sim::TaskId task =
        writer_.add_host_pass({TaskKind::host_pass, LaneKind::cpu, "pass/" + pass.name,
                               static_cast<int>(plan_.rounds) - 1},
                              pass, parameters, threads, std::move(accesses), after);
    if (moment == HostPass::Moment::after_update) barrier_updates_.push_back(task);
  }
}

}  // namespace sluice::planner
