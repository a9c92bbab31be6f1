#include "cli/shown/machine_calibration.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "planner/catalogue/catalogue.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/machines/profile_file.hpp"
#include "sim/error.hpp"
#include "sim/trace_json.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::CalibrationSample;

std::string value_text(const CalibrationSample& sample) {
  if (sample.key.kind() == planner::CostKind::interference)
    return fmt::format("{:.3f}", sample.value);
  if (planner::is_rate(sample.key)) return planner::format_amount(sample.value) + "/s";
  return planner::format_seconds(Seconds(sample.value));
}

}  // namespace

std::string calibration_table(const planner::MachineProfile& machine, const planner::Store& store) {
  const std::string hash = profile_hash(machine);
  const planner::Calibration calibration = store.calibration(hash);
  if (calibration.empty()) {
    return "\nno calibration: sluice autotune measures what tasks cost here\n";
  }
  std::string text = fmt::format("\ncalibration, {} costs in {}\n", calibration.size(),
                                 store.calibration_file(hash).string());
  for (const auto& [key, sample] : calibration) {
    const double percent = sample.value == 0 ? 0 : 100 * sample.deviation / sample.value;
    text += fmt::format("  {:<38}{:>12}  +- {:4.1f} %  {:>6} x  {:<9} {:<6} {}\n", key.name(),
                        value_text(sample), percent, sample.count, sample.source,
                        sim::source_name(sample.timing), sample.time);
  }
  return text;
}

std::string reset_calibration(const planner::MachineProfile& machine, const planner::Store& store) {
  const std::string hash = profile_hash(machine);
  const std::size_t known = store.calibration(hash).size();
  if (known == 0) return machine.name + " has no calibration\n";
  planner::reset_calibration(store.calibration_file(hash), hash);
  return fmt::format("forgot {} costs of {}; {} keeps the lines before\n", known, machine.name,
                     store.calibration_file(hash).string());
}

std::string merge_calibration(const planner::MachineProfile& machine, const std::string& file,
                              const planner::Store& store) {
  const std::string hash = profile_hash(machine);
  if (!std::filesystem::is_regular_file(file)) throw BadRequest(file + ": no such file");
  const planner::Calibration added = planner::load_calibration(file, hash);
  if (added.empty()) {
    throw BadRequest(file + ": holds no cost of " + machine.name + "'s profile " +
                     hash.substr(0, 12) + "; costs hold for the profile they were measured under");
  }
  std::vector<CalibrationSample> samples;
  samples.reserve(added.size());
  for (const auto& [key, sample] : added) samples.push_back(sample);
  planner::append_calibration(store.calibration_file(hash), samples);
  return fmt::format("added {} costs to {}, which has {} now\n", samples.size(), machine.name,
                     store.calibration(hash).size());
}

}  // namespace sluice::cli
