#include "profiler/ablation/interval_of_median.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {
namespace {

constexpr int kResamples = 2000;

/// Quantile, interpolated linearly between the two nearest numbers; `sorted` is not empty.
double quantile_of(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Draws equally on every machine, unlike std::uniform_int_distribution.
std::size_t draw(std::mt19937_64& random, std::size_t size) { return random() % size; }

}  // namespace

MedianInterval bootstrap_median(std::span<const std::vector<double>> groups, std::uint64_t seed) {
  std::vector<const std::vector<double>*> filled;
  std::vector<double> all;
  for (const std::vector<double>& group : groups) {
    if (group.empty()) continue;
    filled.push_back(&group);
    all.insert(all.end(), group.begin(), group.end());
  }
  if (all.empty()) return {};
  std::mt19937_64 random(seed);
  std::vector<double> medians;
  medians.reserve(kResamples);
  for (int i = 0; i < kResamples; ++i) {
    std::vector<double> sample;
    sample.reserve(all.size());
    for (std::size_t g = 0; g < filled.size(); ++g) {
      const std::vector<double>& group = *filled[draw(random, filled.size())];
      for (std::size_t n = 0; n < group.size(); ++n) {
        sample.push_back(group[draw(random, group.size())]);
      }
    }
    medians.push_back(median(std::move(sample)));
  }
  std::sort(medians.begin(), medians.end());
  return {.median = median(all),
          .low = quantile_of(medians, 0.025),
          .high = quantile_of(medians, 0.975)};
}

std::vector<bool> outliers(std::span<const double> numbers) {
  if (numbers.empty()) return {};
  std::vector<double> sorted(numbers.begin(), numbers.end());
  std::sort(sorted.begin(), sorted.end());
  const double first = quantile_of(sorted, 0.25);
  const double third = quantile_of(sorted, 0.75);
  const double reach = 1.5 * (third - first);
  std::vector<bool> apart;
  apart.reserve(numbers.size());
  for (const double number : numbers) {
    apart.push_back(number < first - reach || number > third + reach);
  }
  return apart;
}

}  // namespace sluice::profiler
