// Measurement of copies, the CPU optimizer and matrix products, alone and together.
#pragma once

#include <vector>

#include "profiler/probe/cuda/link_bench.hpp"
#include "profiler/probe/cuda/product_bench.hpp"
#include "profiler/probe/load_mix_rates.hpp"
#include "profiler/probe/memory_bench.hpp"

namespace sluice::profiler {

/// Loads that load mixes are made of; they must outlive measurements with them.
struct LoadMixBenches {
  LinkBench& link;
  ProductBench& products;
  UpdateBench& update;
};

/// Measures all of `mixes` one after another, again and again, so that drift affects all alike.
/// Each measurement counts what loads do within a time of `window`; every load runs before it
/// begins and until it is over.
[[nodiscard]] std::vector<LoadMixSamples> measure_load_mixes(LoadMixBenches loads,
                                                             const std::vector<LoadMix>& mixes,
                                                             const RepetitionCounts& counts,
                                                             Seconds window);

}  // namespace sluice::profiler
