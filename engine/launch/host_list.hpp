// Slurm's lists of hosts, such as "gpu[03-05,7],login".
#pragma once

#include <string>

namespace sluice::engine {

/// The first host of Slurm's `list`: "gpu03" of "gpu[03-05],login". Throws BadRequest for a list
/// that Slurm does not write.
[[nodiscard]] std::string first_host(const std::string& list);

}  // namespace sluice::engine
