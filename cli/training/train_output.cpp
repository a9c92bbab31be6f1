#include "cli/training/train_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/files/hash.hpp"
#include "sim/graph_file.hpp"
#include "sim/units_text.hpp"
#include "sim/version.hpp"

namespace sluice::cli {
namespace {

using nlohmann::ordered_json;

ordered_json optional_seconds(const std::optional<Seconds>& time) {
  return time ? ordered_json(time->count()) : ordered_json(nullptr);
}

ordered_json last_validation(const engine::TrainingResult& result) {
  return result.validation.empty() ? ordered_json(nullptr)
                                   : ordered_json(result.validation.back().second);
}

/// Text about the wear of the drive; empty if the run kept no state there and no rating is stated.
std::string ssd_line(const TrainedRun& run) {
  if (run.disk_written == Bytes(0) && !(run.endurance > 0)) return "";
  std::string line = "  SSD: " + planner::format_bytes(run.disk_written) + " of state and " +
                     planner::format_bytes(run.checkpoints_written()) + " of checkpoints written";
  if (run.endurance > 0) {
    line += fmt::format(", {:.3g} % of the {} it is rated for", 100 * run.written_share(),
                        planner::format_bytes(Bytes(static_cast<std::int64_t>(run.endurance))));
  }
  return line + "\n";
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
  out["unigram_entropy"] = run.unigram_entropy;
  out["weights_sha256"] = run.weights_sha256;
  out["state_sha256"] = run.state_sha256;
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

std::string row(const std::string& what, const std::string& predicted, const std::string& measured,
                const char* note = "") {
  return fmt::format("  {:<22} {:>14} {:>14}   {}\n", what, predicted, measured, note);
}

std::string compared(Seconds predicted, Seconds measured) {
  return fmt::format("{:+.1f} %", 100 * (measured.count() / predicted.count() - 1));
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
  out["data"] = run.config.data->string();
  out["data_sha256"] = run.data_sha256;
  out["seed"] = run.config.seed;
  out["result"] = result_object(run);
  out["validation"] = ordered_json::array();
  for (const auto& [step, loss] : run.result.validation) {
    out["validation"].push_back({{"step", step}, {"loss", loss}});
  }
  return out.dump(2) + "\n";
}

std::string result_table(const TrainedRun& run) {
  const planner::Prediction& prediction = run.predicted.prediction;
  const engine::MemoryPeaks& peaks = run.result.peaks;
  std::string text = "\n" + row("", "predicted", "measured");
  if (const std::optional<Seconds> step = run.result.median_step()) {
    const Seconds promised = to_seconds(prediction.step);
    text += row("step", planner::format_seconds(promised), planner::format_seconds(*step),
                (compared(promised, *step) + ", median").c_str());
    text += row("tokens/s", planner::format_amount(prediction.tokens_per_s),
                planner::format_amount(static_cast<double>(run.job.tokens()) / step->count()));
    if (const TokenRates rates = run.token_rates(); rates.padded_fraction > 0) {
      const std::string share = fmt::format("{:.1f} % padding", 100 * rates.padded_fraction);
      text += row("  of them useful", "", planner::format_amount(*rates.useful), share.c_str());
    }
  }
  const planner::TierMemory& hbm = at(prediction.memory, planner::Tier::hbm);
  const planner::TierMemory& host = at(prediction.memory, planner::Tier::host);
  text += row("hbm arena", planner::format_bytes(hbm.peak), planner::format_bytes(peaks.device));
  text += row("process", planner::format_bytes(run.in_process(hbm.peak) + host.peak),
              planner::format_bytes(peaks.resident), "arenas included");
  if (run.measured_stalls) {
    const planner::StallTimes& promised = prediction.stalls;
    const planner::StallTimes& measured = *run.measured_stalls;
    text += row("of a step: compute", planner::format_seconds(to_seconds(promised.compute)),
                planner::format_seconds(to_seconds(measured.compute)));
    for (std::size_t i = 0; i < planner::kStalls; ++i) {
      if (promised.idle[i] == Duration(0) && measured.idle[i] == Duration(0)) continue;
      text += row(std::string("  waits for ") + to_string(planner::Stall(i)),
                  planner::format_seconds(to_seconds(promised.idle[i])),
                  planner::format_seconds(to_seconds(measured.idle[i])));
    }
  }
  if (const std::optional<Seconds> stall = run.saves.median_stall()) {
    text += row("stall of a save", planner::format_seconds(run.saving.stall),
                planner::format_seconds(*stall), "median");
  }
  if (run.result.steps > 0) {
    text += fmt::format("\n  loss {:.4f} after {} steps", run.result.loss, run.result.steps);
    if (!run.result.validation.empty()) {
      text +=
          fmt::format(", validation {:.4f} (at the start {:.4f})",
                      run.result.validation.back().second, run.result.validation.front().second);
    }
    text += fmt::format("; from token frequencies alone {:.4f}\n", run.unigram_entropy);
  }
  text += fmt::format("  weights {}\n  run folder {}\n", run.weights_sha256, run.folder);
  if (run.checkpoint) text += fmt::format("  checkpoint {}\n", run.checkpoint->string());
  return text + ssd_line(run);
}

}  // namespace sluice::cli
