#include "planner/costs/cost_family.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

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
  double deviation;  ///< Standard deviation over the value.
};

/// A line of time in size: seconds = fixed + each * size.
struct Line {
  double fixed = 0, each = 0;
  [[nodiscard]] double at(double size) const { return fixed + each * size; }
};

/// Smallest relative deviation of a sample that is not far off.
constexpr double kLeastDeviation = 0.02;
/// Relative deviation of the rate that a profile states, in this fit: it may be wrong by half, and
/// one sample of more than twice the usual fixed time outweighs it.
constexpr double kStatedDeviation = 1;
/// Usual fixed seconds of a copy or an update: to wake threads, to start a copy, to stamp its end.
constexpr double kUsualFixedSeconds = 5e-5;

double square(double x) { return x * x; }

/// Least-squares fit of a line to relative errors, neither of whose numbers may be negative: an
/// error of one millisecond in a hundred tells nothing of tasks of one millisecond.
class RelativeLine {
 public:
  /// Starts a fit with what the profile states; `before` is the line of the iteration before, none
  /// in the first.
  RelativeLine(const FamilyRate& stated, const std::optional<Line>& before) {
    if (!(stated.per_second > 0)) return;
    // fixed / usual and (each / stated - 1) / kStatedDeviation, as residuals in units of
    // kLeastDeviation like those of samples; and like those they count little where far off.
    const double usual = std::max(kUsualFixedSeconds, stated.fixed_seconds);
    const double each = kStatedDeviation / stated.per_second;
    uu_ = square(kLeastDeviation / usual);
    stated_weight_ = square(kLeastDeviation / each);
    if (before) {
      uu_ /= 1 + square(before->fixed / usual);
      stated_weight_ /= 1 + square((before->each - 1 / stated.per_second) / each);
    }
    vv_ = stated_weight_;
    v1_ = stated_weight_ / stated.per_second;
  }

  void add(const Sized& sample) {
    // With u = 1 / seconds and v = size / seconds the line is fixed * u + each * v = 1.
    const double u = 1 / sample.seconds, v = sample.size / sample.seconds, w = sample.weight;
    uu_ += w * u * u, uv_ += w * u * v, vv_ += w * v * v, u1_ += w * u, v1_ += w * v;
  }

  [[nodiscard]] Line solved() const {
    const double spread = uu_ * vv_ - uv_ * uv_;
    if (spread > 1e-9 * uu_ * vv_) {
      const Line line{(u1_ * vv_ - v1_ * uv_) / spread, (v1_ * uu_ - u1_ * uv_) / spread};
      if (line.fixed >= 0 && line.each > 0) return line;
      if (line.each <= 0) return {u1_ / uu_, 0};
    }
    return {0, v1_ / vv_};
  }

  /// Share (0 to 1) of what is known about the time in proportion to size that comes from the
  /// profile.
  [[nodiscard]] double stated_part() const {
    return stated_weight_ > 0 ? stated_weight_ / (vv_ - uv_ * uv_ / uu_) : 0;
  }

 private:
  double uu_ = 0, uv_ = 0, vv_ = 0, u1_ = 0, v1_ = 0, stated_weight_ = 0;
};

RelativeLine relative_line(const std::vector<Sized>& samples, const FamilyRate& stated,
                           const std::optional<Line>& before = {}) {
  RelativeLine line(stated, before);
  for (const Sized& sample : samples) line.add(sample);
  return line;
}

/// Median of the samples' misses relative to the line, so that one far-off sample does not count.
double usual_miss(const std::vector<Sized>& samples, const Line& line) {
  std::vector<double> misses;
  misses.reserve(samples.size());
  for (const Sized& s : samples) misses.push_back(std::abs(line.at(s.size) / s.seconds - 1));
  const auto middle = misses.begin() + static_cast<std::ptrdiff_t>(misses.size() / 2);
  std::ranges::nth_element(misses, middle);
  return *middle;
}

}  // namespace

std::optional<SizedTime> from_family(const Calibration& calibration, const CostKey& wanted,
                                     const FamilyRate& stated) {
  constexpr int kRounds = 3;
  const auto key = sized(wanted.name());
  if (!key) return std::nullopt;
  std::vector<Sized> samples;
  for (auto it = calibration.lower_bound(CostKey{std::string(key->before)});
       it != calibration.end() && it->first.name().starts_with(key->before); ++it) {
    const auto other = sized(it->first.name());
    if (!other || !other->same_family(*key) || !(it->second.value > 0)) continue;
    samples.push_back({other->size, it->second.value, 1, relative_deviation(it->second)});
  }
  if (samples.empty()) return std::nullopt;
  RelativeLine fit = relative_line(samples, stated);
  Line line = fit.solved();
  for (int round = 0; round < kRounds; ++round) {
    // Cauchy's weights: samples that miss by more than is usual count less, one that is inferred
    // from tasks beside a full memory may be far off. Of two it is not known which.
    const double usual = std::max(kLeastDeviation, usual_miss(samples, line));
    if (samples.size() > 2) {
      for (Sized& sample : samples) {
        sample.weight = 1 / (1 + square((line.at(sample.size) / sample.seconds - 1) / usual));
      }
    }
    fit = relative_line(samples, stated, line);
    line = fit.solved();
  }
  const auto part_in_proportion = [&](double size) { return line.each * size / line.at(size); };
  const double in_proportion = part_in_proportion(key->size);
  double seen = std::max(kLeastDeviation, usual_miss(samples, line));
  for (const Sized& sample : samples) {
    // What differs of tasks that are all but fixed time says nothing of those in proportion.
    const double part = part_in_proportion(sample.size);
    const double alike = part * in_proportion + (1 - part) * (1 - in_proportion);
    seen = std::max(seen, sample.deviation * alike);
  }
  // The deviation of a line is least near its samples: that of the profile's word counts by how
  // much of this time it is.
  return SizedTime{line.at(key->size),
                   std::hypot(seen, in_proportion * fit.stated_part() * stated.relative_deviation)};
}

}  // namespace sluice::planner
