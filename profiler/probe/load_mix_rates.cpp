#include "profiler/probe/load_mix_rates.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>

#include "profiler/probe/curves.hpp"

namespace sluice::profiler {
namespace {

using planner::LaneKind;

constexpr std::array kAllCopies = {Copies::none, Copies::h2d, Copies::d2h, Copies::both};

planner::Fact rate_fact(const Samples& samples, const LoadMix& mix) {
  if (samples.empty()) {
    return {
        .value = 0, .deviation = 0, .count = 0, .source = planner::Source::measured, .note = {}};
  }
  const std::string threads =
      mix.threads > 0 ? "AdamW on " + std::to_string(mix.threads) + " threads" : "no AdamW";
  planner::Fact fact =
      measured_fact(samples, "sustained; " + threads + ", copies " + to_string(mix.copies));
  fact.value = usual_rate(samples);
  return fact;
}

/// Factor of a lane beside products, or of products beside a lane, before anything is measured, and
/// its standard deviation between machines. A copy takes a few percent of the device memory's
/// bandwidth, and a thread that launches kernels takes a core of the optimizer now and then (full
/// probes of an H100 and of H200 hosts: 0.987 to 0.997, and 0.93 to 0.99).
struct UsualFactor {
  double value, deviation;
};
UsualFactor usual_factor(LaneKind on) {
  return on == LaneKind::cpu ? UsualFactor{0.96, 0.03} : UsualFactor{0.99, 0.01};
}

/// `measured` drawn towards the usual factor by their precisions. Few windows of some tenths of a
/// second say less than that two of them happened to agree: a window alone is taken to err by
/// kWindow.
planner::Fact combined(const UsualFactor& usual, planner::Fact measured) {
  constexpr double kWindow = 0.025;
  const double one = std::max(kWindow, measured.deviation / measured.value);
  const double error =
      one / std::sqrt(static_cast<double>(std::max<std::int64_t>(measured.count, 1)));
  const double prior = std::pow(usual.deviation, -2), seen = std::pow(error, -2);
  measured.value = std::min(1.0, (prior * usual.value + seen * measured.value) / (prior + seen));
  measured.deviation = measured.value / std::sqrt(prior + seen) *
                       std::sqrt(static_cast<double>(std::max<std::int64_t>(measured.count, 1)));
  return measured;
}

const LoadMixSamples* find(const std::vector<LoadMixSamples>& samples, std::int64_t threads,
                           Copies copies, Products products) {
  for (const LoadMixSamples& each : samples) {
    if (each.mix.threads == threads && each.mix.copies == copies && each.mix.products == products) {
      return &each;
    }
  }
  return nullptr;
}

}  // namespace

double relative_error(const Samples& samples) {
  if (samples.size() < 2) return 1;
  const auto count = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / (count - 1) / count) / mean;
}

bool is_sure(const LoadMixSamples& samples) {
  constexpr double kSure = 0.007;
  for (const Samples* rate : {&samples.update, &samples.h2d, &samples.d2h, &samples.products}) {
    if (!rate->empty() && relative_error(*rate) > kSure) return false;
  }
  return true;
}

