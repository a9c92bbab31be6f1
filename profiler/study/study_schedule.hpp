// Schedule of bursts, in which bursts of one run are spread over the whole time of a study.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::profiler {

/// Order in which to run bursts: index i appears bursts[i] times (none negative), spread evenly, so
/// that runs with equal numbers alternate, and a run with more bursts comes between the others.
[[nodiscard]] std::vector<std::size_t> burst_schedule(const std::vector<std::int64_t>& bursts);

}  // namespace sluice::profiler
