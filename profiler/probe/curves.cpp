#include "profiler/probe/curves.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice::profiler {
namespace {

using planner::Fact;
using planner::MeasuredTime;

constexpr double kShort = 1 << 20;  ///< Bytes of the longest copy whose time is mostly latency.

}  // namespace

Fact rate_of_shapes(const std::vector<Fact>& rates, const std::string& note) {
  std::vector<double> values;
  std::vector<double> own;
  for (const Fact& rate : rates) {
    values.push_back(rate.value);
    own.push_back(rate.deviation);
  }
  Fact fact = measured_fact(values, note);
  fact.deviation = std::hypot(fact.deviation, median(own));
  std::int64_t count = 0;
  for (const Fact& rate : rates) count += rate.count;
  fact.count = count;
  return fact;
}

Fact mean_of_directions(const Fact& down, const Fact& up) {
  Fact both = down;
  both.value = (down.value + up.value) / 2;
  both.deviation = std::hypot(std::max(down.deviation, up.deviation), (down.value - up.value) / 2);
  both.count = down.count + up.count;
  return both;
}

std::vector<planner::ProductPoint> curve_of(std::vector<SizedRate> rates, const std::string& note) {
  std::map<long, std::vector<SizedRate>> bins;
  for (SizedRate& rate : rates) {
    if (rate.size > 0) bins[std::lround(4 * std::log10(rate.size))].push_back(std::move(rate));
  }
  std::vector<planner::ProductPoint> curve;
  for (const auto& [bin, members] : bins) {
    double logarithms = 0;
    std::vector<Fact> facts;
    for (const SizedRate& member : members) {
      logarithms += std::log(member.size);
      facts.push_back(member.rate);
    }
    curve.push_back({Flops(std::exp(logarithms / static_cast<double>(members.size()))),
                     planner::in_unit<FlopsPerSecond>(rate_of_shapes(facts, note))});
  }
  return curve;
}

std::optional<MeasuredTime> copy_latency(const std::vector<SizedRate>& copies, double rate) {
  Samples latencies;
  for (const SizedRate& copy : copies) {
    if (copy.size > kShort || !(copy.rate.value > 0)) continue;
    latencies.push_back(std::max(0.0, copy.size / copy.rate.value - copy.size / rate));
  }
  if (latencies.empty()) return std::nullopt;
  return measured_time(latencies, "copies of at most 1 MiB, less their bytes at the link's rate");
}

double rate_within(const std::vector<double>& ends, double from, double to) {
  const auto first = std::lower_bound(ends.begin(), ends.end(), from);
  const auto last = std::upper_bound(first, ends.end(), to);
  const auto count = std::distance(first, last);
  if (count < 2) return 0;
  const double span = *(last - 1) - *first;
  return span > 0 ? static_cast<double>(count - 1) / span : 0;
}

Fact speed_ratio(const Samples& alone, const Samples& beside, const std::string& note) {
  const double base = median(alone), together = median(beside);
  Fact fact = measured_fact({std::min(1.0, together / base)}, note);
  fact.deviation =
      fact.value * std::hypot(robust_deviation(alone) / base, robust_deviation(beside) / together);
  fact.count = static_cast<std::int64_t>(std::min(alone.size(), beside.size()));
  return fact;
}

}  // namespace sluice::profiler
