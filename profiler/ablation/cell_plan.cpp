#include "profiler/ablation/cell_plan.hpp"

#include <utility>

#include "planner/files/hash.hpp"
#include "planner/plans/plan_words.hpp"
#include "planner/policies/policy.hpp"
#include "planner/requests/prediction_json.hpp"
#include "planner/requests/run_planning.hpp"
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
std::optional<planner::PredictedStep> plan_of(const Cell& cell, planner::RunPlanning& run,
                                              std::int64_t effort, CellResult& result) {
  const planner::Job& job = run.predictor.job();
  std::optional<planner::PredictedStep> step;
  if (cell.config.policy) {
    const planner::PolicyPlan made = planner::policy_plan(cell.config, job);
    if (has_state_against_residency(cell.config, made.plan)) {
      throw BadRequest("residency: host, and policy " + *cell.config.policy +
                       " has master weights and moments in device memory: the cell is that of "
                       "residency auto");
    }
    step = run.predictor.predict(made.plan);
    apply_policy_memory(made, step->prediction);
  } else if (const auto plan = planner::given_plan(cell.config, job)) {
    step = run.predictor.predict(*plan);
  } else {
    run.search.effort = effort;
    auto found = planner::search(run.predictor, run.search);
    if (const auto* none = std::get_if<planner::Infeasible>(&found)) {
      lacks(result, none->tier, none->short_by);
      return std::nullopt;
    }
    planner::Planned& planned = std::get<planner::Planned>(found);
    result.optimality_gap = planned.optimality_gap;
    step = std::move(planned.best);
  }
  if (const auto lack = planner::shortage_of(step->prediction.memory)) {
    lacks(result, lack->first, lack->second);
  }
  return step;
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
    prepared.run = planner::planning_of(whole);
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
    planner::RunPlanning run = *prepared.run;
    run.search.stop = std::move(stop);
    result.machine = run.predictor.machine().profile.name;
    result.profile_hash = planner::profile_hash(run.predictor.machine().profile);
    planned.step = plan_of(cell, run, effort, result);
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
