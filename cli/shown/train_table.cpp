#include "cli/shown/train_table.hpp"

#include <fmt/format.h>

#include <optional>

#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

/// Time at the end of a run that gets a line of its own.
constexpr Seconds kWorthSaying(1);

using profiler::TokenRates;
using profiler::TrainedRun;

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

std::string row(const std::string& what, const std::string& predicted, const std::string& measured,
                const char* note = "") {
  return fmt::format("  {:<22} {:>14} {:>14}   {}\n", what, predicted, measured, note);
}

std::string error_text(Seconds predicted, Seconds measured) {
  return fmt::format("error {:+.1f} %", 100 * (predicted.count() / measured.count() - 1));
}

/// Whether nothing that was measured, here or elsewhere, is in the predicted step.
bool rests_on_estimates(const planner::Prediction& prediction) {
  return prediction.evidence.measured == 0 && prediction.evidence.fitted == 0;
}

}  // namespace

std::string result_table(const TrainedRun& run) {
  const planner::Prediction& prediction = run.predicted.prediction;
  const engine::MemoryPeaks& peaks = run.result.peaks;
  std::string text = "\n" + row("", "predicted", "measured");
  if (const std::optional<Seconds> step = run.result.median_step()) {
    const Seconds promised = to_seconds(prediction.step);
    text += row("step", planner::format_seconds(promised), planner::format_seconds(*step),
                (error_text(promised, *step) + " of the median").c_str());
    if (rests_on_estimates(prediction)) {
      text += "  (predicted from datasheets and estimates: sluice probe measures this machine)\n";
    }
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
  if (run.ranks) text += "  ranks: " + profiler::spread_text(*run.ranks) + "\n";
  if (!run.whole_run.empty()) text += "  ranks: " + profiler::run_spread_text(run.whole_run) + "\n";
  if (const std::optional<Seconds> stall = run.saves.median_stall()) {
    text += row("stall of a save", planner::format_seconds(run.saving.stall),
                planner::format_seconds(*stall), "median");
  }
  if (run.hashing >= kWorthSaying) {
    text += row("hashing the state", "", planner::format_seconds(run.hashing),
                "at the end; --no-hashes leaves it out");
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
  if (const std::int64_t skipped = run.result.skipped_steps; skipped > 0) {
    text += fmt::format("  {} of the steps had no target to learn and updated nothing\n", skipped);
  }
  if (!run.weights_sha256.empty()) text += fmt::format("  weights {}\n", run.weights_sha256);
  text += fmt::format("  run folder {}\n", run.folder);
  if (run.checkpoint) text += fmt::format("  checkpoint {}\n", run.checkpoint->string());
  return text + ssd_line(run);
}

}  // namespace sluice::cli
