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

/// A load mix: the loads that run at the same time.
struct LoadMix {
  std::int64_t threads = 0;  ///< Threads of the CPU optimizer; 0 where it does not run.
  Copies copies = Copies::none;
  Products products = Products::none;
};

/// Rates of one load mix, with a sample from each repetition; empty for what did not run.
struct LoadMixSamples {
  LoadMix mix;
  Samples update, h2d, d2h;  ///< Parameters/s of the optimizer; bytes/s of copies.
  Samples products;          ///< FLOP/s of matrix products.
};

/// How often load mixes are measured: all of them `least` times, then those whose rates are not yet
/// sure (is_sure), until all are, each was measured `most` times, or `more` time went by.
struct RepetitionCounts {
  int least = 1, most = 1;
  Seconds more{0};
};

/// Standard error of the mean of `samples`, over the mean; 1 for fewer than two samples.
[[nodiscard]] double relative_error(const Samples& samples);
/// Whether the mean of each rate is known to a standard error of 0.7 %, a third of the mean error
/// that the contention model is to have.
[[nodiscard]] bool is_sure(const LoadMixSamples& samples);
/// Mean of the middle three fifths of `samples`: a rate over a long time, where short windows see
/// one or another of its speeds, which a median of few does not average.
[[nodiscard]] double usual_rate(Samples samples);

/// Rates of the load mixes without products, as the grid of the contention fit.
[[nodiscard]] ContentionGrid contention_grid(const std::vector<LoadMixSamples>& samples);

/// Load mixes of all copies, each with the optimizer on each of `threads`, without products.
[[nodiscard]] std::vector<LoadMix> contention_load_mixes(const std::vector<std::int64_t>& threads);
/// Load mixes of all copies with products, without the optimizer and with it on each of `threads`.
[[nodiscard]] std::vector<LoadMix> product_load_mixes(const std::vector<std::int64_t>& threads);

/// Interference between lanes that share no link: of h2d, d2h and cpu on compute, and of compute on
/// h2d, d2h and cpu; at most 1 each. `threads` are those of the optimizer in the load mixes with
/// products.
[[nodiscard]] std::vector<planner::MachineProfile::Interference> product_interference(
    const std::vector<LoadMixSamples>& samples, std::int64_t threads);

/// Numbers of CPU threads in the contention grid on so many cores: even numbers up to 14 that leave
/// two cores, or every number where cores are few.
[[nodiscard]] std::vector<std::int64_t> contention_threads(std::int64_t cores);

}  // namespace sluice::profiler
