#include "cli/training/rehearse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cli/shown/prediction_table.hpp"
#include "cli/shown/rehearsal_output.hpp"
#include "cli/shown/step_watch.hpp"
#include "cli/training/rehearsal_plan.hpp"
#include "cli/training/run_files.hpp"
#include "cli/training/train_state.hpp"
#include "cli/training/train_steps.hpp"
#include "engine/backends/backend.hpp"
#include "engine/memory/process_memory.hpp"
#include "engine/records/ledger.hpp"
#include "engine/records/run_folder.hpp"
#include "planner/files/hash.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/requests/prediction_json.hpp"
#include "planner/requests/run_planning.hpp"
#include "profiler/traces/lane_meter.hpp"
#include "profiler/traces/recorder.hpp"
#include "sim/error.hpp"
#include "sim/graph_file.hpp"
#include "sim/trace_json.hpp"
#include "sim/units_text.hpp"
#include "sim/version.hpp"

namespace sluice::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

void require_rehearsable(const planner::RunArguments& request) {
  for (const char* flag : {"--resume", "--dry-run"}) {
    if (request.has(flag)) {
      throw BadRequest(std::string("--rehearse: ") + flag +
                       " goes with training alone: give one of the two");
    }
  }
  if (request.config.steps < 1) throw BadRequest("steps: must be at least 1");
  require_steps_to_trace(request, request.config.steps);
}

engine::LedgerPrediction promise_of(const planner::Prediction& prediction) {
  return {.job_hash = prediction.job_hash,
          .plan_hash = prediction.plan_hash,
          .cost_model_hash = prediction.cost_model_hash,
          .numerics_id = prediction.numerics_id,
          .commit = std::string(commit()),
          .step = to_seconds(prediction.step),
          .step_low = prediction.step_low,
          .step_high = prediction.step_high,
          .rehearsal = true};
}

/// Runs the steps and fills in their results.
void run_steps(Rehearsed& run, engine::Rehearsal& rehearsal, engine::MetricsFile& metrics,
               profiler::LaneMeter& meter, const InterruptFlag& interrupt,
               engine::RunBeginning& beginning, bool json) {
  const Seconds predicted = to_seconds(run.predicted.prediction.step);
  run.step_times.reserve(static_cast<std::size_t>(run.config.steps));
  beginning.begun();
  interrupt.will_save();
  StepWatch watch(meter, run.predicted.prediction);
  watch.begins(1);
  SteadyClock::time_point before = SteadyClock::now();
  run.steps =
      rehearsal.run_to(run.config.steps, [&](std::int64_t step, const engine::StepResult& done) {
        engine::StepMetrics line{.step = step,
                                 .lr = done.lr,
                                 .step_time = done.end - before,
                                 .predicted = predicted,
                                 .tokens = run.job.tokens(),
                                 .useful_tokens = run.job.tokens(),
                                 .target_tokens = done.targets,
                                 .rehearsal = true};
        before = done.end;
        watch.ends();
        meter.read(line);
        run.step_times.push_back(line.step_time);
        metrics.append(line);
        if (!json) {
          std::printf("step %lld  %s (predicted %s)\n", static_cast<long long>(step),
                      planner::format_seconds(line.step_time).c_str(),
                      planner::format_seconds(predicted).c_str());
          std::fflush(stdout);
        }
        if (step < run.config.steps) watch.begins(step + 1);
        if (interrupt.flag().load()) rehearsal.request_stop();
      });
  watch.ends();
  run.interrupted = interrupt.flag().load() && run.steps < run.config.steps;
  const engine::ProcessMemory memory = engine::process_memory();
  run.resident_peak = memory.resident;
  run.locked_peak = memory.locked;
  run.device_peak = rehearsal.touched(planner::Arena::device);
  run.host_peak = rehearsal.touched(planner::Arena::host);
  metrics.flush();
}

