#include "planner/search/forward_search.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "planner/graph/forward_graph.hpp"
#include "planner/graph/steady_state.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/predictions/interval.hpp"
#include "planner/search/remedies.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// `resident` of all units stay in HBM: head and embedding, then blocks spread evenly, so that
/// loads run ahead while those compute.
ForwardPlan plan_with(const Job& job, std::int64_t resident, std::int64_t buffers) {
  const std::size_t units = unit_count(job.model);
  ForwardPlan plan;
  plan.weights.assign(units, Tier::host);
  plan.weight_buffers = buffers;
  plan.prefetch_depth = std::max<std::int64_t>(0, buffers - 1);
  if (resident > 0) plan.weights.back() = Tier::hbm;
  if (resident > 1) plan.weights.front() = Tier::hbm;
  const std::int64_t layers = job.model.layers;
  const std::int64_t blocks = std::max<std::int64_t>(0, resident - 2);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if ((layer + 1) * blocks / layers > layer * blocks / layers) {
      plan.weights[static_cast<std::size_t>(layer + 1)] = Tier::hbm;
    }
  }
  return plan;
}

Memory memory_with(const ForwardRequest& request, const ForwardPlan& plan) {
  return memory_of(build_forward_graph(request.job, request.goal, plan, request.costs),
                   request.machine);
}

bool fits_in(const Memory& memory, Tier tier) { return at(memory, tier).fits(); }

/// The most resident units with which HBM holds the plan; none where even nothing resident does
/// not fit.
std::optional<std::int64_t> most_resident(const ForwardRequest& request, std::int64_t buffers) {
  const auto fits = [&](std::int64_t resident) {
    return fits_in(memory_with(request, plan_with(request.job, resident, buffers)), Tier::hbm);
  };
  const auto units = static_cast<std::int64_t>(unit_count(request.job.model));
  if (fits(units)) return units;
  if (!fits(0)) return std::nullopt;
  std::int64_t fitting = 0, beyond = units;
  while (beyond - fitting > 1) {
    const std::int64_t middle = (fitting + beyond) / 2;
    (fits(middle) ? fitting : beyond) = middle;
  }
  return fitting;
}

Infeasible shortage_with(const ForwardRequest& request, const ForwardPlan& plan) {
  Infeasible infeasible;
  infeasible.memory = memory_with(request, plan);
  const auto lack = shortage_of(infeasible.memory);
  check(lack.has_value(), "what does not fit lacks something");
  infeasible.tier = lack->first;
  infeasible.short_by = lack->second;
  return infeasible;
}

}  // namespace

ForwardPrediction predict_forward(const ForwardRequest& request, ForwardPlan plan) {
  ForwardPrediction prediction;
  prediction.graph = build_forward_graph(request.job, request.goal, plan, request.costs);
  const sim::Timeline timeline = simulate_steady(prediction.graph);
  prediction.pass = timeline.period(*prediction.graph.graph.period());
  const Seconds time = to_seconds(prediction.pass);
  const auto critical = critical_costs(prediction.graph, timeline, request.costs);
  const Seconds half = kInterval90 * period_deviation(critical, time, request.machine.profile);
  prediction.pass_low = std::max(time - half, 0.2 * time);
  prediction.pass_high = time + half;
  prediction.memory = memory_of(prediction.graph, request.machine);
  for (const StepTask& task :
       std::span(prediction.graph.tasks).first(prediction.graph.tasks_per_step)) {
    const bool loads = task.kind == TaskKind::load_weights || task.kind == TaskKind::load_experts;
    if (loads) prediction.streamed += task.bytes;
  }
  prediction.plan = std::move(plan);
  return prediction;
}

std::variant<ForwardPrediction, Infeasible> search_forward(const ForwardRequest& request) {
  constexpr std::int64_t kFewestBuffers = 1, kMostBuffers = 4;
  std::optional<ForwardPrediction> best;
  ForwardPlan smallest = plan_with(request.job, 0, kFewestBuffers);
  for (std::int64_t buffers = kFewestBuffers; buffers <= kMostBuffers; ++buffers) {
    const auto resident = most_resident(request, buffers);
    if (!resident) continue;
    ForwardPlan plan = plan_with(request.job, *resident, buffers);
    smallest = plan;
    ForwardPrediction found = predict_forward(request, std::move(plan));
    const bool whole = found.plan.resident() == std::ssize(found.plan.weights);
    if (!fits_in(found.memory, Tier::host)) continue;
    if (!best || found.pass < best->pass) best = std::move(found);
    if (whole) break;  // Nothing streams: buffers do not matter.
  }
  if (best) return std::move(*best);
  return shortage_with(request, smallest);
}

std::vector<Remedy> forward_remedies(const ForwardRequest& request, const Memory& lacking,
                                     const std::vector<ForwardChange>& changes) {
  constexpr std::size_t kMost = 3;
  std::vector<Remedy> remedies;
  const auto add = [&](const Job& job, const ResolvedMachine& machine, const Remedy& remedy) {
    const auto found = search_forward({job, request.goal, machine, request.costs});
    const auto* fits = std::get_if<ForwardPrediction>(&found);
    if (fits == nullptr) return;
    remedies.push_back(remedy);
    remedies.back().step = fits->pass;
  };
  for (const ForwardChange& change : changes) {
    if (remedies.size() + 1 == kMost) break;
    add(change.job, request.machine, change.remedy);
  }
  const MoreMemory more = more_memory(request.machine, lacking);
  if (!more.what.empty()) add(request.job, more.machine, {more.what, more.setting, false, {}});
  return remedies;
}

}  // namespace sluice::planner
