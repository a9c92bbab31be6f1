#include "profiler/training/train_report.hpp"

#include <fmt/format.h>

#include "sim/version.hpp"

namespace sluice::profiler {
namespace {

Headline headline_of(const TrainedRun& run) {
  const planner::Prediction& prediction = run.predicted.prediction;
  Headline headline{.predicted = to_seconds(prediction.step),
                    .low = prediction.step_low,
                    .high = prediction.step_high,
                    .measured = run.result.median_step().value_or(Seconds(0)),
                    .steps = static_cast<std::int64_t>(run.metrics.size()),
                    .bound = prediction.bound.time,
                    .bound_by = to_string(prediction.bound.by)};
  if (headline.measured.count() > 0) {
    headline.tokens_per_s = static_cast<double>(run.job.tokens()) / headline.measured.count();
  }
  return headline;
}

Provenance provenance_of(const TrainedRun& run) {
  const planner::Prediction& prediction = run.predicted.prediction;
  return {{"program", std::string(version())},
          {"commit", std::string(commit())},
          {"job", prediction.job_hash},
          {"plan", prediction.plan_hash + " (" + run.plan_source + ")"},
          {"profile", prediction.profile_hash},
          {"cost model", prediction.cost_model_hash},
          {"numerics", run.numerics_id},
          {"data", run.data_sha256},
          {"weights", run.weights_sha256.empty() ? "not hashed" : run.weights_sha256},
          {"state", run.state_sha256.empty() ? "not hashed" : run.state_sha256},
          {"run again", "sluice train " + run.folder + "/run.yaml"}};
}

}  // namespace

ReportData report_of(const TrainedRun& run) {
  ReportData report;
  report.title = run.job.model.name + " on " + run.machine;
  report.subtitle =
      fmt::format("{} sequences of {} tokens a step, {} steps, {} to {}", run.job.batch_size,
                  run.job.seq_len, run.result.steps, run.started, run.ended);
  report.headline = headline_of(run);
  report.step = view_of(run.predicted, run.predicted_trace,
                        run.measured_stalls ? run.measured_trace : std::nullopt);
  report.step.observed = run.observed;
  report.step.elasticities = run.elasticities;
  for (TierView& tier : report.step.tiers) {
    const engine::MemoryPeaks& peaks = run.result.peaks;
    tier.measured = tier.tier == to_string(planner::Tier::hbm)
                        ? peaks.device
                        : peaks.resident - run.in_process(peaks.device);
  }
  for (const engine::StepMetrics& each : run.metrics) {
    if (!each.skipped) report.train_loss.push_back({each.step, each.loss});
    report.step_times.push_back({each.step, each.step_time.count()});
  }
  for (const auto& [step, loss] : run.result.validation) {
    report.validation_loss.push_back({step, loss});
  }
  report.unigram_entropy = run.unigram_entropy;
  report.provenance = provenance_of(run);
  return report;
}

}  // namespace sluice::profiler
