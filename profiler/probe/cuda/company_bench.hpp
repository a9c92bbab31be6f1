// Measures copies, the CPU optimizer and matrix products, alone and together.
#pragma once

#include <vector>

#include "profiler/probe/company_rates.hpp"
#include "profiler/probe/cuda/link_bench.hpp"
#include "profiler/probe/cuda/product_bench.hpp"
#include "profiler/probe/memory_bench.hpp"

namespace sluice::profiler {

/// The loads of load mixes, which must outlive the calls.
struct CompanyLoads {
  LinkBench& link;
  ProductBench& products;
  UpdateBench& update;
};

/// Measures load mixes one after another, again and again, so that drift affects all alike. Every
/// load runs before the window opens and until it has closed.
[[nodiscard]] std::vector<CompanySamples> measure_companies(CompanyLoads loads,
                                                            const std::vector<Company>& companies,
                                                            const CompanyRounds& rounds,
                                                            Seconds window);

}  // namespace sluice::profiler
