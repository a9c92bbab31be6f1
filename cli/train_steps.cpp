#include "cli/train_steps.hpp"

#include <algorithm>
#include <memory>

#include "cli/amount_bar.hpp"
#include "cli/end_hashes.hpp"
#include "cli/progress.hpp"
#include "cli/run_log.hpp"
#include "engine/backend.hpp"
#include "engine/ledger.hpp"
#include "engine/model_files/model_config.hpp"
#include "engine/process_memory.hpp"
#include "engine/saving.hpp"
#include "profiler/recorder.hpp"
#include "sim/version.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

/// Evaluations in a run besides the one at the start, where it does not say; and steps' worth of
/// tokens of each, at most.
constexpr std::int64_t kEvaluations = 4;
constexpr std::int64_t kEvaluationSteps = 8;

/// Steps that are traced, counted from where the session starts: in the middle of the first chunk
/// between stops that is long enough for steps to overlap as they do ever after, else of the
/// longest.
std::int64_t first_traced(const engine::TrainingStops& stops, std::int64_t start) {
  constexpr std::int64_t kLongEnough = kTracedSteps + 2;
  constexpr int kChunks = 100;
  std::int64_t begin = start;
  std::int64_t longest = 0;
  std::int64_t from = start;
  for (int i = 0; i < kChunks && from < stops.steps && longest < kLongEnough; ++i) {
    const std::int64_t to = stops.next(from);
    if (to - from > longest) {
      longest = to - from;
      begin = from;
    }
    from = to;
  }
  const std::int64_t within =
      std::max<std::int64_t>(1, std::min(longest / 2, longest - (kTracedSteps - 1)));
  const std::int64_t last_possible = stops.steps - start - (kTracedSteps - 1);
  return std::clamp<std::int64_t>(begin - start + within, 1,
                                  std::max<std::int64_t>(1, last_possible));
}

engine::LedgerPrediction promise_of(const TrainedRun& run) {
  const planner::Prediction& prediction = run.predicted.prediction;
  return {.job_hash = prediction.job_hash,
          .plan_hash = prediction.plan_hash,
          .cost_model_hash = prediction.cost_model_hash,
          .numerics_id = run.numerics_id,
          .commit = std::string(commit()),
          .step = to_seconds(prediction.step),
          .step_low = prediction.step_low,
          .step_high = prediction.step_high};
}

/// The saves of one run, and what is said of them.
class RunSaves {
 public:
  RunSaves(TrainedRun& run, const TrainParts& parts, const Progress& progress,
           engine::Session& session)
      : run_(run), parts_(parts), progress_(progress) {
    engine::SavingOptions options{
        .config = engine::model_config_text(run.config.model),
        .kept = {.last = run.config.keep_last, .best = run.config.keep_best},
        .background = run.saving.background()};
    options.progress = [this](std::int64_t, std::int64_t done, std::int64_t all) {
      if (bar_) bar_->show(done, all);
    };
    saving_ = std::make_unique<engine::Saving>(parts.folder, run.job.model, session.state(),
                                               std::move(options));
  }

  void save(engine::Session& session, std::optional<double> loss) {
    with_bar(!run_.saving.background(),
             [&] { saving_->save(facts(session, loss), session.state()); });
    tell();
  }

  /// The run's last state. Whoever interrupts may not wait for two saves.
  void save_last(engine::Session& session, std::optional<double> loss) {
    const std::int64_t step = session.steps_done();
    last_ = step;
    const auto older =
        run_.result.interrupted ? engine::Saving::Older::given_up : engine::Saving::Older::finished;
    with_bar(true, [&] { saving_->save_now(facts(session, loss), session.state(), older); });
    tell();
    if (saving_->last_step() == step) {
      run_.checkpoint = parts_.folder.checkpoints() / engine::checkpoint_name(step);
    }
  }

  /// Warns of what failed since the last call.
  void tell() {
    for (const engine::SaveReport& report : saving_->ended()) {
      if (report.step != last_) {
        ++(report.folder ? run_.saves.whole : run_.saves.failed);
        run_.saves.stalls.push_back(report.stall);
      }
      const std::string& what = report.folder ? report.warning : report.failure;
      if (what.empty()) continue;
      progress_.finish();
      const std::string step = std::to_string(report.step);
      sim::warn((report.folder ? "after the checkpoint of step " + step
                               : "the checkpoint of step " + step + " was not written") +
                ": " + what);
    }
  }

  /// Waits for what is being written; the step saved last, by this start of the run or before it.
  std::optional<std::int64_t> last_step() {
    saving_->finish();
    tell();
    if (saving_->last_step()) return saving_->last_step();
    return parts_.start.checkpoint ? std::optional(parts_.start.step()) : std::nullopt;
  }

 private:
  engine::CheckpointFacts facts(const engine::Session& session, std::optional<double> loss) const {
    return facts_of(parts_.start, parts_.identity, session.steps_done(), loss);
  }

  template <class Work>
  void with_bar(bool shown, const Work& work) {
    if (shown) bar_.emplace("writing the checkpoint");
    work();
    bar_.reset();
  }

  TrainedRun& run_;
  const TrainParts& parts_;
  const Progress& progress_;
  std::optional<AmountBar> bar_;
  std::optional<std::int64_t> last_;  ///< The step saved at the end.
  std::unique_ptr<engine::Saving> saving_;
};

