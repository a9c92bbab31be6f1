#include "profiler/probe/lasting_rate.hpp"

#include <algorithm>
#include <limits>

namespace sluice::profiler {
namespace {

/// Smallest number of samples on each side of a fall, smallest part of all samples there (1 /
/// kLeastPart), and the largest ratio that is a fall.
constexpr std::size_t kLeast = 3;
constexpr std::size_t kLeastPart = 10;
constexpr double kFall = 0.9;
constexpr double kDeviations = 3;

/// Sum of the squared distances of samples from their mean.
double scatter(Samples::const_iterator begin, Samples::const_iterator end) {
  double sum = 0, squares = 0;
  for (auto each = begin; each != end; ++each) {
    sum += *each;
    squares += *each * *each;
  }
  return squares - sum * sum / static_cast<double>(end - begin);
}

}  // namespace

LastingRate lasting_rate(const Samples& samples) {
  LastingRate found{.lasting = samples, .first = std::nullopt, .fell_after = 0};
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = 0;
  const std::size_t side = std::max(kLeast, samples.size() / kLeastPart);
  for (std::size_t at = side; at + side <= samples.size(); ++at) {
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(at);
    const double both = scatter(samples.begin(), middle) + scatter(middle, samples.end());
    if (both < least) {
      least = both;
      best = at;
    }
  }
  if (best == 0) return found;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(best);
  const Samples before(samples.begin(), middle), after(middle, samples.end());
  const double first = median(before), last = median(after);
  const double noise = std::max(robust_deviation(before), robust_deviation(after));
  if (last > kFall * first || first - last < kDeviations * noise) return found;
  found.lasting = after;
  found.first = first;
  found.fell_after = best;
  return found;
}

}  // namespace sluice::profiler
