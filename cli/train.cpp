// `sluice train RUN`: trains with the given or stored plan, or plans first; prints predicted beside
// measured times.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/shown/dry_run_output.hpp"
#include "cli/shown/needs_table.hpp"
#include "cli/shown/padding_text.hpp"
#include "cli/shown/prediction_table.hpp"
#include "cli/shown/train_table.hpp"
#include "cli/training/launched_run.hpp"
#include "cli/training/rehearse.hpp"
#include "cli/training/shown_run.hpp"
#include "cli/training/train_words.hpp"
#include "cli/words/interrupt.hpp"
#include "cli/words/parse_run.hpp"
#include "engine/backends/backend.hpp"
#include "engine/model_files/kept_checkpoints.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/requests/choose_plan.hpp"
#include "planner/requests/prediction_json.hpp"
#include "planner/requests/request.hpp"
#include "profiler/training/data_notes.hpp"
#include "profiler/training/run_json.hpp"
#include "profiler/training/training_run.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

using profiler::RunPromise;
using profiler::TrainRequest;

/// Text comparing what steps write to the disk with the drive's rating; empty where nothing is on
/// the disk.
std::string disk_line(const planner::Request& planning, const planner::Prediction& prediction) {
  if (!planner::uses_disk(prediction.plan)) return "";
  const planner::Predictor& predictor = planning.predictor;
  return "SSD          " +
         wear_text(ssd_wear(predictor.job(), prediction.plan,
                            predictor.machine().profile.disk_endurance.value)) +
         "\n";
}

/// Costs of the run's checkpoints; nothing where none are written.
planner::SavingPlan saving_of(const TrainRequest& request, const RunPromise& promise) {
  return request.options.saves ? promise.saving : planner::SavingPlan{};
}

/// Advice on packing for a run from its start; none where it goes on, or saves too little.
std::optional<profiler::PackingAdvice> advice_of(const TrainRequest& request,
                                                 const RunPromise& promise,
                                                 std::int64_t first_step) {
  if (first_step > 0) return std::nullopt;
  return profiler::packing_advice(request.config, request.job(), promise.plan.step().prediction,
                                  saving_of(request, promise), *request.text);
}

/// The data in a line, and what is learnt of them in another; warns where that is little.
void print_data(const TrainRequest& request, const char* name) {
  constexpr std::int64_t kNoRows = 0;
  const engine::DataSummary summary = request.text->summary(kNoRows);
  print(name + profiler::data_line(*request.text, summary) + "\n");
  for (const std::string& warning : profiler::data_warnings(summary)) sim::warn(warning);
}

/// Predicted times of a run, without those of checkpoints where none are written.
profiler::RunTimes times_of(const TrainRequest& request, const RunPromise& promise,
                            std::int64_t first_step) {
  return profiler::run_times(request.config, request.job(), promise.plan.step().prediction,
                             saving_of(request, promise), *request.text, first_step);
}

int dry_run(const TrainRequest& request, const RunPromise& promise, bool json) {
  const planner::RunConfig& config = request.config;
  const auto& [plan, saving] = promise;
  std::vector<std::int64_t> steps;
  if (const auto& resumed = request.options.resumed) {
    steps = engine::checkpoint_steps(*resumed / "checkpoints");
  }
  const std::int64_t first_step = steps.empty() ? 0 : std::min(steps.front(), config.steps);
  const planner::Job& job = request.job();
  const profiler::RunTimes times = times_of(request, promise, first_step);
  if (json) {
    print(dry_run_json(config, job, plan, saving, times, first_step,
                       advice_of(request, promise, first_step)));
    return static_cast<int>(ExitCode::done);
  }
  print(prediction_table(plan.step().prediction, job, request.machine().profile.name));
  print(plan_table(plan.step().prediction.plan, job));
  print_data(request, "data         ");
  print("plan         " + describe_source(plan, config) + "\n");
  print(times_table(config, times, first_step));
  print(padding_line(advice_of(request, promise, first_step)));
  print(disk_line(request.planning, plan.step().prediction));
  if (request.options.saves) print(saving_table(config, saving));
  return static_cast<int>(ExitCode::done);
}

