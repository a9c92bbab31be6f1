#include "profiler/training/training_run.hpp"

#include <optional>
#include <string>

#include "engine/chat/kept_template.hpp"
#include "engine/model_files/kept_checkpoints.hpp"
#include "engine/model_files/tokenizer_place.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/policies/run_job.hpp"
#include "profiler/training/run_files.hpp"
#include "profiler/training/train_steps.hpp"
#include "sim/error.hpp"
#include "sim/trace_json.hpp"

namespace sluice::profiler {
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

engine::RunFolder folder_of(const TrainRequest& request, RunObserver& observer) {
  if (const auto& rank = request.options.rank; rank && !rank->is_first()) {
    return engine::RunFolder::to_continue(rank->folder());
  }
  const std::optional<std::filesystem::path>& resumed = request.options.resumed;
  engine::RunFolder folder = resumed
                                 ? engine::RunFolder::to_continue(*resumed)
                                 : engine::RunFolder(request.config.out, request.job().model.name);
  observer.will_write(folder.beginnings());
  return folder;
}

/// Finds what the run starts from. Where that is a checkpoint of a run of 0.1.0, which read windows
/// without a target too, those return to the order.
RunStart start_of(const TrainRequest& request, RunIdentity& identity) {
  RunStart start = find_start(identity, request.options.resumed, request.options.converts_state);
  if (start.checkpoint &&
      start.checkpoint->facts().data_sha256 == identity.data_sha256_of_all_windows) {
    request.text->take_all_windows();
    identity.data_sha256 = start.checkpoint->facts().data_sha256;
  }
  return start;
}

/// A run before its first step, with its prediction.
TrainedRun promised_run(const TrainRequest& request, const RunPromise& promise,
                        const RunStart& start, const engine::RunFolder& folder) {
  const planner::MachineProfile& profile = request.machine().profile;
  return {.config = request.config,
          .job = request.job(),
          .predicted = promise.plan.step(),
          .machine = profile.name,
          .device = profile.device,
          .plan_source = to_string(promise.plan.source),
          .folder = folder.path().string(),
          .numerics_id = promise.plan.step().prediction.numerics_id,
          .data_sha256 =
              start.checkpoint ? start.checkpoint->facts().data_sha256 : request.text->hash(),
          .weights_from = start.weights_from,
          .resumed_after = start.checkpoint ? std::optional(start.step()) : std::nullopt,
          .saving = promise.saving,
          .started = planner::utc_now(),
          .unigram_entropy = request.text->unigram_entropy(),
          .endurance = profile.disk_endurance.value};
}

/// Keeps the files of the model's tokenizer with the run, and says whether it has any. A run on
/// token ids needs none, and may begin from a checkpoint whose own is lost.
bool keep_tokenizer_of(const TrainRequest& request, const RunStart& start,
                       const engine::RunFolder& folder) {
  if (start.checkpoint && start.checkpoint->facts().keeps_tokenizer) {
    return *start.checkpoint->facts().keeps_tokenizer;
  }
  if (request.config.data_format == planner::DataFormat::bytes) return false;
  if (request.options.resumed && std::filesystem::is_directory(folder.tokenizer())) return true;
  std::optional<std::filesystem::path> from;
  try {
    from = engine::find_tokenizer_place(model_place(request.config)).folder;
  } catch (const BadRequest&) {
    return false;
  }
  return from && engine::keep_tokenizer(*from, folder.tokenizer());
}

}  // namespace

TrainingRun::TrainingRun(const TrainRequest& request, const RunPromise& promise,
                         RunObserver& observer)
    : request_(request),
      observer_(observer),
      identity_{.config = request.config,
                .job = request.job(),
                .job_hash = promise.plan.step().prediction.job_hash,
                .numerics_id = promise.plan.step().prediction.numerics_id,
                .data_sha256 = request.text->hash(),
                .data_sha256_of_all_windows = request.text->hash_of_all_windows(),
                .chat = request.text->chat()},
      start_(start_of(request, identity_)),
      folder_(folder_of(request, observer)),
      beginning_(folder_),
      run_(promised_run(request, promise, start_, folder_)) {
  engine::sweep_checkpoints(folder_.checkpoints());
  run_.predicted_trace = write_before(folder_, run_.config, run_.predicted);
  identity_.keeps_tokenizer = keep_tokenizer_of(request, start_, folder_);
  if (identity_.chat && request.config.chat_template) {
    engine::keep_template(identity_.chat->sources, folder_.tokenizer());
  }
}

bool TrainingRun::train(const std::atomic<bool>& interrupted) {
  train_run(run_, {.machine = request_.machine(),
                   .text = *request_.text,
                   .folder = folder_,
                   .start = start_,
                   .identity = identity_,
                   .interrupted = interrupted,
                   .beginning = beginning_,
                   .observer = observer_,
                   .saves = request_.options.saves,
                   .hashes = request_.options.hashes,
                   .rank = request_.options.rank});
  if (run_.result.interrupted && run_.result.steps == start_.step()) {
    folder_.take_back();
    return false;
  }
  write_result();
  return true;
}

void TrainingRun::write_result() {
  // The first rank's report is that of the run.
  if (request_.options.rank && !request_.options.rank->is_first()) return;
  run_.ended = planner::utc_now();
  write_after(folder_, request_.planning, run_);
  if (request_.options.trace_out && run_.measured_trace) {
    planner::write_whole_file(*request_.options.trace_out, sim::write_trace(*run_.measured_trace));
  }
  if (run_.result.disk_failure && run_.result.steps < request_.config.steps) {
    throw disk_failure(run_);
  }
}

}  // namespace sluice::profiler
