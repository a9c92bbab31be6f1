#include "profiler/ablation/cell_plan.hpp"

#include <utility>

#include "planner/files/hash.hpp"
#include "planner/plans/plan_words.hpp"
#include "planner/requests/choose_plan.hpp"
#include "planner/requests/request.hpp"
#include "planner/requests/run_devices.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/version.hpp"

namespace sluice::profiler {
namespace {

void lacks(CellResult& result, planner::Tier tier, Bytes short_by) {
  result.status = CellStatus::does_not_fit;
  result.tier = tier;
  result.short_by = short_by;
  result.reason = std::string(to_string(tier)) + " is short by " + planner::format_bytes(short_by);
}

/// The cell's plan and its prediction with all terms on; none where no plan fits.
std::optional<planner::PredictedStep> plan_of(planner::Request& request, std::int64_t effort,
                                              CellResult& result) {
  request.search.effort = effort;
  auto found = choose_plan(request, {.unfit = planner::Unfit::kept, .remedies = false});
  if (const auto* none = std::get_if<planner::Infeasible>(&found)) {
    lacks(result, none->tier, none->short_by);
    return std::nullopt;
  }
  planner::ChosenPlan& chosen = std::get<planner::ChosenPlan>(found);
  planner::PredictedStep& step = chosen.step();
  if (chosen.source == planner::PlanSource::searched) {
    result.optimality_gap = chosen.planned.optimality_gap;
  }
  if (chosen.source == planner::PlanSource::policy &&
      !keeps_residency(step.prediction.plan, request.config.residency)) {
    throw BadRequest("residency: host, and policy " + request.policy->name() +
                     " has master weights and moments in device memory: the cell is that of "
                     "residency auto");
  }
  if (const auto lack = planner::shortage_of(step.prediction.memory)) {
    lacks(result, lack->first, lack->second);
  }
  return std::move(step);
}

std::string hash_of(const Cell& cell, const planner::Predictor& predictor,
                    const Experiment& experiment) {
  planner::CanonicalText text("sluice ablation cell 2");
  text.add("run", planner::to_yaml(cell.config))
      .add("model", cell.model_text.value_or(""))
      .add("profile", planner::profile_hash(predictor.machine().profile))
      .add("costs", predictor.costs().hash())
      .add("program", commit())
      .add("effort", experiment.effort)
      .add("on", to_string(experiment.on));
  if (experiment.on == Ground::device) {
    text.add("steps", experiment.steps)
        .add("warm_up", experiment.warm_up)
        .add("repeats", experiment.repeats)
        .add("seed", experiment.seed);
  }
  return text.hash();
}

/// Whether a run follows this number of a machine: memory that it may take, cores that it may plan
/// with, and copies, which the host backend paces.
bool is_followed(const std::string& fact, planner::DeviceKind device) {
  if (fact == "h2d" || fact == "d2h") return device == planner::DeviceKind::host;
  return fact == "hbm" || fact == "host" || fact == "disk" || fact == "cores";
}

void require_own_machine(const Cell& cell, const Experiment& experiment,
                         planner::DeviceKind device) {
  const auto& stated = experiment.baseline.machine_overrides;
  for (const auto& [fact, value] : cell.config.machine_overrides) {
    const auto same = stated.find(fact);
    if ((same != stated.end() && same->second == value) || is_followed(fact, device)) continue;
    throw BadRequest("machine." + fact + ": predicted alone, for no run changes the machine's own" +
                     (fact == "h2d" || fact == "d2h" ? " (limits.link holds copies back)" : ""));
  }
}

}  // namespace

PreparedCell prepare_cell(const Cell& cell, const Experiment& experiment) {
  PreparedCell prepared;
  try {
    planner::RunConfig whole = cell.config;
    whole.terms = {};
    settle(whole);
    if (experiment.on == Ground::device) {
      planner::require_one_device(whole, "a cell that runs (on: device)");
    }
    prepared.run = planner::resolve(whole);
    prepared.hash = hash_of(cell, prepared.run->predictor, experiment);
  } catch (const BadRequest& error) {
    prepared.refusal = error.what();
  }
  return prepared;
}

PlannedCell plan_cell(const Cell& cell, const PreparedCell& prepared, const std::string& name,
                      std::int64_t effort, std::stop_token stop) {
  PlannedCell planned;
  CellResult& result = planned.result;
  result.hash = prepared.hash;
  result.name = name;
  result.levels = cell.levels;
  try {
    if (!prepared.run) throw BadRequest(prepared.refusal);
    planner::Request run = *prepared.run;
    run.search.stop = std::move(stop);
    result.machine = run.predictor.machine().profile.name;
    result.profile_hash = planner::profile_hash(run.predictor.machine().profile);
    planned.step = plan_of(run, effort, result);
    if (!planned.step) return planned;
    const planner::Plan& plan = planned.step->prediction.plan;
    result.plan = planner::describe_plan(plan);
    result.prediction =
        to_cell_prediction(cell.config.terms == planner::CostSwitches{}
                               ? planned.step->prediction
                               : with_terms(run, cell.config.terms).predict(plan).prediction);
    planned.predictor = std::move(run.predictor);
  } catch (const BadRequest& error) {
    result.status = CellStatus::refused;
    result.reason = error.what();
  }
  return planned;
}

void refuse_unrunnable(PlannedCell& planned, const Cell& cell, const Experiment& experiment) {
  try {
    require_executable(planned.predictor->job());
    require_executable(planned.step->prediction.plan);
    require_own_machine(cell, experiment, planned.predictor->machine().profile.device);
  } catch (const BadRequest& error) {
    planned.result.status = CellStatus::refused;
    planned.result.reason = error.what();
  }
}

}  // namespace sluice::profiler
