// `sluice train RUN`: trains with the given or stored plan, or plans first; prints predicted beside
// measured times.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/shown/needs_table.hpp"
#include "cli/shown/prediction_table.hpp"
#include "cli/training/choose_plan.hpp"
#include "cli/training/dry_run.hpp"
#include "cli/training/rehearse.hpp"
#include "cli/training/run_files.hpp"
#include "cli/training/train_output.hpp"
#include "cli/training/train_request.hpp"
#include "cli/training/train_state.hpp"
#include "cli/training/train_steps.hpp"
#include "cli/words/interrupt.hpp"
#include "cli/words/parse_run.hpp"
#include "engine/backends/backend.hpp"
#include "engine/model_files/kept_checkpoints.hpp"
#include "engine/records/run_folder.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/machines/host_memory.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/requests/prediction_json.hpp"
#include "planner/requests/run_planning.hpp"
#include "planner/requests/saving_plan.hpp"
#include "sim/error.hpp"
#include "sim/trace_json.hpp"

namespace sluice::cli {
namespace {

/// Error for a disk that did not take the state: the run stopped after a step, which a checkpoint
/// holds if one could be written.
EnvironmentError disk_failure(const TrainedRun& run) {
  const std::string stopped = "stopped after step " + std::to_string(run.result.steps);
  const std::string saved = run.checkpoint ? ", which is saved as " + run.checkpoint->string()
                                           : ", which could not be saved: the checkpoints before "
                                             "it are intact";
  return EnvironmentError(*run.result.disk_failure + ": " + stopped + saved +
                          ": check the drive and the room on it, and go on with --resume");
}

/// Text comparing what steps write to the disk with the drive's rating.
std::string disk_line(const planner::RunPlanning& planning, const planner::Prediction& prediction) {
  if (!planner::uses_disk(prediction.plan)) return "";
  const planner::Predictor& predictor = planning.predictor;
  return "SSD          " +
         wear_text(ssd_wear(predictor.job(), prediction.plan,
                            predictor.machine().profile.disk_endurance.value)) +
         "\n";
}

/// Adds the memory and time of checkpoints to the prediction.
planner::SavingPlan settle_saving(TrainRequest& request, planner::Prediction& prediction) {
  planner::RunConfig& config = request.config;
  if (!request.saves) config.save_every = 0;
  const bool here = config.machine == "here";
  const planner::SavingPlan saving =
      plan_saving(config, request.job(), prediction, request.machine(),
                  here ? std::optional(planner::host_memory().available) : std::nullopt);
  add_snapshot(prediction, saving);
  return saving;
}

int dry_run(const TrainRequest& request, const ChosenPlan& plan,
            const planner::SavingPlan& saving) {
  const planner::RunConfig& config = request.config;
  std::vector<std::int64_t> steps;
  if (request.resumed) steps = engine::checkpoint_steps(*request.resumed / "checkpoints");
  const std::int64_t first_step = steps.empty() ? 0 : std::min(steps.front(), config.steps);
  const planner::Job& job = request.job();
  const RunTimes times =
      run_times(config, job, plan.step.prediction, saving, *request.text, first_step);
  if (request.json) {
    print(dry_run_json(config, job, plan, saving, times, first_step));
    return static_cast<int>(ExitCode::done);
  }
  print(prediction_table(plan.step.prediction, job, request.machine().profile.name));
  print(plan_table(plan.step.prediction.plan, job));
  print("data         " + request.text->description() + "\n");
  print("plan         " + plan.description + "\n");
  print(times_table(config, times, first_step));
  print(disk_line(request.planning, plan.step.prediction));
  print(saving_table(config, saving));
  return static_cast<int>(ExitCode::done);
}

/// A run before its first step, with its prediction.
TrainedRun promised_run(const TrainRequest& request, const ChosenPlan& plan,
                        const planner::SavingPlan& saving, const RunStart& start,
                        const engine::RunFolder& folder) {
  const planner::MachineProfile& profile = request.machine().profile;
  return {.config = request.config,
          .job = request.job(),
          .predicted = plan.step,
          .machine = profile.name,
          .device = profile.device,
          .plan_source = plan.source,
          .folder = folder.path().string(),
          .numerics_id = plan.step.prediction.numerics_id,
          .data_sha256 = request.text->hash(),
          .weights_from = start.weights_from,
          .resumed_after = start.checkpoint ? std::optional(start.step()) : std::nullopt,
          .saving = saving,
          .started = planner::utc_now(),
          .unigram_entropy = request.text->unigram_entropy(),
          .endurance = profile.disk_endurance.value};
}

void print_beginning(const TrainRequest& request, const ChosenPlan& plan,
                     const planner::SavingPlan& saving, const RunStart& start) {
  const planner::RunConfig& config = request.config;
  const planner::Prediction& prediction = plan.step.prediction;
  const RunTimes times =
      run_times(config, request.job(), prediction, saving, *request.text, start.step());
  print(prediction_table(prediction, request.job(), request.machine().profile.name));
  print(start.description(config.seed));
  print("data: " + request.text->description() + "\n");
  print("training with " + plan.description + "\n");
  print(times_table(config, times, start.step()));
  print(disk_line(request.planning, prediction));
  if (request.saves) print(saving_table(config, saving));
}

/// Writes and prints the run's results; returns the exit code.
int end(TrainedRun& run, const TrainRequest& request, const engine::RunFolder& folder) {
  run.ended = planner::utc_now();
  write_after(folder, request.planning, run);
  if (request.trace_out && run.measured_trace) {
    planner::write_whole_file(*request.trace_out, sim::write_trace(*run.measured_trace));
  }
  if (run.result.disk_failure && run.result.steps < request.config.steps) throw disk_failure(run);
  print(request.json ? result_json(run) : result_table(run));
  if (!run.result.interrupted) return static_cast<int>(ExitCode::done);
  // Exit code 75 promises that the trained state is on the disk.
  const bool lost = request.saves && !run.checkpoint;
  return static_cast<int>(lost ? ExitCode::environment : ExitCode::interrupted);
}

int train(const TrainRequest& request, const ChosenPlan& plan, const planner::SavingPlan& saving,
          InterruptFlag& interrupt) {
  const planner::Prediction& prediction = plan.step.prediction;
  const RunIdentity identity{.config = request.config,
                             .job = request.job(),
                             .job_hash = prediction.job_hash,
                             .numerics_id = prediction.numerics_id,
                             .data_sha256 = request.text->hash()};
  const RunStart start = find_start(identity, request.resumed);
  const engine::RunFolder folder =
      request.resumed ? engine::RunFolder::to_continue(*request.resumed)
                      : engine::RunFolder(request.config.out, request.job().model.name);
  interrupt.will_take_back(folder.beginnings());
  engine::RunBeginning beginning(folder);
  engine::sweep_checkpoints(folder.checkpoints());
  TrainedRun run = promised_run(request, plan, saving, start, folder);
  run.predicted_trace = write_before(folder, run.config, run.predicted);
  if (!request.json) print_beginning(request, plan, saving, start);
  train_run(run,
            {.machine = request.machine(),
             .text = *request.text,
             .folder = folder,
             .start = start,
             .identity = identity,
             .interrupt = interrupt,
             .beginning = beginning},
            {.json = request.json, .checkpoint = request.saves});
  if (run.result.interrupted && run.result.steps == start.step()) {
    folder.take_back();
    std::fputs(kNothingToSave, stderr);
    return static_cast<int>(ExitCode::interrupted);
  }
  return end(run, request, folder);
}

}  // namespace

int run_train(const Arguments& arguments) {
  // Comes first, because reading the run, its model and the data takes time.
  InterruptFlag interrupt;
  const planner::RunArguments words = parse_run(arguments, kTrainUsage, train_flags());
  if (words.has("--rehearse")) {
    if (const auto path = words.value("--trace-out")) planner::require_writable(*path);
    if (words.config.backend) engine::require_backend(*words.config.backend);
    require_healthy(words.config);
    return rehearse(words, interrupt);
  }
  TrainRequest request = read_train_request(words);
  auto chosen = choose_plan(request.config, request.planning);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&chosen)) {
    print(request.json ? to_json_text(*infeasible) : infeasible_table(*infeasible));
    return static_cast<int>(ExitCode::does_not_fit);
  }
  ChosenPlan& plan = std::get<ChosenPlan>(chosen);
  planner::Prediction& prediction = plan.step.prediction;
  if (!request.dry) prediction.numerics_id = engine::numerics_id(request.job(), request.machine());
  const planner::SavingPlan saving = settle_saving(request, prediction);
  if (request.dry) return dry_run(request, plan, saving);
  return train(request, plan, saving, interrupt);
}

}  // namespace sluice::cli
