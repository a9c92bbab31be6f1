// Rates that copies, the CPU optimizer and matrix products reached alone and together, and the
// interference that follows from them.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/machines/machine.hpp"
#include "profiler/probe/contention_grid.hpp"
#include "profiler/probe/sampling.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

enum class Products { none, run };

/// A load mix: loads that the probe runs at the same time.
struct LoadMix {
  std::int64_t threads = 0;  ///< Number of threads of the CPU optimizer; 0 where it does not run.
  Copies copies = Copies::none;
  Products products = Products::none;
};

/// Rates of one load mix, one sample for each repetition; empty for a load that did not run.
struct LoadMixSamples {
  LoadMix mix;
  /// Parameters/s of the optimizer; bytes/s of copies in each direction.
  Samples update, h2d, d2h;
  Samples products;  ///< FLOP/s of the matrix products.
};

/// Numbers of repetitions of load mixes: all mixes are measured `least` times, then those whose
/// rates are not yet sure (is_sure) again and again, until all are sure, each was measured `most`
/// times, or `more` time went by.
struct RepetitionCounts {
  int least = 1, most = 1;
  Seconds more{0};
};

/// Standard error of the mean of `samples`, over that mean; 1 for fewer than two samples.
[[nodiscard]] double relative_error(const Samples& samples);
/// Whether the mean of each of the mix's rates is known to a standard error of 0.7 %, a third of
/// the mean error that the contention model is to have.
[[nodiscard]] bool is_sure(const LoadMixSamples& samples);
/// Mean of the middle three fifths of `samples`: an estimate of the rate over a long time. Short
/// windows see one or another of the rate's speeds, which a median of few windows does not average.
/// Of fewer than five samples, those more than 5 % below the fastest are left out instead: what
/// else runs on the host only slows a rate.
[[nodiscard]] double usual_rate(Samples samples);

/// Grid for the contention fit: a point for each load mix without products, with the rates over all
/// repetitions.
[[nodiscard]] ContentionGrid contention_grid(const std::vector<LoadMixSamples>& samples);

/// Load mixes without products: copies in each direction and in both without the optimizer, and
/// with it on each number of `threads` also no copies.
[[nodiscard]] std::vector<LoadMix> contention_load_mixes(const std::vector<std::int64_t>& threads);
/// Load mixes with products: no copies, copies in each direction and in both, each without the
/// optimizer and with it on each number of `threads`.
[[nodiscard]] std::vector<LoadMix> product_load_mixes(const std::vector<std::int64_t>& threads);

/// Interference between lanes that share no link: of h2d, d2h and cpu on compute, and of compute on
/// h2d, d2h and cpu; each factor is at most 1. A measured factor is drawn towards the usual one,
/// the more the fewer windows it rests on and the more they differ. `threads` is the optimizer's
/// number of threads in the load mixes with products.
[[nodiscard]] std::vector<planner::MachineProfile::Interference> product_interference(
    const std::vector<LoadMixSamples>& samples, std::int64_t threads);

/// Numbers of CPU threads for the contention grid on a machine of `cores` cores: even numbers up to
/// 14 that leave two cores, or every number where cores are few.
[[nodiscard]] std::vector<std::int64_t> contention_threads(std::int64_t cores);

}  // namespace sluice::profiler
