#include "cli/shown/rehearsal_table.hpp"

#include <fmt/format.h>

#include "cli/shown/prediction_table.hpp"
#include "profiler/training/rehearsal_plan.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using profiler::Rehearsed;

std::string rehearsal_row(const char* what, const std::string& predicted,
                          const std::string& measured, const std::string& note = "") {
  return fmt::format("  {:<22} {:>14} {:>14}   {}\n", what, predicted, measured, note);
}

}  // namespace

std::string rehearsal_table(const Rehearsed& run) {
  const planner::Prediction& prediction = run.predicted.prediction;
  const Seconds predicted = to_seconds(prediction.step);
  std::string text = "\n" + rehearsal_row("", "predicted", "measured");
  if (const std::optional<Seconds> step = run.median_step()) {
    text +=
        rehearsal_row("step", planner::format_seconds(predicted), planner::format_seconds(*step),
                      fmt::format("error {:+.1f} % of the median", 100 * (predicted / *step - 1)));
    text += rehearsal_row(
        "tokens/s", planner::format_amount(prediction.tokens_per_s),
        planner::format_amount(static_cast<double>(run.job.tokens()) / step->count()));
    text +=
        rehearsal_row("step / bound", fmt::format("{:.3f}", prediction.bound_ratio()),
                      fmt::format("{:.3f}", *step / prediction.bound.time),
                      fmt::format("bound {} by {}", planner::format_seconds(prediction.bound.time),
                                  to_string(prediction.bound.by)));
  }
  text += rehearsal_row("hbm arena",
                        planner::format_bytes(at(prediction.memory, planner::Tier::hbm).peak),
                        planner::format_bytes(run.device_peak));
  text += rehearsal_row("host", planner::format_bytes(run.host_needed),
                        planner::format_bytes(run.host_peak),
                        "needed, and the window used in its place");
  const engine::ValueCensus& window = run.values.window;
  text += fmt::format(
      "\n  checked {} values of the window, {} of gradients and {} of the device's state: {}\n",
      planner::format_amount(static_cast<double>(window.values)),
      planner::format_amount(static_cast<double>(run.values.gradients.values)),
      planner::format_amount(static_cast<double>(run.values.device.values)),
      run.values.fault().value_or("finite and normal"));
  text += "  a rehearsal: times are real, losses and weights mean nothing, nothing was saved\n";
  return text + fmt::format("  run folder {}\n", run.folder);
}

std::string too_small_table(const planner::Infeasible& lack) {
  const planner::TierMemory& host = at(lack.memory, planner::Tier::host);
  const bool in_flight = !host.parts.empty() && host.parts.front().first == profiler::kInFlight;
  if (!in_flight) return infeasible_table(lack);
  return fmt::format(
             "a rehearsal needs {} of host memory for what is in flight, and {} may be used\n",
             planner::format_exact(host.peak), planner::format_exact(host.capacity)) +
         infeasible_table(lack);
}

}  // namespace sluice::cli
