// `sluice plan RUN [-o plan.json]`: searches for the fastest plan that fits, explains its step
// time, and stores it.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/shown/plan_choices_table.hpp"
#include "cli/shown/plan_explanation_table.hpp"
#include "cli/shown/prediction_table.hpp"
#include "cli/shown/progress_line.hpp"
#include "cli/words/parse_run.hpp"
#include "planner/explanation/plan_run.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/models/support.hpp"
#include "planner/policies/policy_changes.hpp"
#include "planner/requests/kept_answer.hpp"
#include "planner/requests/prediction_json.hpp"
#include "sim/error.hpp"
#include "sim/graph_file.hpp"
#include "sim/units_text.hpp"
#include "sim/warning.hpp"
#if SLUICE_HAS_train
#include "engine/backends/numerics_id.hpp"
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
      "best{}{}\n",
      planned.space_log10, planned.considered, planned.simulated, 100 * planned.optimality_gap,
      planned.leaves_rings_out ? " without a ring of state" : "",
      report.is_kept ? "; kept from an equal search (--fresh searches again)" : "");
}

/// The best plan found with the other way by which ranks get weights, where both were searched.
std::string gather_line(const PlanReport& report) {
  const Planned& planned = report.planned;
  if (!planned.other_gather) return "";
  const planner::Prediction& best = planned.best.prediction;
  const bool host = best.plan.gather == planner::Gather::host;
  return fmt::format(
      "gather       {}; with plan.gather={} the best plan found takes {}, {:.2f} times as long\n",
      host ? "host: GPUs copy weights whole from host memory"
           : "fabric: GPUs get the others' slices of weights from each other",
      host ? "fabric" : "host", planner::format_seconds(to_seconds(*planned.other_gather)),
      to_seconds(*planned.other_gather) / to_seconds(best.step));
}

std::string unfitting_policy(const std::string& policy, const planner::Infeasible& infeasible) {
  return fmt::format("the plan of policy {} does not fit: {} is short by {}\n", policy,
                     to_string(infeasible.tier), planner::format_bytes(infeasible.short_by)) +
         memory_table(infeasible.memory) + remedies_table(infeasible.remedies);
}

void write_files(const planner::RunArguments& request, const Planned& planned) {
  if (const auto path = request.value("--graph-out")) {
    planner::write_whole_file(*path, sim::write_graph(planned.best.simulated()));
  }
  if (const auto path = request.value("-o")) {
    planner::PlanFile file = planner::to_plan_file(planned.best.prediction);
    file.numerics_id = planned.best.prediction.numerics_id;
    planner::write_plan_file(file, *path);
  }
}

/// Text about the batch size from which another resource than the link sets the bound, if copies
/// are waited for.
std::string batch_line(const PlanReport& report, const planner::Request& run) {
  const planner::Relief* first = report.explanation.first();
  if (report.link || first == nullptr || first->resource != "link") return "";
  const auto batch = planner::batch_bound_by_compute(run);
  return "batch        " +
         (batch ? fmt::format("compute sets the bound from {} sequences a step on", *batch)
                : std::string("compute sets the bound at no batch size")) +
         "; --hide-link finds the batch at which no copy is waited for\n";
}

/// What several devices gain, and from how many tokens a step on they pay.
std::string devices_line(const planner::DevicesPay& pay) {
  if (!pay.speed) return "devices      one device does not hold this run\n";
  const std::int64_t half = pay.devices / 2;
  const std::string times =
      fmt::format("more than {}{} times", half, pay.devices % 2 == 0 ? "" : ".5");
  return fmt::format(
      "devices      {} do {:.2f} times what one does; {} {}\n", pay.devices, *pay.speed, times,
      pay.pays_from   ? fmt::format("from {} tokens a step on", *pay.pays_from)
      : pay.cut_short ? std::string("from a number of tokens that time did not find")
                      : fmt::format("at no number up to {} tokens a step", pay.most_tried));
}

