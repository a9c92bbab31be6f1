#include "profiler/training/train_steps.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/backend.hpp"
#include "engine/memory/process_memory.hpp"
#include "engine/model_files/checkpoint.hpp"
#include "engine/run_folders/ledger.hpp"
#include "profiler/traces/rank_spread.hpp"
#include "profiler/traces/recorder.hpp"
#include "profiler/training/end_hashes.hpp"
#include "profiler/training/run_files.hpp"
#include "profiler/training/run_log.hpp"
#include "profiler/training/run_saves.hpp"
#include "profiler/training/traced_steps.hpp"
#include "sim/version.hpp"
#include "sim/warning.hpp"

namespace sluice::profiler {
namespace {

engine::LedgerPrediction promise_of(const TrainedRun& run) {
  const planner::Prediction& prediction = run.predicted.prediction;
  return {.job_hash = prediction.job_hash,
          .plan_hash = prediction.plan_hash,
          .cost_model_hash = prediction.cost_model_hash,
          .numerics_id = run.numerics_id,
          .commit = std::string(commit()),
          .step = to_seconds(prediction.step),
          .step_low = prediction.step_low,
          .step_high = prediction.step_high,
          .knowledge = to_string(prediction.knowledge),
          .machine = prediction.machine,
          .job = prediction.job};
}

/// Keeps what ranks did beside each other in three traced steps, and their traces.
void keep_ranks(TrainedRun& run, std::span<const RecordedRank> ranks, bool by_events) {
  const planner::StepGraph& graph = run.predicted.graph;
  const std::int64_t first = ranks.front().recorder->steps().first;
  run.ranks = rank_spread(graph, ranks, first);
  run.observed += "; over ranks: " + spread_text(*run.ranks);
  const std::vector<Duration> later = rank_starts(ranks, first);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    auto trace = measured_trace(graph, *ranks[rank].recorder, first + kTracedSteps - 1, by_events);
    for (sim::TraceSpan& span : trace->spans) {
      span.start += later[rank];
      span.end += later[rank];
    }
    if (rank == 0) {
      run.measured_trace = std::move(trace);
    } else {
      run.rank_traces.push_back(std::move(*trace));
    }
  }
}

void keep_trace(TrainedRun& run, const TrainParts& parts, std::span<const RecordedRank> ranks) {
  const Recorder& recorder = *ranks.front().recorder;
  const planner::StepGraph& graph = run.predicted.graph;
  const std::int64_t first = recorder.steps().first;
  const std::int64_t steps = run.result.steps - parts.start.step();
  const bool by_events = run.device == planner::DeviceKind::cuda && !parts.machine.staged;
  run.measured_trace = measured_trace(graph, recorder, steps, by_events);
  if (steps < first + kTracedSteps - 1) return;
  run.measured_stalls = planner::stall_times_of(graph, three_steps(recorder, first));
  const std::int64_t number = parts.start.step() + first;
  run.observed = "steps " + std::to_string(number) + " to " +
                 std::to_string(number + kTracedSteps - 1) + " of the run, timed by " +
                 (by_events ? "CUDA events" : "the CPU's clock");
  if (const auto stops = recorder.stops().size(); stops > 0) {
    run.observed += std::string("; evaluating and saving between them (") +
                    (stops == 1 ? "once" : "twice") + ") is left out";
  }
  if (ranks.size() > 1) keep_ranks(run, ranks, by_events);
}

/// Learning rates by the run's schedule.
auto learning_rate_of(const planner::RunConfig& config) {
  return [&config](std::int64_t step) {
    return planner::learning_rate(config.schedule, config.optimizer.lr, step, config.steps);
  };
}

Recorder recorder_of(const TrainedRun& run, const engine::TrainingStops& stops,
                     std::int64_t start) {
  const std::int64_t first = first_traced(stops, start);
  return {run.predicted.graph,
          {.first = first, .count = kTracedSteps},
          traced_stops(stops, start, first)};
}

std::vector<std::unique_ptr<LaneMeter>> meters_of(const planner::StepGraph& graph,
                                                  std::vector<Recorder>& recorders) {
  std::vector<std::unique_ptr<LaneMeter>> meters;
  meters.reserve(recorders.size());
  for (Recorder& each : recorders) meters.push_back(std::make_unique<LaneMeter>(graph, each));
  return meters;
}

/// A run during training.
class Training {
 public:
  Training(TrainedRun& run, const TrainParts& parts)
      : run_(run),
        parts_(parts),
        ledger_(parts.folder.ledger()),
        promise_(ledger_.append(promise_of(run))),
        stops_(stops_of(run.config)),
        recorder_(recorder_of(run, stops_, parts.start.step())),
        meter_(run.predicted.graph, recorder_),
        other_ranks_(parts.rank ? 0 : static_cast<std::size_t>(run.predicted.graph.ranks - 1),
                     recorder_),
        other_meters_(meters_of(run.predicted.graph, other_ranks_)),
        spread_(1 + other_ranks_.size()),
        session_(begin_session()),
        metrics_(parts.folder.metrics(), parts.start.step()),
        log_(parts.folder, run.predicted.prediction, run.device, meter_, parts.start.step() + 1),
        follower_(parts.observer.follow(meter_, run.predicted.prediction,
                                        {.done = parts.start.step(), .all = run.config.steps})),
        saves_(run, parts, *follower_, *session_) {
    run_.metrics.reserve(static_cast<std::size_t>(run_.config.steps));
  }

