#include "profiler/training/rehearsal_run.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include "engine/backends/backend.hpp"
#include "engine/memory/process_memory.hpp"
#include "engine/run_folders/ledger.hpp"
#include "planner/files/hash.hpp"
#include "planner/files/whole_file.hpp"
#include "profiler/traces/lane_meter.hpp"
#include "profiler/traces/recorder.hpp"
#include "profiler/training/run_files.hpp"
#include "profiler/training/traced_steps.hpp"
#include "profiler/training/train_state.hpp"
#include "sim/error.hpp"
#include "sim/graph_file.hpp"
#include "sim/trace_json.hpp"
#include "sim/version.hpp"

namespace sluice::profiler {
namespace {

using SteadyClock = std::chrono::steady_clock;

engine::LedgerPrediction promise_of(const planner::Prediction& prediction) {
  return {.job_hash = prediction.job_hash,
          .plan_hash = prediction.plan_hash,
          .cost_model_hash = prediction.cost_model_hash,
          .numerics_id = prediction.numerics_id,
          .commit = std::string(commit()),
          .step = to_seconds(prediction.step),
          .step_low = prediction.step_low,
          .step_high = prediction.step_high,
          .knowledge = to_string(prediction.knowledge),
          .machine = prediction.machine,
          .job = prediction.job,
          .rehearsal = true};
}

/// Runs the steps and fills in their results.
void run_steps(Rehearsed& run, engine::Rehearsal& rehearsal, engine::MetricsFile& metrics,
               LaneMeter& meter, const std::atomic<bool>& interrupted,
               engine::RunBeginning& beginning, RunObserver& observer) {
  const Seconds predicted = to_seconds(run.predicted.prediction.step);
  run.step_times.reserve(static_cast<std::size_t>(run.config.steps));
  beginning.begun();
  observer.begun();
  const std::unique_ptr<StepFollower> follower =
      observer.follow(meter, run.predicted.prediction, {.done = 0, .all = run.config.steps});
  follower->begins(1);
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
        follower->ends();
        meter.read(line);
        run.step_times.push_back(line.step_time);
        metrics.append(line);
        follower->step(line);
        if (step < run.config.steps) follower->begins(step + 1);
        if (interrupted.load()) rehearsal.request_stop();
      });
  follower->ends();
  run.interrupted = interrupted.load() && run.steps < run.config.steps;
  const engine::ProcessMemory memory = engine::process_memory();
  run.resident_peak = memory.resident;
  run.locked_peak = memory.locked;
  run.device_peak = rehearsal.touched(planner::Arena::device);
  run.host_peak = rehearsal.touched(planner::Arena::host);
  metrics.flush();
}

engine::RunFolder folder_of(const planner::RunConfig& config, const planner::Job& job,
                            RunObserver& observer) {
  engine::RunFolder folder(config.out, job.model.name + "-rehearsal");
  observer.will_write(folder.beginnings());
  return folder;
}

/// The rehearsal before its first step.
Rehearsed promised_rehearsal(const planner::RunConfig& config, const planner::Request& planning,
                             const RehearsalPlan& plan, const engine::RunFolder& folder) {
  const planner::MachineProfile& profile = planning.predictor.machine().profile;
  const planner::PredictedStep& step = plan.chosen.step();
  return {.config = config,
          .job = planning.predictor.job(),
          .predicted = step,
          .machine = profile.name,
          .device = profile.device,
          .plan_source = to_string(plan.chosen.source),
          .graph_sha256 = planner::sha256_hex(sim::write_graph(step.graph.graph)),
          .folder = folder.path().string(),
          .host_needed = at(step.prediction.memory, planner::Tier::host).peak,
          .window = plan.window.bytes() * step.graph.ranks,
          .in_flight = plan.in_flight,
          .started = planner::utc_now(),
          .ended = {},
          .step_times = {},
          .values = {},
          .measured_trace = std::nullopt};
}

}  // namespace

RehearsalRun::RehearsalRun(const planner::RunConfig& config, const planner::Request& planning,
                           const RehearsalPlan& plan, RunObserver& observer)
    : machine_(planning.predictor.machine()),
      plan_(plan),
      observer_(observer),
      folder_(folder_of(config, planning.predictor.job(), observer)),
      run_(promised_rehearsal(config, planning, plan, folder_)),
      beginning_(folder_) {
  (void)write_before(folder_, run_.config, run_.predicted);
}

void RehearsalRun::rehearse(const std::atomic<bool>& interrupted,
                            const std::optional<std::string>& trace_out) {
  execute(interrupted);
  run_.ended = planner::utc_now();
  if (run_.measured_trace) {
    const std::string trace = sim::write_trace(*run_.measured_trace);
    planner::write_whole_file(folder_.measured_trace(), trace);
    if (trace_out) planner::write_whole_file(*trace_out, trace);
  }
  planner::write_whole_file(folder_.path() / "rehearsal.json", rehearsal_json(run_));
}

void RehearsalRun::execute(const std::atomic<bool>& interrupted) {
  const planner::StepGraph& graph = run_.predicted.graph;
  engine::Ledger ledger(folder_.ledger());
  const std::string promise = ledger.append(promise_of(run_.predicted.prediction));
  Recorder recorder(graph,
                    {.first = std::max<std::int64_t>(1, (run_.config.steps - kTracedSteps + 1) / 2),
                     .count = kTracedSteps});
  LaneMeter meter(graph, recorder);
  planner::Layout layout = graph.layout;
  layout.host_bytes = plan_.window.bytes();
  constexpr std::uint64_t kSeed = 1;
  engine::SyntheticTokens tokens(run_.job.model.vocab, kSeed);
  engine::release_free_memory();
  engine::Rehearsal rehearsal(
      run_.job, graph, plan_.window,
      engine::make_devices(run_.job, machine_, layout, run_.predicted.prediction.plan.threads,
                           graph.ranks),
      tokens,
      [&config = run_.config](std::int64_t step) {
        return planner::learning_rate(config.schedule, config.optimizer.lr, step, config.steps);
      },
      &meter, engine::disk_place(machine_, folder_.path()));
  if (rehearsal.disk() != nullptr) tell_of_page_cache(*rehearsal.disk());
  engine::MetricsFile metrics(folder_.metrics());
  try {
    run_steps(run_, rehearsal, metrics, meter, interrupted, beginning_, observer_);
  } catch (const engine::Diverged& error) {
    const std::string unit = error.gradient_unit()
                                 ? planner::unit_name(run_.job.model, *error.gradient_unit()) + ": "
                                 : "";
    throw Error(ExitCode::not_converged,
                "rehearsal: values did not stay finite: " + unit + error.what());
  }
  run_.values = rehearsal.values();
  if (const auto step = run_.median_step()) {
    ledger.append(engine::LedgerMeasurement{
        .prediction = promise, .steps = run_.steps, .median_step = *step});
  }
  run_.measured_trace = measured_trace(
      graph, recorder, run_.steps, run_.device == planner::DeviceKind::cuda && !machine_.staged);
}

}  // namespace sluice::profiler
