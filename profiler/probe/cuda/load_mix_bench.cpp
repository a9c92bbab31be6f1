#include "profiler/probe/cuda/load_mix_bench.hpp"

#include <algorithm>
#include <memory>
#include <thread>

#include "profiler/probe/cuda/steady_load.hpp"

namespace sluice::profiler {
namespace {

constexpr Seconds kWarmUp{0.05};

/// Measures one load mix once and adds its rates to `to`.
void measure_once(LoadMixBenches loads, Seconds window, LoadMixSamples& to) {
  const LoadMix& mix = to.mix;
  std::unique_ptr<SteadyLoad> down, up, products;
  if (copies_down(mix.copies)) down = loads.link.steady(CopyDirection::h2d);
  if (copies_up(mix.copies)) up = loads.link.steady(CopyDirection::d2h);
  if (mix.products == Products::run) {
    products = std::make_unique<SteadyLoad>(
        [&loads](cudaStream_t stream, std::int64_t) { loads.products.run_large(stream); });
  }
  const auto threads = static_cast<int>(mix.threads);
  std::this_thread::sleep_for(kWarmUp);
  if (threads > 0) loads.update.update(threads);
  const Seconds from = read(Timer::wall);
  std::int64_t updates = 0;
  if (threads > 0) {
    for (; updates < 2 || read(Timer::wall) - from < window; ++updates) {
      loads.update.update(threads);
    }
  } else {
    std::this_thread::sleep_for(window);
  }
  const Seconds to_end = read(Timer::wall);
  for (SteadyLoad* load : {down.get(), up.get(), products.get()}) {
    if (load != nullptr) load->stop();
  }
  const double piece =
      static_cast<double>(std::min(LinkBench::kPiece, loads.link.buffer()).count());
  if (down) to.h2d.push_back(piece * down->repetitions_per_second(from, to_end));
  if (up) to.d2h.push_back(piece * up->repetitions_per_second(from, to_end));
  if (products) {
    to.products.push_back(loads.products.large_work().count() *
                          products->repetitions_per_second(from, to_end));
  }
  if (threads > 0) {
    to.update.push_back(static_cast<double>(updates * loads.update.parameters()) /
                        (to_end - from).count());
  }
}

}  // namespace

std::vector<LoadMixSamples> measure_load_mixes(LoadMixBenches loads,
                                               const std::vector<LoadMix>& mixes,
                                               const RepetitionCounts& counts, Seconds window) {
  std::vector<LoadMixSamples> samples;
  samples.reserve(mixes.size());
  for (const LoadMix& mix : mixes) samples.push_back({mix, {}, {}, {}, {}});
  for (int repetition = 0; repetition < counts.least; ++repetition) {
    for (LoadMixSamples& each : samples) measure_once(loads, window, each);
  }
  const Seconds end = read(Timer::wall) + counts.more;
  for (int repetition = counts.least; repetition < counts.most; ++repetition) {
    bool sure = true;
    for (LoadMixSamples& each : samples) {
      if (is_sure(each)) continue;
      if (read(Timer::wall) >= end) return samples;
      measure_once(loads, window, each);
      sure = false;
    }
    if (sure) break;
  }
  return samples;
}

}  // namespace sluice::profiler