  void train() {
    try {
      run_.result = engine::train(*session_, run_.job, parts_.text,
                                  {.stops = stops_,
                                   .evaluation_windows = evaluation_windows(run_.job),
                                   .predicted_step = to_seconds(run_.predicted.prediction.step),
                                   .links = parts_.links()},
                                  metrics_, parts_.interrupted, reports());
    } catch (const engine::Diverged& error) {
      follower_->gives_way();
      const auto last = saves_.last_step();
      throw BadRequest(error.what() +
                       (last ? "; the last checkpoint is of step " + std::to_string(*last)
                             : std::string("; there is no checkpoint before it")));
    } catch (const engine::RankFailure& failure) {
      follower_->gives_way();
      throw engine::RankFailure(failure.rank(), failure.what() + end_text());
    }
    follower_->ends();
    follower_->gives_way();
  }

  /// Saves the last state, and fills in the missing members of the run.
  void end() {
    // Whoever interrupts may be about to take the machine away, so the checkpoint comes first.
    std::optional<EndHashes> hashes;
    if (parts_.hashes && !parts_.rank) {
      hashes.emplace(session_->state(), parts_.observer,
                     run_.result.interrupted ? HashingBegins::when_awaited : HashingBegins::now);
    }
    const bool any = run_.result.steps > parts_.start.step();
    if (parts_.saves && any) {
      saves_.save_last(*session_, run_.result.final_validation());
    }
    metrics_.flush();
    log_.finish();
    if (const auto step = run_.result.median_step()) {
      ledger_.append(engine::LedgerMeasurement{
          .prediction = promise_, .steps = run_.result.steps, .median_step = *step});
    }
    if (run_.result.disk_failure && run_.result.steps == run_.config.steps) {
      // All steps are done and saved; the next run will report the disk before it begins.
      sim::warn(*run_.result.disk_failure);
    }
    run_.disk_written = session_->disk_written();
    if (hashes) keep_hashes(*hashes);
    if (parts_.hashes && parts_.rank) keep_hashes(saves_.gathered_hashes(*session_));
    if (!other_meters_.empty() && spread_.steps() > 0) run_.whole_run = spread_.ranks();
    std::vector<RecordedRank> ranks{{.recorder = &recorder_}};
    for (const Recorder& each : other_ranks_) {
      ranks.push_back({.recorder = &each, .clock = session_->clock_of(ranks.size())});
    }
    keep_trace(run_, parts_, ranks);
  }

 private:
  void keep_hashes(EndHashes& hashes) {
    const auto began = std::chrono::steady_clock::now();
    keep_hashes(hashes.wait());
    run_.hashing = std::chrono::steady_clock::now() - began;
  }

  void keep_hashes(engine::StateHashes last) {
    run_.weights_sha256 = std::move(last.weights);
    run_.state_sha256 = std::move(last.moments);
  }

  /// What is known of the run where a rank fails in it.
  std::string end_text() {
    auto last = saves_.last_step();
    if (parts_.rank && !parts_.rank->is_first()) {
      const auto steps = engine::checkpoint_steps(parts_.rank->run / "checkpoints");
      last = steps.empty() ? std::nullopt : std::optional(steps.front());
    }
    const std::int64_t step = run_.metrics.empty() ? parts_.start.step() : run_.metrics.back().step;
    return "; this was after step " + std::to_string(step) +
           (last ? ": start all ranks again with --resume, to go on after step " +
                       std::to_string(*last)
                 : std::string(", and there is no checkpoint before it"));
  }

  engine::SessionRanks session_ranks() {
    const planner::StepGraph& graph = run_.predicted.graph;
    const std::int64_t threads = run_.predicted.prediction.plan.threads;
    engine::SessionRanks ranks;
    ranks.observers.push_back(&meter_);
    for (const auto& each : other_meters_) ranks.observers.push_back(each.get());
    if (!parts_.rank) {
      ranks.devices =
          engine::make_devices(run_.job, parts_.machine, graph.layout, threads, graph.ranks);
      return ranks;
    }
    ranks.links = parts_.rank->links;
    require_shared_memory(graph, ranks.links.world());
    ranks.agreed = agreed_facts();
    ranks.devices.push_back(engine::make_rank_device(
        run_.job, parts_.machine, graph.layout, threads, ranks.links.world(), parts_.rank->here));
    return ranks;
  }

