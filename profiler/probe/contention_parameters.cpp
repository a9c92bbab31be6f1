#include "profiler/probe/contention_parameters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

namespace sluice::profiler {
namespace {

using planner::Fact;
using planner::LaneKind;
using planner::MachineProfile;

/// Bytes of memory traffic of a parameter's update: 12 bytes of state in both directions and 4 of
/// gradient.
constexpr double kUpdateDram = 28;

/// Numbers that are fitted besides the capacity of the host's memory, which is the first parameter.
constexpr std::array<Fact MachineProfile::*, 4> kShares = {
    &MachineProfile::h2d_dram, &MachineProfile::d2h_dram, &MachineProfile::h2d_weight,
    &MachineProfile::d2h_weight};
constexpr std::size_t kFacts = 1 + kShares.size();

/// A fitted interference factor; `end` chooses, for factors that change with the optimizer's
/// threads, the one at the fewest, at half of the most (and below), or at the most threads.
enum class End { any, fewest, half, most };
struct Pair {
  LaneKind on, from;
  End end;
  /// Usual factor: the mean over three hosts with an H200 (docs/design/contention.md).
  double usual;
};
/// Stands for the factor that the profile's duplex rates imply.
constexpr double kDuplex = 0;
constexpr std::array<Pair, 9> kPairs = {{{LaneKind::cpu, LaneKind::h2d, End::fewest, 0.90},
                                         {LaneKind::cpu, LaneKind::h2d, End::most, 0.85},
                                         {LaneKind::cpu, LaneKind::d2h, End::fewest, 0.82},
                                         {LaneKind::cpu, LaneKind::d2h, End::most, 0.71},
                                         {LaneKind::h2d, LaneKind::cpu, End::any, 0.99},
                                         {LaneKind::d2h, LaneKind::cpu, End::half, 0.99},
                                         {LaneKind::d2h, LaneKind::cpu, End::most, 0.99},
                                         {LaneKind::h2d, LaneKind::d2h, End::any, kDuplex},
                                         {LaneKind::d2h, LaneKind::h2d, End::any, kDuplex}}};

/// Numbers of the curve of saturation: rate of one thread, threads at the knee, sharpness.
constexpr std::size_t kCurve = 3;

/// Usual values, means over three hosts with an H200: capacity of memory over the optimizer's use
/// alone, memory bytes per byte copied in each direction, and sharing weights with which the
/// optimizer never waits for memory.
constexpr std::array<double, kFacts> kUsual = {1.9, 3.7, 1.3, 0.25, 4};

/// Standard deviation of a factor's logarithm between machines. Memory traffic may differ by more,
/// and weights matter only where memory is full: those have no such deviation.
constexpr double kFactorSpread = 0.05;

std::int64_t threads_at(End end, const MachineProfile& profile) {
  if (end == End::any || profile.update.empty()) return 0;
  const std::int64_t most = profile.update.rbegin()->first;
  if (end == End::half) return profile.update.lower_bound((most + 1) / 2)->first;
  return end == End::fewest ? profile.update.begin()->first : most;
}

/// Sharing weights of copies to and from the device from which fits start.
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

double per_update(const MachineProfile& profile) {
  return profile.update_dram.value > 0 ? profile.update_dram.value : kUpdateDram;
}

double fastest_update(const MachineProfile& profile) {
  double fastest = 0;
  for (const auto& [threads, rate] : profile.update) fastest = std::max(fastest, rate.value);
  return fastest;
}

/// Logarithm of the factor by which copies in opposite directions slow each other, by the duplex
/// rates.
double duplex_loss(const planner::Bandwidth& alone, const planner::Bandwidth& duplex) {
  const double factor = duplex.value > BytesPerSecond(0) ? duplex.value / alone.value : 0.97;
  return std::log(std::clamp(factor, 0.3, 0.99));
}

ContentionVector usual_numbers(const MachineProfile& profile) {
  ContentionVector usual;
  usual.reserve(kFacts + kPairs.size() + kCurve);
  for (const double number : kUsual) usual.push_back(std::log(number));
  usual.front() += std::log(fastest_update(profile) * per_update(profile));
  for (const Pair& pair : kPairs) {
    if (pair.usual > 0) {
      usual.push_back(std::log(pair.usual));
    } else if (pair.on == LaneKind::h2d) {
      usual.push_back(duplex_loss(profile.h2d, profile.h2d_duplex));
    } else {
      usual.push_back(duplex_loss(profile.d2h, profile.d2h_duplex));
    }
  }
  return usual;
}

bool has_curve(const ContentionVector& at) { return at.size() > kFacts + kPairs.size(); }

/// Sets the update rates to the curve rate(t) = each t / (1 + (t / knee)^p)^(1 / p), where
/// `numbers` are log each, log knee and log p: in proportion to threads until memory is full, then
/// at each x knee. The larger p, the sharper the bend.
void take_curve(MachineProfile& profile, std::span<const double> numbers) {
  const double each = std::exp(numbers[0]), knee = std::exp(numbers[1]), p = std::exp(numbers[2]);
  for (auto& [threads, rate] : profile.update) {
    const auto t = static_cast<double>(threads);
    rate.value = each * t / std::pow(1 + std::pow(t / knee, p), 1 / p);
  }
}

void push_curve(const MachineProfile& profile, ContentionVector& start) {
  constexpr double kSharpness = 2;
  const auto& [fewest, rate] = *profile.update.begin();
  const double each = rate.value / static_cast<double>(fewest);
  start.push_back(std::log(each));
  start.push_back(std::log(fastest_update(profile) / each));
  start.push_back(std::log(kSharpness));
}

}  // namespace

std::vector<ContentionVector> contention_starts(const MachineProfile& profile, UpdateCurve curve) {
  const double little = std::log(0.97);
  std::vector<ContentionVector> starts = {usual_numbers(profile)};
  for (const double room : {1.0, 1.1}) {
    for (const double copied : {0.6, 1.0}) {
      for (const auto& [reads, writes] : kWeights) {
        ContentionVector start = {std::log(room * fastest_update(profile) * per_update(profile)),
                                  std::log(copied), std::log(1.2 * copied), std::log(reads),
                                  std::log(writes)};
        start.resize(kFacts + kPairs.size() - 2, little);
        start.push_back(duplex_loss(profile.h2d, profile.h2d_duplex));
        start.push_back(duplex_loss(profile.d2h, profile.d2h_duplex));
        starts.push_back(std::move(start));
      }
    }
  }
  if (curve == UpdateCurve::saturating) {
    for (ContentionVector& start : starts) push_curve(profile, start);
  }
  return starts;
}

std::vector<double> unusual(const MachineProfile& profile, const ContentionVector& at) {
  const ContentionVector usual = usual_numbers(profile);
  std::vector<double> distances;
  distances.reserve(usual.size());
  for (std::size_t i = kFacts; i < usual.size(); ++i) {
    const double distance = (at[i] - usual[i]) / kFactorSpread;
    // Cauchy's weight, which ignores the usual numbers for a machine that is not like the others.
    distances.push_back(std::copysign(std::sqrt(std::log1p(distance * distance)), distance));
  }
  return distances;
}

MachineProfile with_parameters(MachineProfile profile, const ContentionVector& at) {
  profile.dram = planner::in_unit<BytesPerSecond>(fitted_fact(std::exp(at.front())));
  for (std::size_t i = 0; i < kShares.size(); ++i) {
    profile.*kShares[i] = fitted_fact(std::exp(at[1 + i]));
  }
  if (!(profile.update_dram.value > 0)) {
    profile.update_dram = {.value = kUpdateDram,
                           .deviation = 0,
                           .count = 0,
                           .source = planner::Source::estimated,
                           .note = "12 bytes of state both ways and 4 of gradient"};
  }
  if (has_curve(at)) take_curve(profile, std::span(at).subspan(kFacts + kPairs.size()));
  std::erase_if(profile.interference, is_fitted);
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    profile.interference.push_back({kPairs[i].on, kPairs[i].from,
                                    fitted_fact(std::min(1.0, std::exp(at[kFacts + i]))),
                                    threads_at(kPairs[i].end, profile)});
  }
  return profile;
}

void state_deviations(MachineProfile& profile, const ContentionVector& deviations,
                      std::int64_t count) {
  const auto state = [&](auto& fact, double relative) {
    fact.deviation = relative * fact.value;
    fact.count = count;
  };
  state(profile.dram, deviations.front());
  for (std::size_t i = 0; i < kShares.size(); ++i) state(profile.*kShares[i], deviations[1 + i]);
  // with_parameters() leaves the fitted pairs last, in their order.
  const std::size_t first = profile.interference.size() - kPairs.size();
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    state(profile.interference[first + i].factor, std::min(deviations[kFacts + i], 0.5));
  }
}

}  // namespace sluice::profiler
