#include "cli/training/rehearse.hpp"

#include <fmt/format.h>

#include "cli/shown/prediction_table.hpp"
#include "cli/shown/rehearsal_table.hpp"
#include "cli/training/shown_run.hpp"
#include "engine/backends/backend.hpp"
#include "planner/requests/prediction_json.hpp"
#include "planner/requests/request.hpp"
#include "profiler/training/rehearsal_run.hpp"
#include "profiler/training/run_files.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

void require_rehearsable(const planner::RunArguments& request) {
  for (const char* flag : {"--resume", "--convert-state", "--dry-run"}) {
    if (request.has(flag)) {
      throw BadRequest(std::string("--rehearse: ") + flag +
                       " goes with training alone: give one of the two");
    }
  }
  if (request.config.optimizer.state != planner::StateType::fp32) {
    throw BadRequest(std::string("optimizer.state: ") + to_string(request.config.optimizer.state) +
                     " is not rehearsed in this version, only trained: set it to fp32, or leave "
                     "--rehearse out");
  }
  if (request.config.steps < 1) throw BadRequest("steps: must be at least 1");
  profiler::require_steps_to_trace(request.value("--trace-out"), request.config.steps);
}

void print_beginning(const profiler::RehearsalPlan& plan, const profiler::Rehearsed& run) {
  print(prediction_table(run.predicted.prediction, run.job, run.machine));
  print(fmt::format(
      "rehearsal    {} of host memory stand for {} ({} are in flight at most): times are real, "
      "values mean nothing, nothing is saved\nrehearsing with {}\n",
      planner::format_bytes(run.window), planner::format_bytes(run.host_needed),
      planner::format_bytes(run.in_flight), describe_source(plan.chosen, run.config)));
}

}  // namespace

int rehearse(planner::RunArguments request, InterruptFlag& interrupt) {
  require_rehearsable(request);
  planner::RunConfig& config = request.config;
  if (config.steps == planner::RunConfig{}.steps) config.steps = profiler::kRehearsedSteps;
  const bool json = request.has("--json");
  const planner::Request planning =
      planner::resolve(config, planner::Store::of_user(), request.policy);
  const planner::ResolvedMachine& machine = planning.predictor.machine();
  engine::require_backend(machine.profile.device);
  auto planned = profiler::plan_rehearsal(planning);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&planned)) {
    print(json ? to_json_text(*infeasible) : too_small_table(*infeasible));
    return static_cast<int>(ExitCode::does_not_fit);
  }
  auto& plan = std::get<profiler::RehearsalPlan>(planned);
  plan.chosen.step().prediction.numerics_id =
      engine::numerics_id(planning.predictor.job(), machine);
  using Lines = ShownRehearsal::Lines;
  ShownRehearsal shown(interrupt, json ? Lines::none : Lines::each);
  profiler::RehearsalRun rehearsal(config, planning, plan, shown);
  const profiler::Rehearsed& run = rehearsal.rehearsed();
  if (!json) print_beginning(plan, run);
  rehearsal.rehearse(interrupt.flag(), request.value("--trace-out"));
  print(json ? rehearsal_json(run) : rehearsal_table(run));
  if (const auto fault = run.values.fault()) {
    throw Error(ExitCode::not_converged,
                "rehearsal: " + *fault + ": they change how fast it runs, so its times are void");
  }
  return static_cast<int>(run.interrupted ? ExitCode::interrupted : ExitCode::done);
}

}  // namespace sluice::cli
