#include "planner/machines/host_bandwidth.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::planner {
namespace {

/// Bytes/s of updates on all cores over those of a triad: 1.05 to 1.27 on hosts of H100 and H200.
constexpr double kUpdateOverTriad = 1.12;

double fastest_update(const MachineProfile& profile) {
  double fastest = 0;
  for (const auto& [threads, rate] : profile.update) fastest = std::max(fastest, rate.value);
  return fastest;
}

/// Updates/s of cores that reach `cores` without waiting for memory that allows `memory`.
double both(double cores, double memory) {
  constexpr double kKnee = 4;  // How sharply cores meet the memory's limit.
  return std::pow(std::pow(cores, -kKnee) + std::pow(memory, -kKnee), -1 / kKnee);
}

}  // namespace

BytesPerSecond host_bandwidth(const MachineProfile& profile) {
  return BytesPerSecond(fastest_update(profile) * profile.update_dram.value / kUpdateOverTriad);
}

void set_host_bandwidth(MachineProfile& profile, BytesPerSecond bandwidth,
                        const std::string& note) {
  const auto set = [&](auto& fact, double factor) {
    scale_by(fact, factor);
    fact.source = Source::estimated;
    fact.note = note;
  };
  const BytesPerSecond before = host_bandwidth(profile);
  if (!(before > BytesPerSecond(0))) {
    set(profile.dram, bandwidth / profile.dram.value);
    return;
  }
  const double factor = bandwidth / before;
  set(profile.dram, factor);
  const double top = fastest_update(profile);
  const auto& [fewest, slowest] = *profile.update.begin();
  const double core = slowest.value / static_cast<double>(fewest);
  for (auto& [threads, rate] : profile.update) {
    const double cores = core * static_cast<double>(threads);
    set(rate, both(cores, factor * top) / both(cores, top));
  }
}

}  // namespace sluice::planner
