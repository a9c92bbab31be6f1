// Measures copies, the CPU optimizer and matrix products, alone and together.
#pragma once

#include <vector>

#include "profiler/probe/cuda/link_bench.hpp"
#include "profiler/probe/cuda/product_bench.hpp"
#include "profiler/probe/load_mix_rates.hpp"
#include "profiler/probe/memory_bench.hpp"

namespace sluice::profiler {

/// The loads of load mixes, which must outlive the calls.
struct LoadMixBenches {
  LinkBench& link;
  ProductBench& products;
  UpdateBench& update;
};

/// Measures load mixes one after another, again and again, so that drift affects all alike. Every
/// load runs before the window opens and until it has closed.
[[nodiscard]] std::vector<LoadMixSamples> measure_load_mixes(LoadMixBenches loads,
                                                             const std::vector<LoadMix>& mixes,
                                                             const RepetitionCounts& counts,
                                                             Seconds window);

}  // namespace sluice::profiler
