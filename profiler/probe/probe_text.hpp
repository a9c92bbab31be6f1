// Texts that the probe prints about its parts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "profiler/probe/curves.hpp"
#include "profiler/probe/load_mix_rates.hpp"

namespace sluice::profiler {

/// Rates in GB/s by size as one line, such as "4.00 KiB 1.55, 64.0 KiB 17.30 GB/s".
[[nodiscard]] std::string sizes_text(const std::vector<SizedRate>& copies);

/// Text with one line for each load mix: what ran, and the rate that each load reached.
[[nodiscard]] std::string load_mixes_text(const std::vector<LoadMixSamples>& samples);

/// `rate` over `scale` with its deviation as text, such as "55.4 +- 0.2 GB/s"; `unit` is that of
/// the scaled number.
[[nodiscard]] std::string with_deviation(const planner::Fact& rate, const char* unit, double scale);

}  // namespace sluice::profiler
