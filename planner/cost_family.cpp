#include "planner/cost_family.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "planner/cost_model.hpp"

namespace sluice::planner {

std::optional<SizedKey> sized(std::string_view key) {
  std::size_t end = key.size();
  while (true) {
    const auto slash = key.rfind('/', end == 0 ? 0 : end - 1);
    if (slash == key.npos) return std::nullopt;
    const std::string_view part = key.substr(slash + 1, end - slash - 1);
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error == std::errc() && stop == part.data() + part.size() && size > 0) {
      return SizedKey{static_cast<double>(size), key.substr(0, slash + 1), key.substr(end)};
    }
    if (slash == 0) return std::nullopt;
    end = slash;
  }
}

double relative_deviation(const CalibrationSample& sample) {
  if (!(sample.value > 0)) return 0;
  return sample.deviation / sample.value /
         std::sqrt(static_cast<double>(std::max<std::int64_t>(1, sample.count)));
}

namespace {

struct Sized {
  double size, seconds, weight;
};

/// seconds = fixed + each * size.
struct Line {
  double fixed = 0, each = 0;
  [[nodiscard]] double at(double size) const { return fixed + each * size; }
};

/// Least squares of relative errors, neither number negative: what is off by a millisecond of a
/// hundred says nothing of tasks of one.
Line relative_line(const std::vector<Sized>& samples) {
  // With u = 1 / seconds and v = size / seconds the line is fixed * u + each * v = 1.
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (const Sized& sample : samples) {
    const double u = 1 / sample.seconds, v = sample.size / sample.seconds, w = sample.weight;
    uu += w * u * u, uv += w * u * v, vv += w * v * v, u1 += w * u, v1 += w * v;
  }
  const double spread = uu * vv - uv * uv;
  if (spread > 1e-9 * uu * vv) {
    const Line line{(u1 * vv - v1 * uv) / spread, (v1 * uu - u1 * uv) / spread};
    if (line.fixed >= 0 && line.each > 0) return line;
    if (line.each <= 0) return {u1 / uu, 0};
  }
  return {0, v1 / vv};
}

/// Relative; by its median, so that one sample that is far off does not count.
double usual_miss(const std::vector<Sized>& samples, const Line& line) {
  std::vector<double> misses;
  misses.reserve(samples.size());
  for (const Sized& s : samples) misses.push_back(std::abs(line.at(s.size) / s.seconds - 1));
  const auto middle = misses.begin() + static_cast<std::ptrdiff_t>(misses.size() / 2);
  std::ranges::nth_element(misses, middle);
  return *middle;
}

}  // namespace

std::optional<SizedTime> from_family(const Calibration& calibration, const CostKey& wanted) {
  constexpr double kLeastDeviation = 0.02;
  constexpr int kRounds = 3;
  const auto key = sized(wanted.name);
  if (!key) return std::nullopt;
  std::vector<Sized> samples;
  double deviation = kLeastDeviation;
  for (auto it = calibration.lower_bound(CostKey{std::string(key->before)});
       it != calibration.end() && it->first.name.starts_with(key->before); ++it) {
    const auto other = sized(it->first.name);
    if (!other || !other->same_family(*key) || !(it->second.value > 0)) continue;
    samples.push_back({other->size, it->second.value, 1});
    deviation = std::max(deviation, relative_deviation(it->second));
  }
  if (samples.empty()) return std::nullopt;
  Line line = relative_line(samples);
  for (int round = 0; round < kRounds && samples.size() > 2; ++round) {
    // Cauchy's weights: samples that miss by more than is usual count less, one that is inferred
    // from tasks beside a full memory may be far off.
    const double usual = std::max(kLeastDeviation, usual_miss(samples, line));
    for (Sized& sample : samples) {
      const double miss = (line.at(sample.size) / sample.seconds - 1) / usual;
      sample.weight = 1 / (1 + miss * miss);
    }
    line = relative_line(samples);
  }
  return SizedTime{line.at(key->size), std::max(deviation, usual_miss(samples, line))};
}

bool is_rate(const CostKey& key) {
  return (key.name.starts_with("copy/") || key.name.starts_with("update/")) && !sized(key.name);
}

}  // namespace sluice::planner