void keep_trace(TrainedRun& run, const TrainParts& parts, const profiler::Recorder& recorder) {
  const std::int64_t first = recorder.steps().first;
  if (run.result.steps - parts.start.step() < first + kTracedSteps - 1) return;
  const auto spans = profiler::three_steps(run.predicted.graph, recorder, first);
  const bool by_events = run.device == planner::DeviceKind::cuda && !parts.machine.staged;
  run.measured_trace = profiler::trace_of(
      run.predicted.graph, spans, by_events ? sim::SpanSource::event : sim::SpanSource::clock);
  run.measured_stalls = planner::stall_times_of(run.predicted.graph, spans);
  const std::int64_t number = parts.start.step() + first;
  run.observed = "steps " + std::to_string(number) + " to " +
                 std::to_string(number + kTracedSteps - 1) + " of the run, timed by " +
                 (by_events ? "CUDA events" : "the CPU's clock");
}

}  // namespace

engine::TrainingStops stops_of(const planner::RunConfig& config) {
  const std::int64_t quarter = std::min(
      config.steps, std::max(kTracedSteps, (config.steps + kEvaluations - 1) / kEvaluations));
  return {.steps = config.steps,
          .evaluate_every = config.evaluate_every.value_or(quarter),
          .save_every = config.save_every,
          .evaluate_saves = config.keep_best};
}

std::int64_t evaluation_windows(const planner::Job& job) {
  return kEvaluationSteps * job.batch_size;
}

void train_run(TrainedRun& run, const TrainParts& parts, const TrainOptions& options) {
  const planner::RunConfig& config = run.config;
  const planner::Prediction& prediction = run.predicted.prediction;
  const RunStart& start = parts.start;
  engine::Ledger ledger(parts.folder.ledger());
  const std::string promise = ledger.append(promise_of(run));
  engine::TrainingStops stops = stops_of(config);
  if (!options.checkpoint) stops.save_every = 0;
  profiler::Recorder recorder(run.predicted.graph,
                              {.first = first_traced(stops, start.step()), .count = kTracedSteps});
  profiler::LaneMeter meter(run.predicted.graph, recorder);
  const auto learning_rate = [&config](std::int64_t step) {
    return planner::learning_rate(config.schedule, config.optimizer.lr, step, config.steps);
  };
  engine::release_free_memory();
  const auto session = start_session(
      start, parts.identity, run.predicted.graph,
      engine::make_device(run.job, parts.machine, run.predicted.graph.layout,
                          prediction.plan.threads),
      parts.text, learning_rate, engine::disk_place(parts.machine, parts.folder.path()), &meter);
  if (session->disk() != nullptr) tell_of_page_cache(*session->disk());
  engine::MetricsFile metrics(parts.folder.metrics(), start.step());
  RunLog log(parts.folder, prediction, run.device, meter, start.step() + 1);
  Progress progress(start.step(), config.steps,
                    options.json ? Progress::Where::nowhere : Progress::Where::lines);
  RunSaves saves(run, parts, progress, *session);
  run.metrics.reserve(static_cast<std::size_t>(config.steps));
  const engine::TrainingReports reports{
      .begins =
          [&] {
            parts.beginning.begun();
            parts.interrupt.will_save();
          },
      .measure = [&](engine::StepMetrics& line) { log.measure(line); },
      .step =
          [&](const engine::StepMetrics& line) {
            run.metrics.push_back(line);
            progress.step(line);
            saves.tell();
          },
      .validation =
          [&](std::int64_t step, double loss) {
            progress.validation(step, loss);
            log.validation(step, loss);
          },
      .logged = [&](const engine::StepMetrics& line) { log.log(line); },
      .save = [&](std::int64_t, std::optional<double> loss) { saves.save(*session, loss); }};
  try {
    run.result = engine::train(*session, run.job, parts.text,
                               {.stops = stops,
                                .evaluation_windows = evaluation_windows(run.job),
                                .predicted_step = to_seconds(prediction.step)},
                               metrics, parts.interrupt.flag(), reports);
  } catch (const engine::Diverged& error) {
    progress.finish();
    const auto last = saves.last_step();
    throw BadRequest(error.what() +
                     (last ? "; the last checkpoint is of step " + std::to_string(*last)
                           : std::string("; there is no checkpoint before it")));
  }
  progress.finish();
  // Whoever interrupts may be about to take the machine away: the checkpoint comes first.
  EndHashes hashes(session->state(),
                   run.result.interrupted ? HashingBegins::when_awaited : HashingBegins::now);
  const bool any = run.result.steps > start.step();
  if (options.checkpoint && any) saves.save_last(*session, run.result.final_validation());
  metrics.flush();
  log.finish();
  if (const auto step = run.result.median_step()) {
    ledger.append(engine::LedgerMeasurement{
        .prediction = promise, .steps = run.result.steps, .median_step = *step});
  }
  if (run.result.disk_failure && run.result.steps == config.steps) {
    // All steps are done and saved: the next run will say the same before it begins.
    sim::warn(*run.result.disk_failure);
  }
  if (session->disk() != nullptr) run.disk_written = session->disk()->written();
  engine::StateHashes last = hashes.wait();
  run.weights_sha256 = std::move(last.weights);
  run.state_sha256 = std::move(last.moments);
  keep_trace(run, parts, recorder);
}

}  // namespace sluice::cli
