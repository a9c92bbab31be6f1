// In what order bursts of runs come: what each takes is to be of all minutes of a study.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::profiler {

/// Indices of `bursts` (none negative), each as often as it says, spread evenly: of runs with as
/// many each, all in turn, then again; of one with more, between the others'.
[[nodiscard]] std::vector<std::size_t> in_turn(const std::vector<std::int64_t>& bursts);

}  // namespace sluice::profiler
