// The schedule of bursts: bursts of one run are spread over the whole time of a study.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::profiler {

/// Schedule of bursts as indices of `bursts` (none negative), each as often as its number, spread
/// evenly: runs with equal numbers alternate, and a run with more comes between the others.
[[nodiscard]] std::vector<std::size_t> burst_schedule(const std::vector<std::int64_t>& bursts);

}  // namespace sluice::profiler
