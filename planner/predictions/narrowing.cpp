#include "planner/predictions/narrowing.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice::planner {
namespace {

constexpr double kStated = 0.10, kProbed = 0.04, kTaught = 0.012;
/// Smallest gain, as a share of the interval, that is worth a line.
constexpr double kWorth = 0.05;

struct Measurement {
  const char* name;
  const char* what;
  double deviation;  ///< Relative deviation of the numbers after it.
  bool alone;        ///< Whether each number then errs for itself.
  bool (*covers)(const BasisLine&, bool in_catalogue);
};

bool from_paper(const BasisLine& line) {
  return line.grounds == Grounds::datasheet || line.grounds == Grounds::estimated;
}

bool is_cost(const BasisLine& line) {
  return line.unit != BasisUnit::none && line.unit != BasisUnit::ratio;
}

constexpr Measurement kMeasurements[] = {
    {"state_host", "state the host: --set machine.cores=N --set machine.dram=\"X GB/s\"", kStated,
     false,
     [](const BasisLine& line, bool /*in_catalogue*/) {
       return from_paper(line) && line.name.starts_with("CPU update");
     }},
    {"probe", "sluice probe on that machine", kProbed, false,
     [](const BasisLine& line, bool in_catalogue) {
       return (in_catalogue || from_paper(line)) && is_cost(line);
     }},
    {"teach", "sluice autotune with a few such runs on that machine", kTaught, true,
     [](const BasisLine& line, bool /*in_catalogue*/) {
       return line.grounds != Grounds::measured && is_cost(line);
     }},
};

double half_after(std::span<const BasisLine> basis, const Measurement* measurement,
                  bool in_catalogue) {
  std::map<std::string, double> groups;
  double variance = 0;
  for (const BasisLine& line : basis) {
    double deviation = line.deviation.count();
    const bool covered = measurement != nullptr && measurement->covers(line, in_catalogue) &&
                         line.relative_deviation > measurement->deviation;
    if (covered) deviation *= measurement->deviation / line.relative_deviation;
    if (covered && measurement->alone) {
      variance += deviation * deviation;
    } else {
      groups[line.group] += deviation;
    }
  }
  for (const auto& [group, sum] : groups) variance += sum * sum;
  return kInterval90 * std::sqrt(variance);
}

}  // namespace

std::vector<Narrowing> narrowings(std::span<const BasisLine> basis, Knowledge knowledge) {
  const bool in_catalogue =
      knowledge == Knowledge::catalogue || knowledge == Knowledge::catalogue_host_stated;
  const double now = half_after(basis, nullptr, in_catalogue);
  std::vector<Narrowing> found;
  for (const Measurement& measurement : kMeasurements) {
    const double half = half_after(basis, &measurement, in_catalogue);
    if (half > (1 - kWorth) * now) continue;
    found.push_back({measurement.name, measurement.what, Seconds(half)});
  }
  std::ranges::stable_sort(found, {}, &Narrowing::half);
  return found;
}

}  // namespace sluice::planner