/// Executes the rehearsal: writes the prediction to the ledger, runs the steps, writes the
/// measurement.
void execute(Rehearsed& run, const planner::ResolvedMachine& machine,
             const planner::HostWindow& window, const engine::RunFolder& folder,
             const InterruptFlag& interrupt, engine::RunBeginning& beginning, bool json) {
  const planner::StepGraph& graph = run.predicted.graph;
  engine::Ledger ledger(folder.ledger());
  const std::string promise = ledger.append(promise_of(run.predicted.prediction));
  profiler::Recorder recorder(
      graph, {.first = std::max<std::int64_t>(1, (run.config.steps - kTracedSteps + 1) / 2),
              .count = kTracedSteps});
  profiler::LaneMeter meter(graph, recorder);
  planner::Layout layout = graph.layout;
  layout.host_bytes = window.bytes();
  constexpr std::uint64_t kSeed = 1;
  engine::SyntheticTokens tokens(run.job.model.vocab, kSeed);
  engine::release_free_memory();
  engine::Rehearsal rehearsal(
      run.job, graph, window,
      engine::make_device(run.job, machine, layout, run.predicted.prediction.plan.threads), tokens,
      [&config = run.config](std::int64_t step) {
        return planner::learning_rate(config.schedule, config.optimizer.lr, step, config.steps);
      },
      &meter, engine::disk_place(machine, folder.path()));
  if (rehearsal.disk() != nullptr) tell_of_page_cache(*rehearsal.disk());
  engine::MetricsFile metrics(folder.metrics());
  try {
    run_steps(run, rehearsal, metrics, meter, interrupt, beginning, json);
  } catch (const engine::Diverged& error) {
    const std::string unit = error.gradient_unit()
                                 ? planner::unit_name(run.job.model, *error.gradient_unit()) + ": "
                                 : "";
    throw Error(ExitCode::not_converged,
                "rehearsal: values did not stay finite: " + unit + error.what());
  }
  run.values = rehearsal.values();
  if (const auto step = run.median_step()) {
    ledger.append(
        engine::LedgerMeasurement{.prediction = promise, .steps = run.steps, .median_step = *step});
  }
  run.measured_trace = measured_trace(graph, recorder, run.steps,
                                      run.device == planner::DeviceKind::cuda && !machine.staged);
}

}  // namespace

int rehearse(planner::RunArguments request, InterruptFlag& interrupt) {
  require_rehearsable(request);
  planner::RunConfig& config = request.config;
  if (config.steps == planner::RunConfig{}.steps) config.steps = kRehearsedSteps;
  const bool json = request.has("--json");
  const planner::RunPlanning planning = planner::planning_of(config);
  const planner::ResolvedMachine& machine = planning.predictor.machine();
  const planner::Job& job = planning.predictor.job();
  engine::require_backend(machine.profile.device);
  auto planned = plan_rehearsal(config, planning);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&planned)) {
    print(json ? to_json_text(*infeasible) : too_small_table(*infeasible));
    return static_cast<int>(ExitCode::does_not_fit);
  }
  auto& [plan, window, in_flight] = std::get<RehearsalPlan>(planned);
  planner::Prediction& prediction = plan.step.prediction;
  prediction.numerics_id = engine::numerics_id(job, machine);
  const planner::StepGraph& graph = plan.step.graph;
  const engine::RunFolder folder(config.out, job.model.name + "-rehearsal");
  Rehearsed run{.config = config,
                .job = job,
                .predicted = plan.step,
                .machine = machine.profile.name,
                .device = machine.profile.device,
                .plan_source = plan.source,
                .graph_sha256 = planner::sha256_hex(sim::write_graph(graph.graph)),
                .folder = folder.path().string(),
                .host_needed = at(prediction.memory, planner::Tier::host).peak,
                .window = window.bytes(),
                .in_flight = in_flight,
                .started = planner::utc_now(),
                .ended = {},
                .step_times = {},
                .values = {},
                .measured_trace = std::nullopt};
  interrupt.will_take_back(folder.beginnings());
  engine::RunBeginning beginning(folder);
  (void)write_before(folder, run.config, run.predicted);
  if (!json) {
    print(prediction_table(prediction, job, machine.profile.name));
    print(fmt::format(
        "rehearsal    {} of host memory stand for {} ({} are in flight at most): times are real, "
        "values mean nothing, nothing is saved\nrehearsing with {}\n",
        planner::format_bytes(window.bytes()), planner::format_bytes(run.host_needed),
        planner::format_bytes(in_flight), plan.description));
  }
  execute(run, machine, window, folder, interrupt, beginning, json);
  run.ended = planner::utc_now();
  if (run.measured_trace) {
    const std::string trace = sim::write_trace(*run.measured_trace);
    planner::write_whole_file(folder.measured_trace(), trace);
    if (const auto path = request.value("--trace-out")) planner::write_whole_file(*path, trace);
  }
  planner::write_whole_file(folder.path() / "rehearsal.json", rehearsal_json(run));
  print(json ? rehearsal_json(run) : rehearsal_table(run));
  if (const auto fault = run.values.fault()) {
    throw Error(ExitCode::not_converged,
                "rehearsal: " + *fault + ": they change how fast it runs, so its times are void");
  }
  return static_cast<int>(run.interrupted ? ExitCode::interrupted : ExitCode::done);
}

}  // namespace sluice::cli
