// Updates on the device of units whose gradient and state wait on the host: at the end of the step
// one unit after another comes into the state buffers, is updated, and goes back.
#include "planner/graph/step_emitter.hpp"

namespace sluice::planner {

void StepEmitter::emit_rotating_update(std::size_t unit, const std::vector<sim::TaskId>& after) {
  const UnitPlan& choice = plan_.units[unit];
  const UnitTensorSet& set = tensors_.units[unit];
  const TensorIndex slot = tensors_.state_ring.slot(state_slot_[unit]);
  const bool resident = choice.weights == Tier::hbm;
  const Bytes moment = job_.moment_bytes(set.parameters);
  const Bytes gradient = job_.gradient_wire_element() * set.parameters;
  struct Part {
    const char* name;
    Role role;
    TensorIndex home;
    Bytes from, bytes;
    bool stored;
  };
  // A resident unit needs only what the working copy lacks.
  const Bytes lacking = staged_bytes(choice, job_, set.parameters) - moment * 2;
  std::vector<Part> parts{
      {"gradient", Role::gradient, *set.host_gradient, Bytes(0), gradient, false},
      {"m", Role::moment1, *set.moment1, Bytes(0), moment, true},
      {"v", Role::moment2, *set.moment2, Bytes(0), moment, true}};
  if (lacking.count() > 0) {
    const Bytes from = job_.master_bytes(set.parameters) - lacking;
    parts.insert(parts.begin(), {"master", Role::weights, *set.master, from, lacking, true});
  }
  TaskPlace place{TaskKind::load_state, LaneKind::h2d, "", static_cast<int>(plan_.rounds) - 1,
                  static_cast<int>(unit)};
  std::vector<Access> accesses;
  Bytes at{0};
  for (const Part& part : parts) {
    place.id = "state/" + name(unit) + "/load/" + part.name;
    writer_.add_copy(place, {part.home, part.from, part.bytes}, {slot, at, part.bytes},
                     plan_.copy_chunk, after);
    accesses.push_back({part.role, slot, at, part.bytes, part.stored ? Mode::update : Mode::read});
    at += part.bytes;
  }
  if (resident) accesses.push_back(whole(Role::weights, *set.device_weights, Mode::update));
  const sim::TaskId task =
      writer_.add_update({TaskKind::update, LaneKind::compute, "update/" + name(unit),
                          static_cast<int>(plan_.rounds) - 1, static_cast<int>(unit)},
                         set.parameters, plan_.threads, std::move(accesses), after);
  if (choice.when == When::after) barrier_updates_.push_back(task);
  place.kind = TaskKind::store_state;
  place.lane = LaneKind::d2h;
  at = Bytes(0);
  for (const Part& part : parts) {
    place.id = "state/" + name(unit) + "/store/" + part.name;
    if (part.stored) {
      writer_.add_copy(place, {slot, at, part.bytes}, {part.home, part.from, part.bytes},
                       plan_.copy_chunk);
    }
    at += part.bytes;
  }
  if (!resident) return;
  const Bytes copy = job_.weight_element() * set.parameters;
  place.id = "state/" + name(unit) + "/store/copy";
  writer_.add_copy(place, {*set.device_weights, Bytes(0), copy}, {*set.master, Bytes(0), copy},
                   plan_.copy_chunk);
}

}  // namespace sluice::planner
