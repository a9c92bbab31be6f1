// Rates that copies, the CPU optimizer and matrix products reached alone and in each other's
// company, and what follows from them.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/machines/machine.hpp"
#include "profiler/probe/contention_grid.hpp"
#include "profiler/probe/sampling.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

enum class Products { none, run };

/// What runs together.
struct Company {
  std::int64_t threads = 0;  ///< Of the CPU optimizer; 0: it does not run.
  Copies copies = Copies::none;
  Products products = Products::none;
};

/// Rates of one company, a sample from each round; empty for what did not run.
struct CompanySamples {
  Company company;
  Samples update, h2d, d2h;  ///< Parameters/s, bytes/s.
  Samples products;          ///< FLOP/s
};

/// How often companies are measured: all of them `least` times, then those whose rates are not
/// sure, until every one is, was measured `most` times or `more` time went by.
struct CompanyRounds {
  int least = 1, most = 1;
  Seconds more{0};
};

/// Of the mean of `samples`, its standard error over it; 1 of fewer than two.
[[nodiscard]] double relative_error(const Samples& samples);
/// Whether the mean of each rate is known to a standard error of 0.7 %, a third of the mean error
/// that the contention model is to have.
[[nodiscard]] bool is_sure(const CompanySamples& samples);
/// The mean of the middle three fifths: what a rate is over a long time where windows see now one
/// and now another of its speeds, which a median of few does not say.
[[nodiscard]] double usual_rate(Samples samples);

/// Those without products as the grid of the contention fit.
[[nodiscard]] ContentionGrid contention_grid(const std::vector<CompanySamples>& samples);

/// Companies of all copies on each of `threads`, without products.
[[nodiscard]] std::vector<Company> contention_companies(const std::vector<std::int64_t>& threads);
/// Companies of all copies with products, without the optimizer and on each of `threads`.
[[nodiscard]] std::vector<Company> product_companies(const std::vector<std::int64_t>& threads);

/// How much each lane slows lanes that it shares no link with: compute < h2d, compute < d2h,
/// compute < cpu, h2d < compute, d2h < compute, cpu < compute. `threads`: at which the optimizer
/// ran with products. At most 1 each.
[[nodiscard]] std::vector<planner::MachineProfile::Interference> product_interference(
    const std::vector<CompanySamples>& samples, std::int64_t threads);

/// CPU threads of the contention grid on so many cores: even numbers up to 14 with two cores left
/// over, or every number where cores are few.
[[nodiscard]] std::vector<std::int64_t> contention_threads(std::int64_t cores);

}  // namespace sluice::profiler