double usual_rate(Samples samples) {
  constexpr std::size_t kFew = 5;
  constexpr double kDisturbed = 0.95;
  std::sort(samples.begin(), samples.end());
  if (samples.size() < kFew) {
    const double slowest = kDisturbed * samples.back();
    samples.erase(samples.begin(), std::lower_bound(samples.begin(), samples.end(), slowest));
    return std::accumulate(samples.begin(), samples.end(), 0.0) /
           static_cast<double>(samples.size());
  }
  const auto left_out = static_cast<std::ptrdiff_t>(samples.size() / 5);
  const auto first = samples.begin() + left_out, last = samples.end() - left_out;
  return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

ContentionGrid contention_grid(const std::vector<LoadMixSamples>& samples) {
  ContentionGrid grid;
  for (const LoadMixSamples& each : samples) {
    if (each.mix.products == Products::run) continue;
    grid.push_back({each.mix.threads,
                    each.mix.copies,
                    rate_fact(each.update, each.mix),
                    rate_fact(each.h2d, each.mix),
                    rate_fact(each.d2h, each.mix),
                    {each.update, each.h2d, each.d2h}});
  }
  return grid;
}

std::vector<LoadMix> contention_load_mixes(const std::vector<std::int64_t>& threads) {
  std::vector<LoadMix> mixes;
  for (const Copies copies : {Copies::h2d, Copies::d2h, Copies::both}) {
    mixes.push_back({.threads = 0, .copies = copies});
  }
  for (const std::int64_t count : threads) {
    for (const Copies copies : kAllCopies) mixes.push_back({count, copies, Products::none});
  }
  return mixes;
}

std::vector<LoadMix> product_load_mixes(const std::vector<std::int64_t>& threads) {
  std::vector<LoadMix> mixes;
  mixes.reserve((threads.size() + 1) * kAllCopies.size());
  for (const Copies copies : kAllCopies) mixes.push_back({0, copies, Products::run});
  for (const std::int64_t count : threads) {
    for (const Copies copies : kAllCopies) mixes.push_back({count, copies, Products::run});
  }
  return mixes;
}

std::vector<planner::MachineProfile::Interference> product_interference(
    const std::vector<LoadMixSamples>& samples, std::int64_t threads) {
  struct Side {
    std::int64_t threads;
    Copies copies;
    Products products;
  };
  std::vector<planner::MachineProfile::Interference> pairs;
  const auto add = [&](LaneKind on, LaneKind from, Samples LoadMixSamples::*rate, const Side& alone,
                       const Side& together) {
    const LoadMixSamples* base = find(samples, alone.threads, alone.copies, alone.products);
    const LoadMixSamples* beside =
        find(samples, together.threads, together.copies, together.products);
    if (base == nullptr || beside == nullptr) return;
    if (!(median(base->*rate) > 0) || !(median(beside->*rate) > 0)) return;
    pairs.push_back({on, from,
                     combined(usual_factor(on), speed_ratio(base->*rate, beside->*rate,
                                                            std::string(to_string(on)) +
                                                                " beside " + to_string(from)))});
  };
  constexpr auto kNone = Products::none, kRun = Products::run;
  add(LaneKind::compute, LaneKind::h2d, &LoadMixSamples::products, {0, Copies::none, kRun},
      {0, Copies::h2d, kRun});
  add(LaneKind::compute, LaneKind::d2h, &LoadMixSamples::products, {0, Copies::none, kRun},
      {0, Copies::d2h, kRun});
  add(LaneKind::compute, LaneKind::cpu, &LoadMixSamples::products, {0, Copies::none, kRun},
      {threads, Copies::none, kRun});
  add(LaneKind::h2d, LaneKind::compute, &LoadMixSamples::h2d, {0, Copies::h2d, kNone},
      {0, Copies::h2d, kRun});
  add(LaneKind::d2h, LaneKind::compute, &LoadMixSamples::d2h, {0, Copies::d2h, kNone},
      {0, Copies::d2h, kRun});
  add(LaneKind::cpu, LaneKind::compute, &LoadMixSamples::update, {threads, Copies::none, kNone},
      {threads, Copies::none, kRun});
  return pairs;
}

std::vector<std::int64_t> contention_threads(std::int64_t cores) {
  constexpr std::int64_t kFew = 8, kMost = 14, kLeftOver = 2;
  std::vector<std::int64_t> counts;
  if (cores < kFew) {
    for (std::int64_t count = 1; count <= std::max<std::int64_t>(cores, 1); ++count) {
      counts.push_back(count);
    }
    return counts;
  }
  for (std::int64_t count = 2; count <= std::min(kMost, cores - kLeftOver); count += 2) {
    counts.push_back(count);
  }
  return counts;
}

}  // namespace sluice::profiler
