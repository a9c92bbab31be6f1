// `sluice plan RUN [-o plan.json]`: searches for the fastest plan that fits, says why it takes what
// it takes, and keeps it.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/parse_run.hpp"
#include "cli/plan_choices_table.hpp"
#include "cli/plan_explanation_table.hpp"
#include "cli/prediction_table.hpp"
#include "cli/progress_line.hpp"
#include "planner/choice.hpp"
#include "planner/plan_report.hpp"
#include "planner/policy.hpp"
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

using planner::Planned;
using planner::PlanReport;

std::string search_line(const PlanReport& report) {
  const Planned& planned = report.planned;
  if (report.policy) {
    return fmt::format("policy       {}; no plan is more than {:.1f} % faster\n", *report.policy,
                       100 * planned.optimality_gap);
  }
  return fmt::format(
      "search       10^{:.1f} plans, {} considered, {} simulated; at most {:.1f} % above the "
      "best\n",
      planned.space_log10, planned.considered, planned.simulated, 100 * planned.optimality_gap);
}

std::vector<planner::FrontAxis> axes_of(const std::string& text) {
  using planner::FrontAxis;
  std::vector<FrontAxis> axes;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    axes.push_back(planner::parse_choice(name, "--front",
                                         {FrontAxis::hbm, FrontAxis::host, FrontAxis::tokens}));
  }
  if (axes.empty()) throw BadRequest("--front: names no axis; write hbm,host,tokens");
  return axes;
}

/// The policy's plan as a search's result, or what it lacks.
std::variant<Planned, planner::Infeasible> plan_of_policy(const planner::RunConfig& config,
                                                          const planner::RunPlanning& run) {
  const planner::Predictor& predictor = run.predictor;
  const planner::PolicyPlan made = planner::policy_plan(config, predictor.job());
  Planned planned{.best = predictor.predict(made.plan)};
  planner::Prediction& p = planned.best.prediction;
  apply_policy_memory(made, p);
  if (const auto lack = planner::shortage_of(p.memory)) {
    planner::Infeasible infeasible{
        .tier = lack->first, .short_by = lack->second, .memory = p.memory, .remedies = {}};
    // A search would answer for a job that the policy made and nothing executes.
    if (!predictor.job().executable()) return infeasible;
    const auto found = planner::search_or_remedy(predictor, run.calibration, run.search);
    if (const auto* other = std::get_if<Planned>(&found)) {
      infeasible.remedies.push_back({"another plan, found by search", "without --policy", false,
                                     other->best.prediction.step});
    } else {
      infeasible.remedies = std::get<planner::Infeasible>(found).remedies;
    }
    return infeasible;
  }
  planned.space_log10 = space_log10(predictor);
  planned.considered = planned.simulated = 1;
  planned.bound = planned.relaxed_bound = std::min(p.bound.time, to_seconds(p.step));
  planned.optimality_gap = (to_seconds(p.step) - planned.bound) / to_seconds(p.step);
  return planned;
}

std::string unfitting_policy(const std::string& policy, const planner::Infeasible& infeasible) {
  return fmt::format("the plan of policy {} does not fit: {} is short by {}\n", policy,
                     to_string(infeasible.tier), planner::format_bytes(infeasible.short_by)) +
         memory_table(infeasible.memory) + remedies_table(infeasible.remedies);
}

/// Explains the plan; where the explanation comes upon a faster one, that one instead.
planner::PlanExplanation explained(Planned& planned, const planner::RunPlanning& run,
                                   planner::Replan replan) {
  planner::PlanExplanation explanation =
      explain(planned.best, run.predictor, run.calibration, run.search, replan);
  const auto better = better_plan(explanation, run.predictor);
  if (!better) return explanation;
  planned.best = run.predictor.predict(*better);
  const Seconds step = to_seconds(planned.best.prediction.step);
  planned.optimality_gap = (step - planned.bound) / step;
  ++planned.considered;
  ++planned.simulated;
  return explain_better(planned.best, explanation, run.predictor, run.calibration, run.search);
}

void write_files(const planner::RunArguments& request, const Planned& planned) {
  if (const auto path = request.value("--graph-out")) {
    planner::write_whole_file(*path, sim::write_graph(planned.best.graph.graph));
  }
  if (const auto path = request.value("-o")) {
    planner::PlanFile file = planner::to_plan_file(planned.best.prediction);
    file.numerics_id = planned.best.prediction.numerics_id;
    planner::write_plan_file(file, *path);
  }
}

