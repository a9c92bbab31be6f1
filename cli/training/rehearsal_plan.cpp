#include "cli/training/rehearsal_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/shown/prediction_table.hpp"
#include "planner/machines/host_memory.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

constexpr const char* kInFlight = "in flight";

/// The run's plan if it fits; else the plan for an identical machine that has as much host memory
/// as needed.
std::variant<ChosenPlan, planner::Infeasible> roomy_plan(const planner::RunConfig& config,
                                                         const planner::RunPlanning& as_it_is) {
  const bool given = config.plan || config.policy;
  if (!given) {
    const auto found = planner::search(as_it_is.predictor, as_it_is.search);
    if (std::holds_alternative<planner::Planned>(found)) return choose_plan(config, as_it_is);
  }
  constexpr Bytes kAnyAmount(std::int64_t{1} << 60);
  planner::RunConfig roomy = config;
  roomy.limits.host = kAnyAmount;
  return choose_plan(roomy, planner::planning_of(roomy));
}

Bytes process_baseline(planner::DeviceKind device) {
  return device == planner::DeviceKind::cuda ? planner::kCudaProcessBaseline
                                             : planner::kProcessBaseline;
}

/// Largest size of the window: the limit that the run states, else what the machine has and can
/// give.
Bytes most_window(const planner::RunConfig& config, const planner::ResolvedMachine& machine,
                  const planner::Layout& layout) {
  Bytes most = machine.host;
  if (!config.limits.host) {
    const planner::HostMemory memory = planner::host_memory();
    Bytes free = std::min(memory.available, memory.limit.value_or(memory.available));
    if (machine.profile.device == planner::DeviceKind::host) free -= layout.device_bytes;
    most = std::min(most, free);
  }
  return most - process_baseline(machine.profile.device);
}

/// Refusal of a host that cannot even hold what is in flight.
planner::Infeasible too_small(const planner::Prediction& prediction, Bytes needed,
                              Bytes available) {
  planner::Infeasible lack{.tier = planner::Tier::host,
                           .short_by = needed - available,
                           .memory = prediction.memory,
                           .remedies = {}};
  planner::TierMemory& host = at(lack.memory, planner::Tier::host);
  host.peak = needed;
  host.capacity = available;
  host.parts = {{kInFlight, needed}};
  lack.remedies.push_back({"a window that holds what is in flight",
                           "--host " + planner::format_exact(needed), false, prediction.step});
  return lack;
}

}  // namespace

std::variant<RehearsalPlan, planner::Infeasible> plan_rehearsal(
    const planner::RunConfig& config, const planner::RunPlanning& as_it_is) {
  auto found = roomy_plan(config, as_it_is);
  if (auto* infeasible = std::get_if<planner::Infeasible>(&found)) return std::move(*infeasible);
  ChosenPlan& chosen = std::get<ChosenPlan>(found);
  planner::Prediction& prediction = chosen.step.prediction;
  const planner::ResolvedMachine& machine = as_it_is.predictor.machine();
  at(prediction.memory, planner::Tier::host).capacity = machine.host;
  const planner::StepGraph& graph = chosen.step.graph;
  const Bytes in_flight = planner::HostWindow::least(graph);
  const Bytes most = most_window(config, machine, graph.layout);
  if (in_flight > most) {
    const Bytes process = process_baseline(machine.profile.device);
    return too_small(prediction, in_flight + process, most + process);
  }
  planner::HostWindow window(graph, most);
  return RehearsalPlan{std::move(chosen), std::move(window), in_flight};
}

std::string too_small_table(const planner::Infeasible& lack) {
  const planner::TierMemory& host = at(lack.memory, planner::Tier::host);
  const bool in_flight = !host.parts.empty() && host.parts.front().first == kInFlight;
  if (!in_flight) return infeasible_table(lack);
  return fmt::format(
             "a rehearsal needs {} of host memory for what is in flight, and {} may be used\n",
             planner::format_exact(host.peak), planner::format_exact(host.capacity)) +
         infeasible_table(lack);
}

}  // namespace sluice::cli