  /// Throws BadRequest unless the ranks that share weights by the plan are those of one host.
  void require_shared_memory(const planner::StepGraph& graph, engine::World world) const {
    if (graph.layout.shared_bytes == Bytes(0)) return;
    const std::int64_t local = graph.ranks / graph.hosts;
    const engine::World here = parts_.rank->here;
    if (here.size == local && here.rank == world.rank % local) return;
    throw BadRequest("plan: gather: host shares weights among each " + std::to_string(local) +
                     " consecutive ranks, and the host of rank " + std::to_string(world.rank) +
                     " has " + std::to_string(here.size) +
                     ": start consecutive ranks on each host, or set plan.gather=fabric");
  }

  /// What all processes of the run must have in common beside the job.
  std::vector<engine::AgreedFact> agreed_facts() const {
    return {{"version of the program", std::string(version()) + " " + std::string(commit()),
             "install one version on all hosts"},
            {"numerics id", run_.numerics_id,
             "ranks need processors or GPUs of one model and the same libraries"},
            {"plan hash", run_.predicted.prediction.plan_hash, "use one plan"},
            {"text", parts_.identity.data_sha256, "give all hosts the same data"},
            {"number of steps", std::to_string(run_.config.steps), "use one RUN.yaml"},
            {"seed", std::to_string(run_.config.seed), "use one RUN.yaml"},
            {"step to go on after", std::to_string(parts_.start.step()),
             "let all hosts see the same checkpoints"}};
  }

  std::unique_ptr<engine::Session> begin_session() {
    engine::release_free_memory();
    auto session =
        start_session(parts_.start, parts_.identity, run_.predicted.graph, session_ranks(),
                      parts_.text, learning_rate_of(run_.config),
                      engine::disk_place(parts_.machine, parts_.folder.path()), parts_.observer);
    if (session->disk() != nullptr) tell_of_page_cache(*session->disk());
    return session;
  }

  engine::TrainingReports reports() {
    return {.begins =
                [this] {
                  parts_.beginning.begun();
                  parts_.observer.begun();
                  follower_->begins(parts_.start.step() + 1);
                },
            .measure =
                [this](engine::StepMetrics& line) {
                  log_.measure(line);
                  if (!other_meters_.empty()) measure_ranks(line);
                },
            .step =
                [this](const engine::StepMetrics& line) {
                  follower_->ends();
                  run_.metrics.push_back(line);
                  follower_->step(line);
                  saves_.tell();
                  if (stops_.next(line.step - 1) != line.step) follower_->begins(line.step + 1);
                },
            .validation =
                [this](std::int64_t step, double loss) {
                  follower_->validation(step, loss);
                  log_.validation(step, loss);
                },
            .logged =
                [this](const engine::StepMetrics& line) {
                  log_.log(line);
                  if (stops_.next(line.step - 1) == line.step) begin_after_stop(line.step);
                },
            .save =
                [this](std::int64_t step, std::optional<double> loss) {
                  follower_->ends();
                  saves_.save(*session_, loss);
                  begin_after_stop(step);
                }};
  }

  /// Adds what every rank of this process computed in the step of `line`, the first rank's.
  void measure_ranks(const engine::StepMetrics& line) {
    constexpr auto kCompute = static_cast<std::size_t>(planner::LaneKind::compute);
    std::vector<Seconds> compute{line.busy[kCompute].value_or(0) * line.step_time};
    for (const auto& each : other_meters_) {
      engine::StepMetrics own{.step_time = line.step_time};
      each->read(own);
      compute.push_back(own.busy[kCompute].value_or(0) * line.step_time);
    }
    spread_.add(compute);
  }

  void begin_after_stop(std::int64_t step) {
    if (step < run_.config.steps) follower_->begins(step + 1);
  }

  TrainedRun& run_;
  const TrainParts& parts_;
  engine::Ledger ledger_;
  std::string promise_;  ///< Hash of the prediction's line in the ledger.
  engine::TrainingStops stops_;
  Recorder recorder_;
  LaneMeter meter_;
  std::vector<Recorder> other_ranks_;  ///< Recorders of the ranks after the first.
  std::vector<std::unique_ptr<LaneMeter>>
      other_meters_;  ///< Meters of their lanes, which pass events on to the recorders.
  RunSpread spread_;
  std::unique_ptr<engine::Session> session_;
  engine::MetricsFile metrics_;
  RunLog log_;
  std::unique_ptr<StepFollower> follower_;
  RunSaves saves_;
};

}  // namespace

void train_run(TrainedRun& run, const TrainParts& parts) {
  Training training(run, parts);
  training.train();
  training.end();
}

}  // namespace sluice::profiler
