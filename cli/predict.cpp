// `sluice predict RUN`: what the best plan found (or a given one) does.
#include <cstdio>

#include "cli/money_flags.hpp"
#include "cli/needs_table.hpp"
#include "cli/parse_run.hpp"
#include "cli/prediction_table.hpp"
#include "planner/policy.hpp"
#include "planner/prediction_json.hpp"
#include "planner/run_planning.hpp"
#include "sim/error.hpp"
#include "sim/graph_file.hpp"
#if SLUICE_HAS_train
#include "engine/numerics_id.hpp"
#endif

namespace sluice::cli {
namespace {

/// A given plan that does not fit: what the search would do instead comes first.
std::vector<planner::Remedy> remedies_of(const planner::RunPlanning& run) {
  std::vector<planner::Remedy> remedies;
  const auto found = planner::search_or_remedy(run.predictor, run.calibration, run.search);
  if (const auto* planned = std::get_if<planner::Planned>(&found)) {
    remedies.push_back(
        {"another plan, found by search", "without --plan", false, planned->best.prediction.step});
  } else {
    remedies = std::get<planner::Infeasible>(found).remedies;
  }
  return remedies;
}

}  // namespace

int run_predict(const Arguments& arguments) {
  using Takes = planner::VerbFlag::Takes;
  const planner::RunArguments request =
      parse_run(arguments, "sluice predict RUN [--json] [--graph-out G.json] [run flags]",
                {{"--json", Takes::nothing, "one JSON object (docs/schemas/predict.schema.json)"},
                 {"--tokens", Takes::value, "to train on, such as 10B (billion): says the days"},
                 {"--prices", Takes::value, "YAML or JSON file of dated prices: says the cost"},
                 {"--graph-out", Takes::value, "write the step graph, for sluice sim"}});
  const std::optional<double> tokens = token_count(request);
  planner::PriceList prices;
  if (const auto file = request.value("--prices")) prices = planner::read_prices(*file);
  const planner::RunPlanning run = planner::planning_of(request.config);
  const planner::Job& job = run.predictor.job();
  planner::PredictedStep step;
  if (request.config.policy) {
    const planner::PolicyPlan made = planner::policy_plan(request.config, job);
    step = run.predictor.predict(made.plan);
    apply_policy_memory(made, step.prediction);
  } else if (const auto plan = planner::given_plan(request.config, job)) {
    step = run.predictor.predict(*plan);
  } else {
    auto found = planner::search_or_remedy(run.predictor, run.calibration, run.search);
    if (const auto* infeasible = std::get_if<planner::Infeasible>(&found)) {
      print(request.has("--json") ? to_json_text(*infeasible) : infeasible_table(*infeasible));
      return static_cast<int>(ExitCode::does_not_fit);
    }
    step = std::move(std::get<planner::Planned>(found).best);
  }
  planner::Prediction& prediction = step.prediction;
#if SLUICE_HAS_train
  if (run.predictor.machine().profile.device == planner::DeviceKind::host) {
    prediction.numerics_id = engine::host_numerics_id();
  }
#endif
  if (const auto path = request.value("--graph-out")) {
    planner::write_whole_file(*path, sim::write_graph(step.graph.graph));
  }
  std::vector<planner::Remedy> remedies;
  // A search would answer for a job that the policy made and nothing executes.
  const bool another_job = request.config.policy && !job.executable();
  if (!prediction.fits && !another_job) remedies = remedies_of(run);
  const planner::RunNeeds needs = run_needs(prediction, run.predictor, request.config.machine);
  const planner::RunMoney money = money_of(prediction, request.config.machine, tokens, prices);
  if (request.has("--json")) {
    print(to_json_text(prediction, remedies, needs, money));
  } else {
    print(prediction_table(prediction, job, run.predictor.machine().profile.name));
    print(needs_table(needs, money));
    print(plan_table(prediction.plan, job));
    for (const std::string& change : planner::policy_changes(request.config)) {
      print("policy       states " + change + "\n");
    }
    if (!prediction.fits) {
      print(another_job ? "does not fit\n" : "does not fit: " + remedies_table(remedies));
    }
  }
  return static_cast<int>(prediction.fits ? ExitCode::done : ExitCode::does_not_fit);
}

}  // namespace sluice::cli
