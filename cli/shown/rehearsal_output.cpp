#include "cli/shown/rehearsal_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/units_text.hpp"
#include "sim/version.hpp"

namespace sluice::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kMeaningless =
    "meaningless: the run was rehearsed on values that are not its own, and nothing was saved";

ordered_json census_json(const engine::ValueCensus& census) {
  return {{"values", census.values},
          {"nan", census.nan},
          {"infinite", census.infinite},
          {"denormal", census.denormal},
          {"zero", census.zero}};
}

ordered_json object_of(const Rehearsed& run) {
  const planner::Prediction& prediction = run.predicted.prediction;
  const double predicted = to_seconds(prediction.step).count();
  const std::optional<Seconds> step = run.median_step();
  const auto measured = [&step](auto value) {
    return step ? ordered_json(value(step->count())) : ordered_json(nullptr);
  };
  const double tokens = static_cast<double>(run.job.tokens());
  const std::optional<std::string> fault = run.values.fault();
  ordered_json out;
  out["rehearsal"] = true;
  out["results"] = kMeaningless;
  out["steps"] = run.steps;
  out["interrupted"] = run.interrupted;
  out["step_s"] = measured([](double each) { return each; });
  out["predicted_s"] = predicted;
  out["predicted_s_low"] = prediction.step_low.count();
  out["predicted_s_high"] = prediction.step_high.count();
  out["error"] = measured([&](double each) { return each / predicted - 1; });
  out["bound_s"] = prediction.bound.time.count();
  out["bound_by"] = to_string(prediction.bound.by);
  out["predicted_bound_ratio"] = prediction.bound_ratio();
  out["bound_ratio"] = measured([&](double each) { return each / prediction.bound.time.count(); });
  out["tokens_per_s"] = measured([&](double each) { return tokens / each; });
  out["step_times_s"] = ordered_json::array();
  for (const Seconds time : run.step_times) out["step_times_s"].push_back(time.count());
  out["parameters"] = prediction.parameters;
  out["host"] = {{"needed_bytes", run.host_needed.count()},
                 {"window_bytes", run.window.count()},
                 {"in_flight_bytes", run.in_flight.count()}};
  out["values"] = {{"window", census_json(run.values.window)},
                   {"gradients", census_json(run.values.gradients)},
                   {"device", census_json(run.values.device)},
                   {"fault", fault ? ordered_json(*fault) : ordered_json(nullptr)}};
  out["loss"] = nullptr;
  out["weights_sha256"] = nullptr;
  out["state_sha256"] = nullptr;
  out["checkpoint"] = nullptr;
  out["plan_hash"] = prediction.plan_hash;
  out["plan_source"] = run.plan_source;
  out["graph_sha256"] = run.graph_sha256;
  out["job_hash"] = prediction.job_hash;
  out["profile_hash"] = prediction.profile_hash;
  out["cost_model_hash"] = prediction.cost_model_hash;
  out["numerics_id"] = prediction.numerics_id;
  out["peaks"] = {{"hbm_bytes", run.device_peak.count()},
                  {"host_bytes", run.host_peak.count()},
                  {"rss_bytes", run.resident_peak.count()},
                  {"locked_bytes", run.locked_peak.count()}};
  out["run"] = run.folder;
  out["model"] = run.config.model;
  out["machine"] = run.machine;
  out["program"] = std::string(version());
  out["commit"] = std::string(commit());
  out["started"] = run.started;
  out["ended"] = run.ended;
  return out;
}

std::string rehearsal_row(const char* what, const std::string& predicted,
                          const std::string& measured, const std::string& note = "") {
  return fmt::format("  {:<22} {:>14} {:>14}   {}\n", what, predicted, measured, note);
}

}  // namespace

std::optional<Seconds> Rehearsed::median_step() const {
  if (step_times.empty()) return std::nullopt;
  std::vector<Seconds> times = step_times;
  if (times.size() > 1) times.erase(times.begin());
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

std::string rehearsal_json(const Rehearsed& run) { return object_of(run).dump(2) + "\n"; }

std::string rehearsal_table(const Rehearsed& run) {
  const planner::Prediction& prediction = run.predicted.prediction;
  const Seconds predicted = to_seconds(prediction.step);
  std::string text = "\n" + rehearsal_row("", "predicted", "measured");
  if (const std::optional<Seconds> step = run.median_step()) {
    text +=
        rehearsal_row("step", planner::format_seconds(predicted), planner::format_seconds(*step),
                      fmt::format("{:+.1f} %, median", 100 * (*step / predicted - 1)));
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

}  // namespace sluice::cli
