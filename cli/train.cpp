// `sluice train RUN`: trains with the given or stored plan, or plans first; predicted beside
// measured.
#include <cstdio>

#include "cli/choose_plan.hpp"
#include "cli/interrupt.hpp"
#include "cli/parse_run.hpp"
#include "cli/prediction_table.hpp"
#include "cli/progress.hpp"
#include "cli/train_output.hpp"
#include "cli/train_state.hpp"
#include "engine/backend.hpp"
#include "engine/datasets/open_text.hpp"
#include "engine/ledger.hpp"
#include "engine/process_memory.hpp"
#include "engine/run_folder.hpp"
#include "planner/prediction_json.hpp"
#include "planner/run_planning.hpp"
#include "profiler/doctor/doctor.hpp"
#include "profiler/recorder.hpp"
#include "sim/error.hpp"
#include "sim/simulate.hpp"
#include "sim/trace_json.hpp"
#include "sim/version.hpp"

namespace sluice::cli {
namespace {

/// Evaluations in a run besides the one at the start; and steps' worth of tokens of each, at most.
constexpr std::int64_t kEvaluations = 4;
constexpr std::int64_t kEvaluationSteps = 8;
constexpr std::int64_t kTracedSteps = 3;

/// Refuses a machine where training cannot work; warnings are for `sluice doctor`.
void require_healthy(const planner::RunConfig& config) {
  profiler::DoctorOptions options;
  if (config.out)
    options.runs = config.out->parent_path().empty() ? "." : config.out->parent_path();
  options.store = planner::Store::of_user().root();
  profiler::require_healthy(profiler::examine_machine(options));
}

void require_trainable(const planner::RunConfig& config) {
  if (!config.data) {
    throw BadRequest("data is missing: give --data FILE, or data: FILE in RUN.yaml");
  }
  if (config.steps < 1) throw BadRequest("steps: must be at least 1");
}

void require_vocabulary(const engine::WindowedText& text, const planner::ModelShape& model) {
  if (model.vocab >= text.vocabulary()) return;
  throw BadRequest("model: vocab " + std::to_string(model.vocab) + " is smaller than the " +
                   std::to_string(text.vocabulary()) + " that the data have (" +
                   text.description() + "): choose another model");
}

/// Steps that are traced: in the middle of the first chunk, where steps overlap as they do ever
/// after.
std::int64_t first_traced(std::int64_t chunk) {
  return std::max<std::int64_t>(1, std::min(chunk / 2, chunk - (kTracedSteps - 1)));
}

void write_before(const engine::RunFolder& folder, TrainedRun& run) {
  planner::PlanFile plan = planner::to_plan_file(run.predicted.prediction);
  plan.numerics_id = run.numerics_id;
  planner::write_whole_file(folder.run_yaml(), to_yaml(run.config));
  planner::write_plan_file(plan, folder.plan());
  const planner::StepGraph& graph = run.predicted.graph;
  run.predicted_trace =
      profiler::trace_of(graph, sim::simulate(graph.graph).spans, sim::SpanSource::simulated);
  planner::write_whole_file(folder.predicted_trace(), sim::write_trace(run.predicted_trace));
}

/// How `sluice train` was asked to go about it.
struct TrainOptions {
  bool json = false;
  bool checkpoint = true;  ///< Write one at the end.
};

/// Trains and fills in what `run` lacks.
void train_run(TrainedRun& run, const planner::ResolvedMachine& machine, engine::WindowedText& text,
               const engine::RunFolder& folder, const RunStart& start, const RunIdentity& identity,
               const TrainOptions& options) {
  const planner::RunConfig& config = run.config;
  const planner::Prediction& prediction = run.predicted.prediction;
  engine::Ledger ledger(folder.ledger());
  const std::string promise =
      ledger.append(engine::LedgerPrediction{.job_hash = prediction.job_hash,
                                             .plan_hash = prediction.plan_hash,
                                             .cost_model_hash = prediction.cost_model_hash,
                                             .numerics_id = run.numerics_id,
                                             .commit = std::string(commit()),
                                             .step = to_seconds(prediction.step),
                                             .step_low = prediction.step_low,
                                             .step_high = prediction.step_high});
  const std::int64_t chunk = std::min(
      config.steps, std::max(kTracedSteps, (config.steps + kEvaluations - 1) / kEvaluations));
  // The recorder counts from where the session starts.
  const std::int64_t first_chunk =
      std::min(config.steps, (start.step() / chunk + 1) * chunk) - start.step();
  const profiler::StepRange traced{.first = first_traced(first_chunk), .count = kTracedSteps};
  profiler::Recorder recorder(run.predicted.graph, traced);
  const auto learning_rate = [&config](std::int64_t step) {
    return planner::learning_rate(config.schedule, config.optimizer.lr, step, config.steps);
  };
  engine::release_free_memory();
  const auto session = start_session(
      start, identity, run.predicted.graph,
      engine::make_device(run.job, machine, run.predicted.graph.layout, prediction.plan.threads),
      text, learning_rate, &recorder);
  engine::MetricsFile metrics(folder.metrics(), start.step());
  Progress progress(config.steps, options.json ? Progress::Where::nowhere : Progress::Where::lines);
  const InterruptFlag interrupt;
  run.metrics.reserve(static_cast<std::size_t>(config.steps));
  const engine::TrainingReports reports{
      .step =
          [&](const engine::StepMetrics& line) {
            run.metrics.push_back(line);
            progress.step(line);
          },
      .validation = [&](std::int64_t step, double loss) { progress.validation(step, loss); }};
  run.result = engine::train(*session, run.job, text,
                             {.steps = config.steps,
                              .evaluate_every = chunk,
                              .evaluation_windows = kEvaluationSteps * run.job.batch_size,
                              .predicted_step = to_seconds(prediction.step)},
                             metrics, interrupt.flag(), reports);
  progress.finish();
  if (const auto step = run.result.median_step()) {
    ledger.append(engine::LedgerMeasurement{
        .prediction = promise, .steps = run.result.steps, .median_step = *step});
  }
  run.weights_sha256 = session->state().weights_sha256();
  run.state_sha256 = session->state().state_sha256();
  if (options.checkpoint) run.checkpoint = save_checkpoint(folder, start, identity, *session);
  if (run.result.steps - start.step() >= traced.first + kTracedSteps - 1) {
    const auto spans = profiler::three_steps(run.predicted.graph, recorder, traced.first);
    const bool by_events = run.device == planner::DeviceKind::cuda && !machine.staged;
    run.measured_trace = profiler::trace_of(
        run.predicted.graph, spans, by_events ? sim::SpanSource::event : sim::SpanSource::clock);
    run.measured_stalls = planner::stall_times_of(run.predicted.graph, spans);
  }
}

void write_after(const engine::RunFolder& folder, const TrainedRun& run) {
  if (run.measured_trace) {
    planner::write_whole_file(folder.measured_trace(), sim::write_trace(*run.measured_trace));
  }
  planner::write_whole_file(folder.manifest(), manifest_json(run));
  planner::write_whole_file(folder.report(), result_report(run));
}

}  // namespace

int run_train(const Arguments& arguments) {
  using Takes = planner::VerbFlag::Takes;
  const planner::RunArguments request = parse_run(
      arguments,
      "sluice train RUN [--resume] [--no-checkpoint] [--json] [--trace-out T.json] [run flags]",
      {{"--resume", Takes::nothing, "go on from the newest intact checkpoint of the run's folder"},
       {"--no-checkpoint", Takes::nothing, "write no checkpoint (12 bytes a parameter) at the end"},
       {"--json", Takes::nothing, "one JSON object (docs/schemas/train-result.schema.json)"},
       {"--trace-out", Takes::value, "write three consecutive measured steps"}});
  const planner::RunConfig& config = request.config;
  const bool json = request.has("--json");
  std::optional<std::filesystem::path> resumed;
  if (request.has("--resume")) resumed = folder_to_resume(request);
  if (config.backend) engine::require_backend(*config.backend);
  const planner::RunPlanning planning = planner::planning_of(config);
  require_trainable(config);
  const planner::DeviceKind device = planning.predictor.machine().profile.device;
  if (device == planner::DeviceKind::cuda && config.packing == planner::Packing::documents) {
    throw BadRequest(
        "packing: the cuda backend does not keep attention inside documents: use packing=off or "
        "stream");
  }
  engine::require_backend(device);
  if (request.has("--trace-out") && config.steps < kTracedSteps) {
    throw BadRequest("--trace-out: three steps are traced, and steps is " +
                     std::to_string(config.steps) + ": raise it");
  }
  const std::unique_ptr<engine::WindowedText> opened =
      engine::open_text(config, planner::Store::of_user().root() / "tokens");
  engine::WindowedText& text = *opened;
  require_vocabulary(text, planning.predictor.job().model);
  require_healthy(config);
  auto chosen = choose_plan(config, planning);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&chosen)) {
    print(json ? to_json_text(*infeasible) : infeasible_table(*infeasible));
    return static_cast<int>(ExitCode::does_not_fit);
  }
  ChosenPlan& plan = std::get<ChosenPlan>(chosen);
  const planner::ResolvedMachine& machine = planning.predictor.machine();
  const planner::Job& job = planning.predictor.job();
  plan.step.prediction.numerics_id = engine::numerics_id(job, machine);

  const RunIdentity identity{.config = config,
                             .job = job,
                             .job_hash = plan.step.prediction.job_hash,
                             .numerics_id = plan.step.prediction.numerics_id,
                             .data_sha256 = text.hash()};
  const RunStart start = find_start(identity, resumed);
  const engine::RunFolder folder = resumed ? engine::RunFolder::to_continue(*resumed)
                                           : engine::RunFolder(config.out, job.model.name);
  TrainedRun run{.config = config,
                 .job = job,
                 .predicted = plan.step,
                 .machine = machine.profile.name,
                 .device = machine.profile.device,
                 .plan_source = plan.source,
                 .folder = folder.path().string(),
                 .numerics_id = plan.step.prediction.numerics_id,
                 .data_sha256 = identity.data_sha256,
                 .weights_from = start.weights_from,
                 .resumed_after = start.checkpoint ? std::optional(start.step()) : std::nullopt,
                 .checkpoint = std::nullopt,
                 .started = planner::utc_now(),
                 .ended = {},
                 .unigram_entropy = text.unigram_entropy(),
                 .result = {},
                 .metrics = {},
                 .weights_sha256 = {},
                 .state_sha256 = {},
                 .predicted_trace = {},
                 .measured_trace = std::nullopt,
                 .measured_stalls = std::nullopt};
  write_before(folder, run);
  if (!json) {
    print(prediction_table(plan.step.prediction, job, machine.profile.name));
    print(start.description(config.seed));
    print("data: " + text.description() + "\n");
    print("training with " + plan.description + "\n");
  }
  const TrainOptions options{.json = json, .checkpoint = !request.has("--no-checkpoint")};
  train_run(run, machine, text, folder, start, identity, options);
  run.ended = planner::utc_now();
  write_after(folder, run);
  if (const auto path = request.value("--trace-out"); path && run.measured_trace) {
    planner::write_whole_file(*path, sim::write_trace(*run.measured_trace));
  }
  print(json ? result_json(run) : result_table(run));
  if (!run.result.interrupted) return static_cast<int>(ExitCode::done);
  // 75 promises that what was trained is on the disk.
  return static_cast<int>(options.checkpoint && !run.checkpoint ? ExitCode::environment
                                                                : ExitCode::interrupted);
}

}  // namespace sluice::cli