std::string tables(const PlanReport& report, const planner::Request& run,
                   const planner::RunConfig& asked) {
  const planner::Prediction& prediction = report.planned.best.prediction;
  std::string text = prediction_table(prediction, run.job(), run.machine().profile.name);
  if (run.predictor.costs().profile().device == planner::DeviceKind::cuda) {
    if (const auto part = planner::unsupported_by_cuda(run.job().model)) {
      text += "training     by the host alone: the cuda backend does not compute " + *part + "\n";
    }
  }
  text += plan_table(prediction.plan, run.job());
  for (const std::string& change : planner::policy_changes(run.config, run.job())) {
    text += "policy       states " + change + "\n";
  }
  text += search_line(report) + gather_line(report);
  text += explanation_table(report.explanation) + batch_line(report, run);
  if (report.devices) text += devices_line(*report.devices);
  if (report.sizes) text += sizes_table(*report.sizes, asked);
  if (report.link) text += link_table(*report.link);
  for (const planner::ParetoFront& front : report.fronts) text += front_table(front);
  return text;
}

/// Key of the whole answer; none where it is written to files, depends on the clock or on this
/// computer, or is to be made anew.
std::optional<std::string> key_of(const Arguments& arguments, const planner::RunArguments& asked) {
  for (const char* flag : {"-o", "--graph-out", "--seconds", "--fresh"}) {
    if (asked.has(flag)) return std::nullopt;
  }
  if (asked.config.policy || asked.config.plan) return std::nullopt;
  const planner::Request run = planner::resolve(asked.config);
  if (run.machine().profile.device == planner::DeviceKind::host) return std::nullopt;
  std::vector<std::filesystem::path> files;
  if (asked.run_file) files.push_back(*asked.run_file);
  return planner::run_answer_key(arguments.strings, run, files);
}

/// Prints the answer and keeps it under the key, where there is one.
int answer(const std::string& text, ExitCode code, const std::optional<std::string>& key) {
  const int number = static_cast<int>(code);
  if (key) {
    planner::keep_answer(planner::Store::of_user(), *key, std::to_string(number) + "\n" + text);
  }
  print(text);
  return number;
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
       {"--effort", Takes::value, "search this many times as long (1)"},
       {"--fresh", Takes::nothing, "search even where an equal search was kept"},
       {"--seconds", Takes::value,
        "bound the whole command by this time instead: not reproducible"}},
      Terms::any);
  const ProgressLine progress;
  planner::PlanRequest plan{.config = request.config, .policy = request.policy};
  plan.hide_link = request.has("--hide-link");
  plan.progress = [&](const std::string& what) { progress.show(what); };
  if (const auto text = request.value("--front")) plan.fronts = planner::parse_front_axes(*text);
  if (const auto free = request.value("--free")) plan.free = planner::parse_free_sizes(*free);
  if (const auto effort = request.value("--effort")) {
    plan.effort = planner::parse_number(*effort, "--effort");
  }
  if (const auto seconds = request.value("--seconds")) {
    plan.seconds = Seconds(planner::parse_number(*seconds, "--seconds"));
  }
  plan.is_fresh = request.has("--fresh");
  for (const char* flag : {"-o", "--graph-out"}) {
    if (const auto path = request.value(flag)) planner::require_writable(*path);
  }
  const auto key = key_of(arguments, request);
  if (const auto kept =
          key ? planner::kept_answer(planner::Store::of_user(), *key) : std::nullopt) {
    sim::note("kept from an equal question (--fresh asks anew)");
    print(kept->substr(kept->find('\n') + 1));
    return std::atoi(kept->c_str());
  }
  planner::PlannedRun planned = planner::plan_run(plan);
  const auto& [run, outcome] = planned;
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&outcome)) {
    return answer(request.has("--json") ? to_json_text(*infeasible)
                  : run.policy          ? unfitting_policy(run.policy->name(), *infeasible)
                                        : infeasible_table(*infeasible),
                  ExitCode::does_not_fit, key);
  }
  auto& report = std::get<PlanReport>(planned.outcome);
#if SLUICE_HAS_train
  if (run.machine().profile.device == planner::DeviceKind::host) {
    report.planned.best.prediction.numerics_id = engine::host_numerics_id();
  }
#endif
  write_files(request, report.planned);
  if (request.has("--json")) return answer(to_json_text(report), ExitCode::done, key);
  std::string text = tables(report, run, request.config);
  if (const auto path = request.value("-o")) text += "wrote " + *path + "\n";
  return answer(text, ExitCode::done, key);
}

}  // namespace sluice::cli
