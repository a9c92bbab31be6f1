// `sluice train RUN`: trains with the given or stored plan, or plans first; predicted beside
// measured.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "cli/choose_plan.hpp"
#include "cli/dry_run.hpp"
#include "cli/interrupt.hpp"
#include "cli/needs_table.hpp"
#include "cli/parse_run.hpp"
#include "cli/prediction_table.hpp"
#include "cli/rehearse.hpp"
#include "cli/run_files.hpp"
#include "cli/train_output.hpp"
#include "cli/train_state.hpp"
#include "cli/train_steps.hpp"
#include "engine/backend.hpp"
#include "engine/model_files/kept_checkpoints.hpp"
#include "engine/run_folder.hpp"
#include "planner/disk_state.hpp"
#include "planner/host_memory.hpp"
#include "planner/prediction_json.hpp"
#include "planner/run_planning.hpp"
#include "planner/saving_plan.hpp"
#include "profiler/doctor/doctor.hpp"
#include "profiler/recorder.hpp"
#include "sim/error.hpp"
#include "sim/trace_json.hpp"
#include "sim/version.hpp"

namespace sluice::cli {
namespace {

/// Refuses a machine where training cannot work; warnings are for `sluice doctor`.
void require_healthy(const planner::RunConfig& config) {
  profiler::DoctorOptions options;
  if (config.out) options.runs = config.out->parent_path();
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

/// Steps of a run that states epochs, rounded up.
void settle_steps(planner::RunConfig& config, const engine::WindowedText& text) {
  if (!config.epochs) return;
  const double sequences = *config.epochs * static_cast<double>(text.training_windows());
  const double steps = std::ceil(sequences / static_cast<double>(config.batch_size));
  config.steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(steps));
  config.epochs.reset();
}

/// The disk did not take the state: the run stopped behind a step, which a checkpoint holds where
/// one could be written.
EnvironmentError disk_failure(const TrainedRun& run) {
  const std::string stopped = "stopped after step " + std::to_string(run.result.steps);
  const std::string saved = run.checkpoint ? ", which is saved as " + run.checkpoint->string()
                                           : ", which could not be saved: the checkpoints before "
                                             "it are intact";
  return EnvironmentError(*run.result.disk_failure + ": " + stopped + saved +
                          ": check the drive and the room on it, and go on with --resume");
}

/// What steps write to the disk, against its rating.
std::string disk_line(const planner::RunPlanning& planning, const planner::Prediction& prediction) {
  if (!planner::uses_disk(prediction.plan)) return "";
  const planner::Predictor& predictor = planning.predictor;
  return "SSD          " +
         wear_text(ssd_wear(predictor.job(), prediction.plan,
                            predictor.machine().profile.disk_endurance.value)) +
         "\n";
}

int dry_run(const ChosenPlan& plan, const planner::RunPlanning& planning,
            const planner::RunConfig& config, const planner::SavingPlan& saving,
            const engine::WindowedText& text, std::int64_t first_step, bool json) {
  const planner::Job& job = planning.predictor.job();
  const RunTimes times = run_times(config, job, plan.step.prediction, saving, text, first_step);
  if (json) {
    print(dry_run_json(config, job, plan, saving, times, first_step));
    return static_cast<int>(ExitCode::done);
  }
  print(prediction_table(plan.step.prediction, job, planning.predictor.machine().profile.name));
  print(plan_table(plan.step.prediction.plan, job));
  print("data         " + text.description() + "\n");
  print("plan         " + plan.description + "\n");
  print(times_table(config, times, first_step));
  print(disk_line(planning, plan.step.prediction));
  print(saving_table(config, saving));
  return static_cast<int>(ExitCode::done);
}

}  // namespace

int run_train(const Arguments& arguments) {
  using Takes = planner::VerbFlag::Takes;
  const planner::RunArguments request = parse_run(
      arguments,
      "sluice train RUN [--resume | --dry-run | --rehearse] [--no-checkpoint] [--json] "
      "[--trace-out T.json] [run flags]",
      {{"--resume", Takes::nothing, "go on from the newest intact checkpoint of the run's folder"},
       {"--dry-run", Takes::nothing,
        "say whether it fits, its plan, how long it takes and what "
        "checkpoints cost; run nothing"},
       {"--rehearse", Takes::nothing,
        "time the true steps on a host that is too small: no data, no weights, nothing saved"},
       {"--no-checkpoint", Takes::nothing, "write no checkpoints (12 bytes a parameter)"},
       {"--json", Takes::nothing,
        "one JSON object (docs/schemas/train-result.schema.json, dry-run.schema.json)"},
       {"--trace-out", Takes::value, "write three consecutive measured steps"}});
  InterruptFlag interrupt;
  if (request.has("--rehearse")) {
    if (const auto path = request.value("--trace-out")) planner::require_writable(*path);
    if (request.config.backend) engine::require_backend(*request.config.backend);
    require_healthy(request.config);
    return rehearse(request, interrupt);
  }
  planner::RunConfig config = request.config;
  const bool json = request.has("--json");
  std::optional<std::filesystem::path> resumed;
  if (request.has("--resume")) resumed = folder_to_resume(request);
  const bool dry = request.has("--dry-run");
  if (config.backend && !dry) engine::require_backend(*config.backend);
  const planner::RunPlanning planning = planner::planning_of(config);
  require_trainable(config);
  const planner::DeviceKind device = planning.predictor.machine().profile.device;
  if (!dry) engine::require_backend(device);
  const std::unique_ptr<engine::WindowedText> opened = text_of(config);
  engine::WindowedText& text = *opened;
  settle_steps(config, text);
  require_steps_to_trace(request, config.steps);
  require_vocabulary(text, planning.predictor.job().model);
  if (!dry) require_healthy(config);
  if (const auto path = request.value("--trace-out"); path && !dry) {
    planner::require_writable(*path);
  }
  auto chosen = choose_plan(config, planning);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&chosen)) {
    print(json ? to_json_text(*infeasible) : infeasible_table(*infeasible));
    return static_cast<int>(ExitCode::does_not_fit);
  }
  ChosenPlan& plan = std::get<ChosenPlan>(chosen);
  planner::Prediction& prediction = plan.step.prediction;
  const planner::ResolvedMachine& machine = planning.predictor.machine();
  const planner::Job& job = planning.predictor.job();
  if (!dry) prediction.numerics_id = engine::numerics_id(job, machine);

  const bool saves = !request.has("--no-checkpoint");
  if (!saves) config.save_every = 0;
  const bool here = config.machine == "here";
  const planner::SavingPlan saving =
      plan_saving(config, job, prediction, machine,
                  here ? std::optional(planner::host_memory().available) : std::nullopt);
  add_snapshot(prediction, saving);

  const RunIdentity identity{.config = config,
                             .job = job,
                             .job_hash = prediction.job_hash,
                             .numerics_id = prediction.numerics_id,
                             .data_sha256 = text.hash()};
  if (dry) {
    std::vector<std::int64_t> steps;
    if (resumed) steps = engine::checkpoint_steps(*resumed / "checkpoints");
    const std::int64_t first_step = steps.empty() ? 0 : std::min(steps.front(), config.steps);
    return dry_run(plan, planning, config, saving, text, first_step, json);
  }
  const RunStart start = find_start(identity, resumed);
  const engine::RunFolder folder = resumed ? engine::RunFolder::to_continue(*resumed)
                                           : engine::RunFolder(config.out, job.model.name);
  interrupt.will_take_back(folder.beginnings());
  engine::RunBeginning beginning(folder);
  engine::sweep_checkpoints(folder.checkpoints());
  TrainedRun run{.config = config,
                 .job = job,
                 .predicted = plan.step,
                 .machine = machine.profile.name,
                 .device = machine.profile.device,
                 .plan_source = plan.source,
                 .folder = folder.path().string(),
                 .numerics_id = prediction.numerics_id,
                 .data_sha256 = identity.data_sha256,
                 .weights_from = start.weights_from,
                 .resumed_after = start.checkpoint ? std::optional(start.step()) : std::nullopt,
                 .checkpoint = std::nullopt,
                 .saving = saving,
                 .saves = {},
                 .started = planner::utc_now(),
                 .ended = {},
                 .unigram_entropy = text.unigram_entropy(),
                 .result = {},
                 .metrics = {},
                 .weights_sha256 = {},
                 .state_sha256 = {},
                 .predicted_trace = {},
                 .measured_trace = std::nullopt,
                 .measured_stalls = std::nullopt,
                 .endurance = machine.profile.disk_endurance.value};
  run.predicted_trace = write_before(folder, run.config, run.predicted);
  if (!json) {
    const RunTimes times = run_times(config, job, prediction, saving, text, start.step());
    print(prediction_table(prediction, job, machine.profile.name));
    print(start.description(config.seed));
    print("data: " + text.description() + "\n");
    print("training with " + plan.description + "\n");
    print(times_table(config, times, start.step()));
    print(disk_line(planning, prediction));
    if (saves) print(saving_table(config, saving));
  }
  train_run(run,
            {.machine = machine,
             .text = text,
             .folder = folder,
             .start = start,
             .identity = identity,
             .interrupt = interrupt,
             .beginning = beginning},
            {.json = json, .checkpoint = saves});
  if (run.result.interrupted && run.result.steps == start.step()) {
    folder.take_back();
    std::fputs(kNothingToSave, stderr);
    return static_cast<int>(ExitCode::interrupted);
  }
  run.ended = planner::utc_now();
  write_after(folder, planning, run);
  if (const auto path = request.value("--trace-out"); path && run.measured_trace) {
    planner::write_whole_file(*path, sim::write_trace(*run.measured_trace));
  }
  if (run.result.disk_failure && run.result.steps < config.steps) throw disk_failure(run);
  print(json ? result_json(run) : result_table(run));
  if (!run.result.interrupted) return static_cast<int>(ExitCode::done);
  // 75 promises that what was trained is on the disk.
  return static_cast<int>(saves && !run.checkpoint ? ExitCode::environment : ExitCode::interrupted);
}

}  // namespace sluice::cli
