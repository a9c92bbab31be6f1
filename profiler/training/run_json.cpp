#include "profiler/training/run_json.hpp"

#include <nlohmann/json.hpp>

#include "planner/files/hash.hpp"
#include "sim/graph_file.hpp"
#include "sim/version.hpp"

namespace sluice::profiler {
namespace {

using nlohmann::ordered_json;

ordered_json optional_seconds(const std::optional<Seconds>& time) {
  return time ? ordered_json(time->count()) : ordered_json(nullptr);
}

ordered_json or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json last_validation(const engine::TrainingResult& result) {
  return result.validation.empty() ? ordered_json(nullptr)
                                   : ordered_json(result.validation.back().second);
}

ordered_json result_object(const TrainedRun& run) {
  const planner::Prediction& prediction = run.predicted.prediction;
  const engine::MemoryPeaks& peaks = run.result.peaks;
  const std::optional<Seconds> step = run.result.median_step();
  ordered_json out;
  out["steps"] = run.result.steps;
  out["interrupted"] = run.result.interrupted;
  out["loss"] = run.result.steps > 0 ? ordered_json(run.result.loss) : ordered_json(nullptr);
  if (run.result.balance_loss) out["balance_loss"] = *run.result.balance_loss;
  out["val_loss"] = last_validation(run.result);
  if (run.result.skipped_steps > 0) out["skipped_steps"] = run.result.skipped_steps;
  out["unigram_entropy"] = run.unigram_entropy;
  out["weights_sha256"] = or_null(run.weights_sha256);
  out["state_sha256"] = or_null(run.state_sha256);
  out["plan_hash"] = prediction.plan_hash;
  out["plan_source"] = run.plan_source;
  out["graph_sha256"] = planner::sha256_hex(sim::write_graph(run.predicted.graph.graph));
  out["job_hash"] = prediction.job_hash;
  out["profile_hash"] = prediction.profile_hash;
  out["cost_model_hash"] = prediction.cost_model_hash;
  out["numerics_id"] = run.numerics_id;
  out["step_s"] = optional_seconds(step);
  out["predicted_s"] = to_seconds(prediction.step).count();
  out["tokens_per_s"] = step ? ordered_json(static_cast<double>(run.job.tokens()) / step->count())
                             : ordered_json(nullptr);
  const TokenRates rates = run.token_rates();
  out["useful_tokens_per_s"] = rates.useful ? ordered_json(*rates.useful) : ordered_json(nullptr);
  out["padded_tokens_per_s"] = rates.padded ? ordered_json(*rates.padded) : ordered_json(nullptr);
  out["padded_fraction"] = rates.padded_fraction;
  out["peaks"] = {{"hbm_bytes", peaks.device.count()},
                  {"host_bytes", peaks.host.count()},
                  {"rss_bytes", peaks.resident.count()},
                  {"locked_bytes", peaks.locked.count()}};
  if (run.ranks) {
    out["last_rank"] = run.ranks->last;
    out["ranks"] = ordered_json::array();
    for (const RankTimes& each : run.ranks->ranks) {
      out["ranks"].push_back({{"rank", each.rank},
                              {"step_s", to_seconds(each.step).count()},
                              {"compute_s", to_seconds(each.compute).count()},
                              {"collectives_s", to_seconds(each.collectives).count()},
                              {"late_s", to_seconds(each.late).count()}});
    }
  }
  for (std::size_t rank = 0; rank < run.whole_run.size(); ++rank) {
    const RankOfRun& each = run.whole_run[rank];
    out["whole_run"].push_back({{"rank", rank},
                                {"compute_s", each.compute.count()},
                                {"most_compute_s", each.most.count()},
                                {"longest_in_steps", each.longest_in}});
  }
  out["run"] = run.folder;
  out["weights_from"] = run.weights_from;
  out["resumed_after"] =
      run.resumed_after ? ordered_json(*run.resumed_after) : ordered_json(nullptr);
  out["checkpoint"] =
      run.checkpoint ? ordered_json(run.checkpoint->string()) : ordered_json(nullptr);
  out["saves"] = {
      {"during", run.saves.whole},
      {"failed", run.saves.failed},
      {"background", run.saving.background()},
      {"snapshot_bytes", run.saving.snapshot.count()},
      {"predicted_stall_s",
       run.saving.saves > 0 ? ordered_json(run.saving.stall.count()) : ordered_json(nullptr)},
      {"stall_s", optional_seconds(run.saves.median_stall())}};
  const Bytes checkpoints = run.checkpoints_written();
  out["ssd"] = {{"state_bytes", run.disk_written.count()},
                {"checkpoint_bytes", checkpoints.count()},
                {"endurance_bytes", nullptr},
                {"share", nullptr}};
  if (run.endurance > 0) {
    out["ssd"]["endurance_bytes"] = run.endurance;
    out["ssd"]["share"] = run.written_share();
  }
  return out;
}

}  // namespace

std::string result_json(const TrainedRun& run) { return result_object(run).dump(2) + "\n"; }

std::string manifest_json(const TrainedRun& run) {
  ordered_json out;
  out["version"] = 1;
  out["program"] = std::string(version());
  out["commit"] = std::string(commit());
  out["started"] = run.started;
  out["ended"] = run.ended;
  out["model"] = run.config.model;
  out["machine"] = run.machine;
  out["data"] = names_of(run.config.data);
  out["data_sha256"] = run.data_sha256;
  out["seed"] = run.config.seed;
  out["result"] = result_object(run);
  out["validation"] = ordered_json::array();
  for (const auto& [step, loss] : run.result.validation) {
    out["validation"].push_back({{"step", step}, {"loss", loss}});
  }
  return out.dump(2) + "\n";
}

}  // namespace sluice::profiler
