#include "planner/costs/pooled_updates.hpp"

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/costs/cost_family.hpp"
#include "planner/costs/cost_parts.hpp"
#include "planner/costs/profile_rates.hpp"

namespace sluice::planner {
namespace {

constexpr std::string_view kUpdateOnThreads = "update/cpu/t";

/// Deviation of rates between runs minutes apart, over that between the repetitions of one probe.
constexpr double kRunsOverRounds = 2;
/// Standard deviations of logarithms: of a machine's level from what its probe measured, and of the
/// level of one number of threads from its machine's.
constexpr double kOfMachine = 0.08, kOfThreads = 0.05;
/// Number of cores that the launcher, the lanes and other processes need for themselves.
constexpr std::int64_t kOwnCores = 2;
/// Parameters of an update that counts half: smaller ones are mostly fixed time, and tell little of
/// a rate.
constexpr double kSmall = 2e7;

std::optional<std::int64_t> threads_of(std::string_view before) {
  const std::string_view digits = before.substr(kUpdateOnThreads.size());
  std::int64_t threads = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), threads);
  if (error != std::errc() || threads <= 0) return std::nullopt;
  return threads;
}

double variance_of(double deviation) { return deviation * deviation; }

/// Samples of the CPU updates with one number of threads, and their common level.
struct UpdateLevel {
  std::vector<CalibrationSample*> samples;
  /// Variance of this level around its machine's, including the probe's own uncertainty.
  double own = 0;
  /// Weighted sum, and sum of weights, of the logarithms of measured seconds over the profile's.
  double sum = 0, weight = 0;
  [[nodiscard]] double mean() const { return sum / weight; }
};

}  // namespace

Calibration with_pooled_updates(const MachineProfile& profile, Calibration calibration) {
  const double of_run = kRunsOverRounds * update_rate_deviation(profile);
  if (of_run == 0) return calibration;
  const std::int64_t most = profile.update.rbegin()->first - kOwnCores;
  std::map<std::int64_t, UpdateLevel> levels;
  for (auto it = calibration.lower_bound(CostKey{std::string(kUpdateOnThreads)});
       it != calibration.end() && it->first.name().starts_with(kUpdateOnThreads); ++it) {
    const auto key = sized(it->first.name());
    if (!key || !(it->second.value > 0)) continue;
    const auto threads = threads_of(key->before);
    if (!threads || *threads > most) continue;
    const double seconds = key->size / update_rate(profile, *threads).value;
    const double weight = key->size / (key->size + kSmall);
    UpdateLevel& level = levels[*threads];
    level.own = variance_of(kOfThreads) + variance_of(deviation_of(update_rate(profile, *threads)));
    level.samples.push_back(&it->second);
    level.sum += weight * std::log(it->second.value / seconds);
    level.weight += weight;
  }
  if (levels.empty()) return calibration;
  constexpr int kRounds = 3;
  double common = 0;
  for (int round = 0; round < kRounds; ++round) {
    // A probe that is far off counts little.
    double weights = 1 / (variance_of(kOfMachine) + variance_of(common)), sum = 0;
    for (const auto& [threads, level] : levels) {
      const double weight = 1 / (level.own + variance_of(of_run) / level.weight);
      weights += weight;
      sum += weight * level.mean();
    }
    common = sum / weights;
  }
  for (const auto& [threads, level] : levels) {
    const double noise = variance_of(of_run) / level.weight;
    const double part = noise / (level.own + noise);
    const double factor = std::exp(part * (common - level.mean()));
    for (CalibrationSample* sample : level.samples) {
      sample->value *= factor;
      sample->deviation *= factor;
    }
  }
  return calibration;
}

}  // namespace sluice::planner