void print_beginning(const TrainRequest& request, const RunPromise& promise,
                     const profiler::RunStart& start) {
  const planner::RunConfig& config = request.config;
  const auto& [plan, saving] = promise;
  const planner::Prediction& prediction = plan.step().prediction;
  const profiler::RunTimes times = times_of(request, promise, start.step());
  print(prediction_table(prediction, request.job(), request.machine().profile.name));
  print(start.description(config.seed));
  print_data(request, "data: ");
  print("training with " + describe_source(plan, config) + "\n");
  print(times_table(config, times, start.step()));
  print(padding_line(advice_of(request, promise, start.step())));
  print(disk_line(request.planning, prediction));
  if (request.options.saves) print(saving_table(config, saving));
}

int show_result(const profiler::TrainingRun& run, bool json) {
  const profiler::TrainedRun& trained = run.trained();
  print(json ? result_json(trained) : result_table(trained));
  if (!trained.result.interrupted) return static_cast<int>(ExitCode::done);
  // Exit code 75 promises that the trained state is on the disk.
  return static_cast<int>(run.lost() ? ExitCode::environment : ExitCode::interrupted);
}

int show_infeasible(const planner::Infeasible& infeasible, bool json) {
  print(json ? to_json_text(infeasible) : infeasible_table(infeasible));
  return static_cast<int>(ExitCode::does_not_fit);
}

int train(const TrainRequest& request, const RunPromise& promise, InterruptFlag& interrupt,
          bool json) {
  ShownTraining shown(interrupt, json ? Progress::Where::nowhere : Progress::Where::lines);
  profiler::TrainingRun run(request, promise, shown);
  if (!json) print_beginning(request, promise, run.start());
  if (!run.train(interrupt.flag())) {
    std::fputs(kNothingToSave, stderr);
    return static_cast<int>(ExitCode::interrupted);
  }
  return show_result(run, json);
}

FirstRankShows first_rank_shows(bool json) {
  return {
      .infeasible = [json](const auto& infeasible) { return show_infeasible(infeasible, json); },
      .dry_run = [json](const auto& request,
                        const auto& promise) { return dry_run(request, promise, json); },
      .beginning =
          [json](const auto& request, const auto& promise, const auto& start) {
            if (!json) print_beginning(request, promise, start);
          },
      .result = [json](const auto& run) { return show_result(run, json); },
      .lines = !json};
}

}  // namespace

int run_train(const Arguments& arguments) {
  // Comes first, because reading the run, its model and the data takes time.
  InterruptFlag interrupt;
  const planner::RunArguments words = parse_run(arguments, kTrainUsage, train_flags());
  const auto launch = engine::find_launch({words.value("--launch"), words.value("--rendezvous")},
                                          engine::own_variables());
  if (launch)
    return train_as_rank(words, *launch, interrupt, first_rank_shows(words.has("--json")));
  if (words.has("--rehearse")) {
    if (const auto path = words.value("--trace-out")) planner::require_writable(*path);
    if (words.config.backend) engine::require_backend(*words.config.backend);
    profiler::require_healthy(words.config);
    return rehearse(words, interrupt);
  }
  const bool json = words.has("--json");
  ShownRun reading(interrupt);
  planner::RunConfig config = words.config;
  if (words.has("--strict")) config.strict = true;
  const TrainRequest request =
      profiler::read_train_request(config, train_options(words), reading, words.policy);
  const auto promised = promise_of(request);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&promised)) {
    return show_infeasible(*infeasible, json);
  }
  const auto& promise = std::get<RunPromise>(promised);
  if (request.options.dry) return dry_run(request, promise, json);
  return train(request, promise, interrupt, json);
}

}  // namespace sluice::cli
