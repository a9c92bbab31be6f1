#include "profiler/training/rehearsal_plan.hpp"

#include <algorithm>
#include <utility>

#include "planner/machines/host_memory.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

/// The run's plan if it fits; else the plan for an identical machine that has as much host memory
/// as needed.
std::variant<planner::ChosenPlan, planner::Infeasible> roomy_plan(
    const planner::Request& as_it_is) {
  planner::PlanOptions options{.stored = true, .executable = true, .remedies = false};
  if (!as_it_is.config.plan && !as_it_is.policy) {
    auto found = choose_plan(as_it_is, options);
    if (std::holds_alternative<planner::ChosenPlan>(found)) return found;
  }
  constexpr Bytes kAnyAmount(std::int64_t{1} << 60);
  planner::RunConfig roomy = as_it_is.config;
  roomy.limits.host = kAnyAmount;
  options.remedies = true;
  return choose_plan(as_it_is.with(std::move(roomy)), options);
}

/// Largest size of all ranks' windows together: the limit that the run states, else what the
/// machine has and can give.
Bytes most_window(const planner::RunConfig& config, const planner::ResolvedMachine& machine,
                  const planner::StepGraph& graph) {
  Bytes most = machine.host;
  if (!config.limits.host) {
    const planner::HostMemory memory = planner::host_memory();
    Bytes free = std::min(memory.available, memory.limit.value_or(memory.available));
    if (machine.profile.device == planner::DeviceKind::host)
      free -= graph.layout.device_bytes * graph.ranks;
    most = std::min(most, free);
  }
  return most - planner::process_bytes(machine.profile.device);
}

/// Refusal of a host that cannot even hold what is in flight.
planner::Infeasible too_small(const planner::Prediction& prediction, Bytes needed,
                              Bytes available) {
  planner::Infeasible lack{.tier = planner::Tier::host,
                           .short_by = needed - available,
                           .memory = prediction.memory,
                           .remedies = {}};
  lack.known = planner::KnownOfRun{.parameters = prediction.parameters,
                                   .bound = prediction.bound,
                                   .job_hash = prediction.job_hash,
                                   .profile_hash = prediction.profile_hash,
                                   .cost_model_hash = prediction.cost_model_hash,
                                   .numerics_id = prediction.numerics_id};
  planner::TierMemory& host = at(lack.memory, planner::Tier::host);
  host.peak = needed;
  host.capacity = available;
  host.parts = {{kInFlight, needed}};
  lack.remedies.push_back({"a window that holds what is in flight",
                           "--host " + planner::format_exact(needed), false, prediction.step});
  return lack;
}

}  // namespace

std::variant<RehearsalPlan, planner::Infeasible> plan_rehearsal(const planner::Request& as_it_is) {
  if (as_it_is.predictor.job().optimizer.kind == planner::OptimizerKind::muon) {
    throw BadRequest("optimizer.kind: muon is not rehearsed in this version: set it to adamw");
  }
  auto found = roomy_plan(as_it_is);
  if (auto* infeasible = std::get_if<planner::Infeasible>(&found)) return std::move(*infeasible);
  planner::ChosenPlan& chosen = std::get<planner::ChosenPlan>(found);
  planner::Prediction& prediction = chosen.step().prediction;
  const planner::ResolvedMachine& machine = as_it_is.predictor.machine();
  at(prediction.memory, planner::Tier::host).capacity = machine.host;
  const planner::StepGraph& graph = chosen.step().graph;
  const Bytes in_flight = planner::HostWindow::least(graph) * graph.ranks;
  const Bytes most = most_window(as_it_is.config, machine, graph);
  if (in_flight > most) {
    const Bytes process = planner::process_bytes(machine.profile.device);
    return too_small(prediction, in_flight + process, most + process);
  }
  planner::HostWindow window(graph, Bytes(most.count() / graph.ranks));
  return RehearsalPlan{std::move(chosen), std::move(window), in_flight};
}

}  // namespace sluice::profiler
