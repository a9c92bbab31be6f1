// `sluice plan RUN [-o plan.json]`: searches for the fastest plan that fits, and keeps it.
#include <fmt/format.h>

#include <cstdio>

#include "cli/parse_run.hpp"
#include "cli/prediction_table.hpp"
#include "planner/prediction_json.hpp"
#include "planner/run_planning.hpp"
#include "planner/units_text.hpp"
#include "sim/error.hpp"
#include "sim/graph_file.hpp"
#if SLUICE_HAS_train
#include "engine/numerics_id.hpp"
#endif

namespace sluice::cli {
namespace {

std::string search_line(const planner::Planned& planned) {
  return fmt::format(
      "search       10^{:.1f} plans, {} considered, {} simulated; at most {:.1f} % above the "
      "best\n",
      planned.space_log10, planned.considered, planned.simulated, 100 * planned.optimality_gap);
}

}  // namespace

int run_plan(const Arguments& arguments) {
  using Takes = planner::VerbFlag::Takes;
  const planner::RunArguments request = parse_run(
      arguments, "sluice plan RUN [-o plan.json] [--json] [run flags]",
      {{"-o", Takes::value, "write the plan file"},
       {"--json", Takes::nothing, "one JSON object (docs/schemas/plan-result.schema.json)"},
       {"--graph-out", Takes::value, "write the step graph, for sluice sim"},
       {"--effort", Takes::value, "search this many times as long (1)"}});
  if (request.config.plan) {
    throw BadRequest("--plan: plan looks for one; sluice predict says what a given plan does");
  }
  planner::RunPlanning run = planner::planning_of(request.config);
  if (const auto effort = request.value("--effort")) {
    run.search.effort = static_cast<std::int64_t>(planner::parse_number(*effort, "--effort") *
                                                  static_cast<double>(planner::kUsualEffort));
    if (run.search.effort <= 0) throw BadRequest("--effort: must be above 0");
  }
  auto found = planner::search_or_remedy(run.predictor, run.calibration, run.search);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&found)) {
    print(request.has("--json") ? to_json_text(*infeasible) : infeasible_table(*infeasible));
    return static_cast<int>(ExitCode::does_not_fit);
  }
  auto& planned = std::get<planner::Planned>(found);
  planner::Prediction& prediction = planned.best.prediction;
#if SLUICE_HAS_train
  if (run.predictor.machine().profile.device == planner::DeviceKind::host) {
    prediction.numerics_id = engine::host_numerics_id();
  }
#endif
  if (const auto path = request.value("--graph-out")) {
    planner::write_whole_file(*path, sim::write_graph(planned.best.graph.graph));
  }
  if (const auto path = request.value("-o")) {
    planner::PlanFile file = planner::to_plan_file(prediction);
    file.numerics_id = prediction.numerics_id;
    planner::write_plan_file(file, *path);
  }
  if (request.has("--json")) {
    print(to_json_text(planned));
    return 0;
  }
  const planner::Job& job = run.predictor.job();
  print(prediction_table(prediction, job, run.predictor.machine().profile.name));
  print(plan_table(prediction.plan, job));
  print(search_line(planned));
  if (const auto path = request.value("-o")) print("wrote " + *path + "\n");
  return 0;
}

}  // namespace sluice::cli
