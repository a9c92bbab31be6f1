#include "cli/shown/autotune_output.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "planner/explanation/plan_report.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {

using planner::format_seconds;
using Json = sim::Json;

std::string iteration_head() {
  return fmt::format("{:>9}  {:<10}{:>12}{:>12}{:>9}  {}\n", "iteration", "plan", "predicted",
                     "measured", "error", "largest miss per step");
}

std::string iteration_line(const profiler::TuneIteration& iteration) {
  return fmt::format("{:>9}  {:<10}{:>12}{:>12}{:>9}  {}\n", iteration.number,
                     iteration.plan_hash.substr(0, 8), format_seconds(iteration.predicted),
                     format_seconds(iteration.measured),
                     fmt::format("{:+.1f} %", 100 * iteration.error()),
                     fmt::format("{} {:+.3f} ms", iteration.largest_miss.key.name(),
                                 1e3 * iteration.largest_miss.miss().count()));
}

Json to_json(const profiler::TuneIteration& iteration) {
  return {{"round", iteration.number},
          {"plan_hash", iteration.plan_hash},
          {"predicted_s", iteration.predicted.count()},
          {"measured_s", iteration.measured.count()},
          {"error", iteration.error()},
          {"largest_miss",
           {{"key", iteration.largest_miss.key.name()},
            {"predicted_s", iteration.largest_miss.predicted.count()},
            {"measured_s", iteration.largest_miss.measured.count()}}}};
}

namespace {

Json to_json(const profiler::VerifiedPlan& plan) {
  return {{"plan_hash", plan.plan_hash},
          {"predicted_s", plan.predicted.count()},
          {"predicted_s_low", plan.low.count()},
          {"predicted_s_high", plan.high.count()},
          {"measured_s", plan.measured.count()},
          {"steps", plan.steps},
          {"error", plan.error()},
          {"ledger_line", plan.ledger_line}};
}

}  // namespace

Json to_json(const profiler::Verification& verification) {
  return {{"best_depth", to_json(verification.best_depth)},
          {"one_buffer", to_json(verification.one_buffer)},
          {"predicted_ratio", verification.predicted_ratio()},
          {"predicted_ratio_low", verification.predicted_interval().low},
          {"predicted_ratio_high", verification.predicted_interval().high},
          {"measured_ratio", verification.measured_ratio()},
          {"ratio_error", verification.ratio_error()},
          {"tuned_plan_hashes", verification.tuned},
          {"holds", verification.holds(kTuneTolerance)}};
}

Json to_json(const profiler::SweepCurve& curve) {
  Json points = Json::array();
  for (const profiler::SweepPoint& point : curve.points) {
    points.push_back({{"value", point.value},
                      {"plan_hash", point.plan_hash},
                      {"fits", point.fits},
                      {"predicted_s", point.predicted.count()},
                      {"measured_s", point.measured ? Json(point.measured->count()) : Json()},
                      {"waits_s", point.waits.count()}});
  }
  return {{"field", curve.field},
          {"waits_for", to_string(curve.stall)},
          {"points", points},
          {"knee", curve.knee ? Json(curve.points[*curve.knee].value) : Json()},
          {"why", curve.why}};
}

std::string sweep_head(const profiler::SweepCurve& curve) {
  return fmt::format("\n{:<20}{:>12}{:>12}{:>9}{:>12}\n", curve.field, "predicted", "measured",
                     "error", std::string("waits for ") + to_string(curve.stall));
}

std::string sweep_line(const profiler::SweepPoint& point) {
  const std::string waits = format_seconds(point.waits);
  if (!point.measured) {
    return fmt::format("{:<20}{:>12}{:>12}{:>9}{:>12}\n", point.value,
                       format_seconds(point.predicted), "does not fit", "", waits);
  }
  return fmt::format("{:<20}{:>12}{:>12}{:>9}{:>12}\n", point.value,
                     format_seconds(point.predicted), format_seconds(*point.measured),
                     fmt::format("{:+.1f} %", 100 * (point.predicted / *point.measured - 1)),
                     waits);
}

std::string sweep_end(const profiler::SweepCurve& curve) {
  if (!curve.knee) return fmt::format("{}: {}\n", curve.field, curve.why);
  return fmt::format("knee at {} {}: {}\n", curve.field, curve.points[*curve.knee].value,
                     curve.why);
}

std::string verification_table(const profiler::Verification& verification) {
  std::string text = fmt::format("\n{:<24}{:>12}{:>12}{:>9}{:>8}\n", "never run before",
                                 "predicted", "measured", "error", "steps");
  for (const auto* plan : {&verification.best_depth, &verification.one_buffer}) {
    text += fmt::format("{:<24}{:>12}{:>12}{:>9}{:>8}\n", plan->name,
                        format_seconds(plan->predicted), format_seconds(plan->measured),
                        fmt::format("{:+.1f} %", 100 * plan->error()), plan->steps);
  }
  return text + fmt::format("{:<24}{:>12.3f}{:>12.3f}{:>9}\n", "one buffer / best depth",
                            verification.predicted_ratio(), verification.measured_ratio(),
                            fmt::format("{:+.1f} %", 100 * verification.ratio_error()));
}

Json tuned_json(const profiler::TuneOutcome& outcome,
                const std::optional<planner::ChosenSizes>& sizes,
                const std::optional<profiler::Verification>& verification,
                const std::vector<profiler::SweepCurve>& curves) {
  Json json;
  json["version"] = 1;
  json["holds"] = outcome.holds;
  if (sizes) json["free"] = planner::sizes_json(*sizes);
  for (const auto& iteration : outcome.iterations) json["rounds"].push_back(to_json(iteration));
  json["verification"] = verification ? to_json(*verification) : Json(nullptr);
  json["sweep"] = Json::array();
  for (const profiler::SweepCurve& curve : curves) json["sweep"].push_back(to_json(curve));
  json["plan_hash"] = outcome.step.prediction.plan_hash;
  return json;
}

}  // namespace sluice::cli
