#include "profiler/probe/contention_parameters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sluice::profiler {
namespace {

using planner::Fact;
using planner::MachineProfile;

constexpr double kUpdateDram = 28;  ///< 12 bytes of state both ways and 4 of gradient.

constexpr std::array<Fact MachineProfile::*, 5> kFacts = {
    &MachineProfile::dram, &MachineProfile::h2d_dram, &MachineProfile::d2h_dram,
    &MachineProfile::h2d_weight, &MachineProfile::d2h_weight};

/// A factor of interference that is fitted; `end`: of those that change with the optimizer's
/// threads, the one at the fewest or the most.
enum class End { any, fewest, most };
struct Pair {
  const char* on;
  const char* from;
  End end;
};
constexpr std::array<Pair, 8> kPairs = {{{"cpu", "h2d", End::fewest},
                                         {"cpu", "h2d", End::most},
                                         {"cpu", "d2h", End::fewest},
                                         {"cpu", "d2h", End::most},
                                         {"h2d", "cpu", End::any},
                                         {"d2h", "cpu", End::any},
                                         {"h2d", "d2h", End::any},
                                         {"d2h", "h2d", End::any}}};

std::int64_t threads_at(End end, const MachineProfile& profile) {
  if (end == End::any || profile.update.empty()) return 0;
  return end == End::fewest ? profile.update.begin()->first : profile.update.rbegin()->first;
}

/// Sharing weights of copies to and from the device that fits start from.
constexpr std::array<std::pair<double, double>, 4> kWeights = {
    {{4.0, 4.0}, {1.0, 4.0}, {1.0, 2.0}, {1.0, 1.0}}};

bool is_fitted(const MachineProfile::Interference& each) {
  return std::any_of(kPairs.begin(), kPairs.end(), [&](const Pair& pair) {
    return each.on == pair.on && each.from == pair.from;
  });
}

Fact fitted_fact(double value) {
  return {.value = value,
          .deviation = 0,
          .count = 0,
          .source = planner::Source::measured,
          .note = "fitted to copies and CPU AdamW running together"};
}

}  // namespace

std::vector<ContentionVector> contention_starts(const MachineProfile& profile) {
  double fastest = 0;
  for (const auto& [threads, rate] : profile.update) fastest = std::max(fastest, rate.value);
  const double per_update = profile.update_dram.value > 0 ? profile.update_dram.value : kUpdateDram;
  // A duplex link loses what it loses; what runs beside a copy a little.
  const auto loss = [](const Fact& alone, const Fact& duplex) {
    const double factor = duplex.value > 0 ? duplex.value / alone.value : 0.97;
    return std::log(std::clamp(factor, 0.3, 0.99));
  };
  const double little = std::log(0.97);
  std::vector<ContentionVector> starts;
  for (const double room : {1.0, 1.1}) {
    for (const double copied : {0.6, 1.0}) {
      for (const auto& [reads, writes] : kWeights) {
        ContentionVector start = {std::log(room * fastest * per_update), std::log(copied),
                                  std::log(1.2 * copied), std::log(reads), std::log(writes)};
        start.resize(kFacts.size() + kPairs.size() - 2, little);
        start.push_back(loss(profile.h2d, profile.h2d_duplex));
        start.push_back(loss(profile.d2h, profile.d2h_duplex));
        starts.push_back(std::move(start));
      }
    }
  }
  return starts;
}

MachineProfile with_parameters(MachineProfile profile, const ContentionVector& at) {
  for (std::size_t i = 0; i < kFacts.size(); ++i) {
    profile.*kFacts[i] = fitted_fact(std::exp(at[i]));
  }
  if (!(profile.update_dram.value > 0)) {
    profile.update_dram = {.value = kUpdateDram,
                           .deviation = 0,
                           .count = 0,
                           .source = planner::Source::estimated,
                           .note = "12 bytes of state both ways and 4 of gradient"};
  }
  std::erase_if(profile.interference, is_fitted);
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    profile.interference.push_back({kPairs[i].on, kPairs[i].from,
                                    fitted_fact(std::min(1.0, std::exp(at[kFacts.size() + i]))),
                                    threads_at(kPairs[i].end, profile)});
  }
  return profile;
}

void state_deviations(MachineProfile& profile, const ContentionVector& deviations,
                      std::int64_t count) {
  const auto state = [&](Fact& fact, double relative) {
    fact.deviation = relative * fact.value;
    fact.count = count;
  };
  for (std::size_t i = 0; i < kFacts.size(); ++i) state(profile.*kFacts[i], deviations[i]);
  // with_parameters() leaves the fitted pairs last, in their order.
  const std::size_t first = profile.interference.size() - kPairs.size();
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    state(profile.interference[first + i].factor, std::min(deviations[kFacts.size() + i], 0.5));
  }
}

}  // namespace sluice::profiler
