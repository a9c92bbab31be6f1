#include "planner/cost_family.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

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

std::optional<SizedTime> from_family(const Calibration& calibration, const CostKey& wanted) {
  const auto key = sized(wanted.name);
  if (!key) return std::nullopt;
  const double size = key->size;
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, deviation = 0;
  for (auto it = calibration.lower_bound(CostKey{std::string(key->before)});
       it != calibration.end() && it->first.name.starts_with(key->before); ++it) {
    const auto other = sized(it->first.name);
    if (!other || !other->same_family(*key)) continue;
    const double x = other->size, y = it->second.value;
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
    deviation = std::max(deviation, relative_deviation(it->second));
  }
  if (n == 0) return std::nullopt;
  const double spread = n * sxx - sx * sx;
  double seconds = sy / sx * size;
  if (n >= 2 && spread > 1e-9 * n * sxx) {
    const double slope = (n * sxy - sx * sy) / spread;
    const double line = (sy - slope * sx) / n + slope * size;
    if (slope > 0 && line > 0) seconds = line;
  }
  return SizedTime{seconds, std::max(deviation, 0.02)};
}

bool is_rate(const CostKey& key) {
  return (key.name.starts_with("copy/") || key.name.starts_with("update/")) && !sized(key.name);
}

}  // namespace sluice::planner
