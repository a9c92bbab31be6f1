#include "profiler/report/step_view.hpp"

#include <nlohmann/json.hpp>

#include "profiler/report/timeline_data.hpp"
#include "profiler/traces/comparison.hpp"
#include "profiler/traces/trace_export.hpp"
#include "sim/alone_time.hpp"

namespace sluice::profiler {
namespace {

using sim::Json;

/// Largest number of instants of a memory curve on a page: more than a screen has pixels.
constexpr std::size_t kMostInstants = 1500;

TracedStep traced(const planner::PredictedStep& step, sim::Trace trace, const std::string& name) {
  const planner::StepGraph& graph = step.graph;
  const std::vector<Recorder::Span> spans = spans_of(graph, trace, name);
  TracedStep out;
  out.trace = std::move(trace);
  for (const sim::TaskId task : critical_tasks(graph, spans)) {
    out.critical.insert(graph.graph.task(task).id);
  }
  out.waterfall =
      planner::waterfall_above(planner::stall_times_of(graph, spans), step.prediction.bound);
  out.device = memory_use(graph, spans, planner::Arena::device);
  out.host = memory_use(graph, spans, planner::Arena::host);
  return out;
}

TierView tier_of(const planner::PredictedStep& step, planner::Tier tier) {
  const planner::TierMemory& memory = at(step.prediction.memory, tier);
  return {.tier = to_string(tier),
          .predicted = memory.peak,
          .capacity = memory.capacity,
          .arena = tier == planner::Tier::hbm ? step.graph.layout.device_bytes
                                              : step.graph.layout.host_bytes,
          .measured = std::nullopt,
          .parts = memory.parts};
}

Json to_json(const planner::Waterfall& fall, const char* name) {
  Json terms = Json::array();
  for (std::size_t i = 0; i < planner::kWaterfallTerms; ++i) {
    const auto term = static_cast<planner::WaterfallTerm>(i);
    terms.push_back(
        {{"name", planner::label_above(term)}, {"seconds", to_seconds(fall.terms[i]).count()}});
  }
  return {{"name", name},
          {"step_s", to_seconds(fall.step).count()},
          {"bound_s", to_seconds(fall.bound).count()},
          {"bound_by", to_string(fall.bound_by)},
          {"terms", std::move(terms)}};
}

Json to_json(const MemoryUse& use, const char* name) {
  const MemoryUse thin = thinned(use, kMostInstants);
  Json at = Json::array();
  for (const Duration instant : thin.at) at.push_back(to_seconds(instant).count());
  return {{"name", name}, {"parts", thin.parts}, {"at_s", std::move(at)}, {"bytes", thin.bytes}};
}

Json to_json(const TierView& tier, const StepView& view) {
  Json parts = Json::array();
  for (const auto& [name, bytes] : tier.parts) {
    parts.push_back({{"name", name}, {"bytes", bytes.count()}});
  }
  Json curves = Json::array();
  const bool device = tier.tier == to_string(planner::Tier::hbm);
  for (const auto& [name, step] :
       {std::pair("predicted", &view.predicted), std::pair("measured", &view.measured)}) {
    const MemoryUse& use = device ? step->device : step->host;
    if (!use.parts.empty()) curves.push_back(to_json(use, name));
  }
  return {{"tier", tier.tier},
          {"predicted_bytes", tier.predicted.count()},
          {"capacity_bytes", tier.capacity.count()},
          {"arena_bytes", tier.arena.count()},
          {"measured_bytes", tier.measured ? Json(tier.measured->count()) : Json()},
          {"parts", std::move(parts)},
          {"curves", std::move(curves)}};
}

Json to_json(const std::vector<ComparisonRow>& rows) {
  Json list = Json::array();
  for (const ComparisonRow& row : rows) {
    if (row.a.count() <= 0 && row.b.count() <= 0) continue;
    list.push_back({{"name", row.name},
                    {"count", row.count},
                    {"predicted_s", row.a.count()},
                    {"measured_s", row.b.count()}});
  }
  return list;
}

}  // namespace

StepView view_of(const planner::PredictedStep& step, sim::Trace predicted,
                 std::optional<sim::Trace> measured) {
  StepView view;
  view.predicted = traced(step, std::move(predicted), "predicted.trace");
  if (measured) view.measured = traced(step, std::move(*measured), "measured.trace");
  for (const sim::Task& task : step.graph.graph.tasks()) {
    const sim::AloneTime alone = sim::alone_time(step.graph.graph, task);
    view.limits[task.id] = {
        alone.time, alone.link ? step.graph.graph.links()[sim::index(*alone.link)].name : "itself"};
  }
  view.tiers = {tier_of(step, planner::Tier::hbm), tier_of(step, planner::Tier::host)};
  return view;
}

bool is_summed_up(const StepView& view) {
  return is_summed_up(view.predicted.trace) || is_summed_up(view.measured.trace);
}

void add_step(Json& page, const StepView& view) {
  page["timeline"] = timeline_json(view);
  page["waterfall"] = Json::array();
  for (const auto& [name, step] :
       {std::pair("predicted", &view.predicted), std::pair("measured", &view.measured)}) {
    if (step->waterfall) page["waterfall"].push_back(to_json(*step->waterfall, name));
  }
  page["memory"] = Json::array();
  for (const TierView& tier : view.tiers) page["memory"].push_back(to_json(tier, view));
  // Step 2 has a neighbour on either side.
  const Comparison comparison =
      compare(steps_of(view.predicted.trace, 2, 2), steps_of(view.measured.trace, 2, 2));
  page["kinds"] = to_json(comparison.kinds);
  page["lanes"] = to_json(comparison.lanes);
  page["elasticities"] = Json::array();
  for (const planner::Elasticity& one : view.elasticities) {
    page["elasticities"].push_back(
        {{"resource", one.resource}, {"meaning", one.meaning}, {"value", one.value}});
  }
}

}  // namespace sluice::profiler
