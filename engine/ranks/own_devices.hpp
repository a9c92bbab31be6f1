// Whether ranks compute on GPUs of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sluice::engine {

/// Why ranks cannot work together where two of them have one GPU, in one line with the fix; none
/// where each has its own. `devices` are the identities of the ranks' GPUs, by rank, which differ
/// between any two GPUs of the world.
[[nodiscard]] std::optional<std::string> why_devices_are_shared(
    const std::vector<std::string>& devices);

}  // namespace sluice::engine