/// From which batch on another resource than the link sets the bound, where copies are waited for.
std::string batch_line(const PlanReport& report, const planner::RunConfig& config) {
  const planner::Relief* first = report.explanation.first();
  if (report.link || first == nullptr || first->resource != "link") return "";
  const auto batch = planner::batch_bound_by_compute(config);
  return "batch        " +
         (batch ? fmt::format("the bound is by compute from {} sequences a step on", *batch)
                : std::string("the bound is by compute at no batch size")) +
         "; --hide-link finds the batch at which no copy is waited for\n";
}

std::string tables(const PlanReport& report, const planner::RunConfig& config,
                   const planner::RunConfig& asked, const planner::Predictor& predictor) {
  const planner::Prediction& prediction = report.planned.best.prediction;
  std::string text =
      prediction_table(prediction, predictor.job(), predictor.machine().profile.name);
  text += plan_table(prediction.plan, predictor.job());
  for (const std::string& change : planner::policy_changes(config)) {
    text += "policy       states " + change + "\n";
  }
  text += search_line(report);
  text += explanation_table(report.explanation) + batch_line(report, config);
  if (report.sizes) text += sizes_table(*report.sizes, asked);
  if (report.link) text += link_table(*report.link);
  for (const planner::ParetoFront& front : report.fronts) text += front_table(front);
  return text;
}

}  // namespace

int run_plan(const Arguments& arguments) {
  using Takes = planner::VerbFlag::Takes;
  const planner::RunArguments request = parse_run(
      arguments, "sluice plan RUN [-o plan.json] [--json] [run flags]",
      {{"-o", Takes::value, "write the plan file"},
       {"--front", Takes::value, "then plans that trade step time for hbm,host,tokens (any of)"},
       {"--hide-link", Takes::nothing, "then the batch size at which no copy is waited for"},
       {"--free", Takes::value, "choose micro_batch,loss_chunk too: they change bits"},
       {"--json", Takes::nothing, "one JSON object (docs/schemas/plan-result.schema.json)"},
       {"--graph-out", Takes::value, "write the step graph, for sluice sim"},
       {"--effort", Takes::value, "search this many times as long (1)"}});
  planner::RunConfig config = request.config;
  if (config.plan) {
    throw BadRequest("--plan: plan looks for one; sluice predict says what a given plan does");
  }
  std::vector<planner::FrontAxis> axes;
  if (const auto text = request.value("--front")) axes = axes_of(*text);
  if (!axes.empty() && config.policy) {
    throw BadRequest("--front: a policy has one plan; leave --policy out to search for the front");
  }
  const ProgressLine progress;
  std::optional<planner::ChosenSizes> sizes;
  if (const auto free = request.value("--free")) {
    sizes = planner::choose_sizes(config, planner::parse_free_sizes(*free),
                                  [&](const std::string& what) { progress.show(what); });
    config = sizes->config;
  }
  planner::RunPlanning run = planner::planning_of(config);
  if (const auto effort = request.value("--effort")) {
    run.search.effort = static_cast<std::int64_t>(planner::parse_number(*effort, "--effort") *
                                                  static_cast<double>(planner::kUsualEffort));
    if (run.search.effort <= 0) throw BadRequest("--effort: must be above 0");
  }
  progress.show("searching");
  auto found = config.policy
                   ? plan_of_policy(config, run)
                   : planner::search_or_remedy(run.predictor, run.calibration, run.search);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&found)) {
    print(request.has("--json") ? to_json_text(*infeasible)
          : config.policy       ? unfitting_policy(*config.policy, *infeasible)
                                : infeasible_table(*infeasible));
    return static_cast<int>(ExitCode::does_not_fit);
  }
  progress.show("explaining");
  PlanReport report{.planned = std::move(std::get<Planned>(found)), .explanation = {}};
  report.explanation =
      explained(report.planned, run,
                config.policy ? planner::Replan::never : planner::Replan::where_it_helps);
  report.policy = config.policy;
  report.sizes = std::move(sizes);
  if (request.has("--hide-link")) {
    report.link =
        planner::batch_that_hides_link(config, {.progress = [&](std::int64_t batch) {
                                         progress.show(fmt::format("{} sequences a step", batch));
                                       }});
  }
  for (const planner::FrontAxis axis : axes) {
    report.fronts.push_back(
        planner::pareto_front(config, axis, {report.planned.best.prediction.plan},
                              [&](const std::string& what) { progress.show(what); }));
  }
  progress.show("");
#if SLUICE_HAS_train
  if (run.predictor.machine().profile.device == planner::DeviceKind::host) {
    report.planned.best.prediction.numerics_id = engine::host_numerics_id();
  }
#endif
  write_files(request, report.planned);
  if (request.has("--json")) {
    print(to_json_text(report));
    return 0;
  }
  print(tables(report, config, request.config, run.predictor));
  if (const auto path = request.value("-o")) print("wrote " + *path + "\n");
  return 0;
}

}  // namespace sluice::cli
