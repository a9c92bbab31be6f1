// Hosts that hold equally many ranks each, in runs of consecutive ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sluice::engine {

struct EqualHosts {
  int local = 1;  ///< Number of ranks of each host.
  [[nodiscard]] int host_of(int rank) const { return rank / local; }
  /// Number of the host's ranks before `rank`.
  [[nodiscard]] int place_of(int rank) const { return rank % local; }
};

/// The hosts of ranks whose hosts are called `names`, by rank; none for a single host, for hosts of
/// one rank each, and where ranks are dealt to hosts in another way.
[[nodiscard]] std::optional<EqualHosts> equal_hosts(const std::vector<std::string>& names);

}  // namespace sluice::engine
